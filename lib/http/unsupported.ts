/**
 * Fields that PostHog has and we do not: what is sent in one of them is refused if it would change what happens, for else
 * the caller would believe that it does.
 */

import { isObject } from '../basics/json.ts';
import { numberText } from '../basics/raw-number.ts';
import { invalid } from '../ports/errors.ts';

/**
 * The names of such fields (nested ones as `outer.inner`, in each item of a list too), each with PostHog's default, which
 * changes nothing. Null: the default is nothing at all, be it null, false, 0 or empty.
 */
export type Unsupported = Readonly<Record<string, string | true | null>>;

/** Throws a 400 that names the first field whose value would change what happens. */
export function refuseUnsupported(fields: Unsupported, body: unknown): void {
  for (const [path, fallback] of Object.entries(fields)) {
    for (const { attr, value } of valuesAt(body, path.split('.'), [])) {
      if (changesNothing(value, fallback)) continue;
      const instead = fallback === null ? '' : `, or send ${JSON.stringify(fallback)}`;
      invalid(attr.join('__'), `'${attr.at(-1) ?? path}' is not supported here. Leave it out${instead}.`);
    }
  }
}

interface Found {
  readonly attr: readonly string[];
  readonly value: unknown;
}

/** Returns the values at a path, with where each of them is. */
function valuesAt(body: unknown, [name, ...rest]: readonly string[], attr: readonly string[]): Found[] {
  if (Array.isArray(body) && name !== undefined) {
    return body.flatMap((item, at) => valuesAt(item, [name, ...rest], [...attr, String(at)]));
  }
  if (name === undefined) return [{ attr, value: body }];
  if (!isObject(body) || !Object.hasOwn(body, name)) return [];
  return valuesAt(body[name], rest, [...attr, name]);
}

/** Forms carry text only. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'boolean' ? String(value) : typeof value === 'string' ? value : numberText(value);

function changesNothing(value: unknown, fallback: Unsupported[string]): boolean {
  if (value === null) return true;
  const text = textOf(value)?.toLowerCase();
  if (fallback !== null) return text === String(fallback).toLowerCase();
  if (text !== undefined) return text === 'false' || Number(text) === 0;
  return Object.values(value as object).every((inner) => changesNothing(inner, null));
}
