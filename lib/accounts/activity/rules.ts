/** What an entry of the activity log says of a change: which fields, and as much of their values as fits. */
import { wireInstant } from '../../http/instant.ts';
import { parseJson } from '../../http/json.ts';
import type { Value } from '../../ports/table/table.ts';
import type { ActivityVerb, Change } from './model.ts';

/** Characters of a value's JSON that are kept; of a longer one the beginning, as text. */
const MAX_VALUE = 300;
/** Changes that are kept: an object has fewer fields. 40 x (2 x 300 characters + names) is under 100 kB in any script. */
const MAX_CHANGES = 40;

/** How a stored field is told: as it is, as the JSON that its text holds, or as the instant that its number is. */
type LoggedAs = 'plain' | 'json' | 'instant';

export type LoggedFields = Readonly<Record<string, LoggedAs>>;

/** What differs between an object as it was and fields that were set: of the named ones, in their order. */
export function changesOf(
  before: Readonly<Record<string, Value | undefined>>,
  set: Readonly<Record<string, Value | undefined>>,
  fields: LoggedFields,
): Change[] {
  return Object.entries(fields).flatMap(([name, how]): Change[] => {
    if (!Object.hasOwn(set, name) || (before[name] ?? null) === (set[name] ?? null)) return [];
    return [{ action: 'changed', field: name, before: shown(before[name], how), after: shown(set[name], how) }];
  });
}

/** What a PATCH does to an object that is deleted softly. */
export const patchActivity = ({ deleted }: { readonly deleted?: boolean | undefined }): ActivityVerb =>
  deleted === undefined ? 'updated' : deleted ? 'deleted' : 'restored';

/** The fields of an object that was made, as changes. */
export function creationChanges(item: Readonly<Record<string, Value | undefined>>, fields: LoggedFields): Change[] {
  return Object.entries(fields).map(([field, how]) => ({
    action: 'created',
    field,
    before: null,
    after: shown(item[field], how),
  }));
}

function shown(value: Value | undefined, how: LoggedAs): unknown {
  if (how === 'instant' && typeof value === 'number') return wireInstant(value);
  if (how !== 'json' || typeof value !== 'string') return value ?? null;
  return value.length > MAX_VALUE ? `${cut(value)}…` : parseJson(value);
}

/** The JSON of what is kept of these changes. */
export function changesText(changes: readonly Change[]): string {
  const kept = changes.slice(0, MAX_CHANGES).map((change) => ({
    ...change,
    before: fitting(change.before),
    after: fitting(change.after),
  }));
  return JSON.stringify(kept);
}

function fitting(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MAX_VALUE) return value;
  return `${cut(typeof value === 'string' ? value : text)}…`;
}

/** The beginning of a text, no pair of surrogates cut in two. */
const cut = (text: string): string => text.slice(0, MAX_VALUE).replace(/[\ud800-\udbff]$/, '');

/** As much of a name as is kept. */
export const nameText = (name: string | null): string | null =>
  name === null || name.length <= MAX_VALUE ? name : `${cut(name)}…`;
