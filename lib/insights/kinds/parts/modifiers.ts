/** `modifiers` of a query, by which PostHog reads the same question in another way. */

import { isObject } from '../../../basics/json.ts';
import { invalid } from '../../../ports/errors.ts';

interface Modifier {
  readonly name: string;
  /** Whether a value asks for what is done here. */
  readonly isHarmless: (value: unknown, timezone: string) => boolean;
  /** Why others are refused. */
  readonly detail: string;
}

/** Those that make other numbers. */
const MODIFIERS: readonly Modifier[] = [
  {
    name: 'convertToProjectTimezone',
    isHarmless: (value, timezone) => value === true || timezone === 'UTC',
    detail: "Times in UTC are not supported: a query is answered in the project's time zone.",
  },
  {
    name: 'personsOnEventsMode',
    isHarmless: (value) => value === 'person_id_override_properties_on_events' || value === 'v2_enabled',
    detail: "Another mode of persons than 'person_id_override_properties_on_events' is not supported.",
  },
];

/**
 * Throws a `Failure` (400) about a modifier that asks for other numbers than are answered, of a query or of one below it.
 * Modifiers that say how PostHog finds the same numbers have no meaning here, and may say anything.
 */
export function checkModifiers(query: unknown, timezone: string, attr: string): void {
  if (!isObject(query)) return;
  const { modifiers, source } = query;
  for (const { name, isHarmless, detail } of MODIFIERS) {
    const sent = isObject(modifiers) ? (modifiers[name] ?? null) : null;
    if (sent !== null && !isHarmless(sent, timezone)) invalid(`${attr}__modifiers__${name}`, detail);
  }
  checkModifiers(source, timezone, `${attr}__source`);
}
