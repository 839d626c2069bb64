import type * as z from 'zod';
import { failureOf } from './fields.ts';

/** Returns the value as the schema reads it. Throws a 400 with the text of the first fault. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw failureOf(result.error);
  return result.data;
}
