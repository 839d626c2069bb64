import * as z from 'zod';
import { isObject } from '../basics/json.ts';
import { isRawNumber } from '../basics/raw-number.ts';
import { failureOfIssues, typeName } from './fields.ts';

/**
 * One fault is told, so none is looked for behind the first: a body may hold hundreds of thousands, which take seconds. This
 * is how zod's own `validate` stops there.
 */
const FIRST_FAULT: z.core.ParseContextInternal<z.core.$ZodIssue> = { reportInput: true, abortEarly: true };

/** Returns the value as the schema reads it. Throws a 400 with the text of the first fault. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = safelyParsed(schema, value);
  if (!result.success) throw failureOfIssues(result.error);
  return result.data;
}

/**
 * Returns what the schema makes of the value, or its first fault. A `RawNumber`, which zod takes for an object without
 * keys, is one nowhere: what holds some is read with numbers of their type in their places first.
 */
export function safelyParsed<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  if (holdsRawNumber(value)) {
    const read = schema.safeParse(withPlainNumbers(value), FIRST_FAULT);
    const fault = read.error?.issues[0];
    const isOfType = fault?.code === 'invalid_type' || fault?.code === 'invalid_union';
    if (isOfType && isRawNumber(valueAt(value, fault.path))) return read;
  }
  return schema.safeParse(value, FIRST_FAULT);
}

/** Returns what a value holds at the path of a fault. */
export const valueAt = (value: unknown, path: z.core.$ZodIssue['path']): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Readonly<Record<PropertyKey, unknown>>)[key], value);

/** It is recursive, as `withPlainNumbers`: bodies are at most 64 levels deep. */
function holdsRawNumber(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsRawNumber);
  return isObject(value) ? Object.values(value).some(holdsRawNumber) : isRawNumber(value);
}

function withPlainNumbers(value: unknown): unknown {
  if (isRawNumber(value)) return typeName(value) === 'int' ? 0 : 0.5;
  if (Array.isArray(value)) return value.map(withPlainNumbers);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withPlainNumbers(inner)]));
}

/** Returns the value of a field as the schema reads it. Throws a 400 that names the field, and the member that is wrong. */
export const parseField = <S extends z.ZodType>(schema: S, attr: string, value: unknown): z.output<S> =>
  parse(z.object({ [attr]: schema }), { [attr]: value })[attr] as z.output<S>;
