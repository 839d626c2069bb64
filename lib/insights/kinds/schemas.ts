/** A query by its kind, as the document of the API tells it. */
import * as z from 'zod';
import { KINDS } from './kinds.ts';
import { WRAPPERS } from './source.ts';

const asked = KINDS.map(({ name, schema }): z.ZodType => (schema as z.ZodType).meta({ id: name }));

/** What is answered, and what says how an answer is shown. */
const Query: z.ZodType = z.union([
  ...asked,
  ...[...WRAPPERS].map((name) => z.looseObject({ kind: z.literal(name), source: z.union(asked) }).meta({ id: name })),
]);

/** Schemas in the place of the components of these names. */
export const QUERY_KINDS = { Query: { schema: Query, io: 'input' } } as const;
