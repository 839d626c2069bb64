/** What the API keeps as it was sent, and so may be of any shape. */
import { type Json, object } from '../../charts/describe/read.ts';

export { type Json, object, objects as list } from '../../charts/describe/read.ts';

/** Returns a text; `otherwise` for what is none. */
export const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

/** Returns the query itself, out of what says how it is shown. */
export function sourceIn(query: unknown): Json {
  const node = object(query);
  return node['source'] === undefined ? node : object(node['source']);
}

/** What somebody may choose, and how it is called. */
export interface Option<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

/** Returns the one of the choices that a value is; `otherwise` for what is none. */
export const chosen = <Value extends string>(
  choices: readonly { readonly value: Value }[],
  value: unknown,
  otherwise: Value,
): Value => choices.find((one) => one.value === value)?.value ?? otherwise;

/** Whether two values are sent as the same. */
export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Says one value all that another one says? */
export function covers(made: unknown, known: unknown): boolean {
  if (Array.isArray(known))
    return Array.isArray(made) && made.length === known.length && known.every((one, at) => covers(made[at], one));
  if (typeof known === 'object' && known !== null) {
    return Object.entries(known).every(
      ([name, value]) => value === null || value === undefined || covers(object(made)[name], value),
    );
  }
  return made === known;
}

/** Returns the members of an object that are otherwise than they were. */
export function changedOf<Values extends object>(now: Values, before: Values): Partial<Values> {
  const names = Object.keys(now) as (keyof Values)[];
  const changed = names.filter((name) => !isSame(now[name], before[name]));
  return Object.fromEntries(changed.map((name) => [name, now[name]])) as Partial<Values>;
}
