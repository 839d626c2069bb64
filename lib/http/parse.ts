import type * as z from 'zod';
import { failureOf } from './fields.ts';

/** The value as the schema reads it; fails with the text of its first fault. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (!result.success) throw failureOf(result.error);
  return result.data;
}
