/** `modifiers` of a query, by which PostHog reads the same question in another way. */
import { invalid } from '../../../ports/errors.ts';
import { isObject } from '../../../ports/raw-number.ts';

/** Those that make other numbers, with the values that ask for what is done here, and why others are refused. */
const MODIFIERS: readonly (readonly [name: string, harmless: readonly unknown[], detail: string])[] = [
  [
    'convertToProjectTimezone',
    [true],
    "Times in UTC are not supported: a query is answered in the project's time zone.",
  ],
  [
    'personsOnEventsMode',
    ['person_id_override_properties_on_events', 'v2_enabled'],
    "Another mode of persons than 'person_id_override_properties_on_events' is not supported.",
  ],
];

/**
 * Throws a `Failure` (400) about a modifier that asks for other numbers than are answered, of a query or of one below it.
 * Modifiers that say how PostHog finds the same numbers have no meaning here, and may say anything.
 */
export function checkModifiers(query: unknown, timezone: string, attr: string): void {
  if (!isObject(query)) return;
  const { modifiers, source } = query;
  for (const [name, harmless, detail] of isObject(modifiers) ? MODIFIERS : []) {
    const sent = (modifiers as Readonly<Record<string, unknown>>)[name] ?? null;
    const isSame = name === 'convertToProjectTimezone' && timezone === 'UTC';
    if (sent !== null && !isSame && !harmless.includes(sent)) invalid(`${attr}__modifiers__${name}`, detail);
  }
  checkModifiers(source, timezone, `${attr}__source`);
}
