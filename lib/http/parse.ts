import type * as z from 'zod';
import { failureOfIssues } from './fields.ts';

/**
 * One fault is told, so none is looked for behind the first: a body may hold hundreds of thousands, which take seconds. This
 * is how zod's own `validate` stops there.
 */
const FIRST_FAULT: z.core.ParseContextInternal<z.core.$ZodIssue> = { reportInput: true, abortEarly: true };

/** Returns the value as the schema reads it. Throws a 400 with the text of the first fault. */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, FIRST_FAULT);
  if (!result.success) throw failureOfIssues(result.error);
  return result.data;
}
