/** Which fields an entry of the activity log shows of a change, and as much of their values as fits. */

import { beginningOf } from '../../basics/text.ts';
import { wireInstant } from '../../http/instant.ts';
import { parseJson } from '../../http/json.ts';
import type { Value } from '../../ports/table/table.ts';
import type { ActivityVerb, Change } from './model.ts';

/** A value is kept to so many characters of its JSON; a longer one as the text of its beginning. */
const MAX_VALUE_LENGTH = 300;
/** An entry keeps so many changes. 40 x (2 x 300 characters + names) is under 100 kB in any script. */
const MAX_CHANGES = 40;

/** How the log shows a stored field: as it is, as the JSON in its text, or as an instant. */
type LoggedAs = 'plain' | 'json' | 'instant';

export type LoggedFields = Readonly<Record<string, LoggedAs>>;

/** Returns which of `fields` differ between an object as it was and what is set, in the order of `fields`. */
export function changesOf(
  before: Readonly<Record<string, Value | undefined>>,
  set: Readonly<Record<string, Value | undefined>>,
  fields: LoggedFields,
): Change[] {
  return Object.entries(fields).flatMap(([name, how]): Change[] => {
    if (!Object.hasOwn(set, name) || (before[name] ?? null) === (set[name] ?? null)) return [];
    return [{ action: 'changed', field: name, before: display(before[name], how), after: display(set[name], how) }];
  });
}

/** Returns that secrets were set, which says nothing of their values. */
export const secretChanges = (fields: readonly string[]): Change[] =>
  fields.map((field) => ({ action: 'changed', field, before: null, after: null }));

/** Returns how parts that come, change or go are logged in a field; nothing where there are none. */
export function partChanges(action: Change['action'], field: string, parts: readonly unknown[]): Change[] {
  const [before, after] = [action === 'created' ? null : parts, action === 'deleted' ? null : parts];
  return parts.length === 0 ? [] : [{ action, field, before, after }];
}

/** Returns what a PATCH does to an object that was deleted softly before, or was not. */
export const patchActivity = (
  wasDeleted: boolean,
  { deleted = wasDeleted }: { readonly deleted?: boolean | undefined },
): ActivityVerb => (deleted === wasDeleted ? 'updated' : deleted ? 'deleted' : 'restored');

/** Returns the fields of a new object as changes. */
export function creationChanges(item: Readonly<Record<string, Value | undefined>>, fields: LoggedFields): Change[] {
  return Object.entries(fields).map(([field, how]) => ({
    action: 'created',
    field,
    before: null,
    after: display(item[field], how),
  }));
}

function display(value: Value | undefined, how: LoggedAs): unknown {
  if (how === 'instant' && typeof value === 'number') return wireInstant(value);
  if (how !== 'json' || typeof value !== 'string') return value ?? null;
  return value.length > MAX_VALUE_LENGTH ? `${beginningOf(value, MAX_VALUE_LENGTH)}…` : parseJson(value);
}

/** Returns the JSON of as much of these changes as is kept. */
export function changesText(changes: readonly Change[]): string {
  const kept = changes.slice(0, MAX_CHANGES).map((change) => ({
    ...change,
    before: truncate(change.before),
    after: truncate(change.after),
  }));
  return JSON.stringify(kept);
}

function truncate(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MAX_VALUE_LENGTH) return value;
  return `${beginningOf(typeof value === 'string' ? value : text, MAX_VALUE_LENGTH)}…`;
}

/** Returns as much of a name as is kept. */
export const nameText = (name: string | null): string | null =>
  name === null || name.length <= MAX_VALUE_LENGTH ? name : `${beginningOf(name, MAX_VALUE_LENGTH)}…`;
