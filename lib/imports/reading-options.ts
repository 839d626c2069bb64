import type * as z from 'zod';
import { definedOf } from '../basics/defined.ts';
import { checkMapping } from '../lake/sources/table-rows.ts';
import { invalid } from '../ports/errors.ts';
import type { ReadingInput, ReadingOptions } from './model.ts';

/** Columns and values of a mapping, together, and characters of each. */
const MAPPED = { most: 500, length: 400 };

/** Returns how a file is to be read. Throws a 400 for a mapping that names what is no field. */
export function readingOptions(body: z.output<typeof ReadingInput>): ReadingOptions {
  const { format, arrived, page_views: pageViews } = body;
  const mapping = { columns: texts('columns', body.columns), values: texts('values', body.values) };
  checkMapping(mapping);
  return { mapping, ...definedOf({ format, arrived, pageViews }) };
}

function texts(attr: string, object: Readonly<Record<string, unknown>> = {}): Record<string, string> {
  const entries = Object.entries(object);
  if (entries.length > MAPPED.most) invalid(attr, `Ensure this field has no more than ${MAPPED.most} entries.`);
  for (const [field, text] of entries) {
    if (typeof text !== 'string' || text.length > MAPPED.length || !text.isWellFormed())
      invalid(
        attr,
        `What ${field.slice(0, MAPPED.length).toWellFormed()} is must be a text of at most ${MAPPED.length} characters.`,
      );
  }
  return Object.fromEntries(entries) as Record<string, string>;
}
