/** A query by its kind, as the document of the API tells it. */
import * as z from 'zod';
import { WRAPPERS } from '../../charts/describe/read.ts';
import { ALL_KINDS } from './kinds.ts';
import { BreakdownFilter } from './parts/breakdown.ts';
import { METADATA, operatorNames } from './parts/property-filters.ts';

const asked = ALL_KINDS.map(({ name, schema }): z.ZodType => (schema as z.ZodType).meta({ id: name }));

/** What is answered, and what says how an answer is shown. */
const Query: z.ZodType = z.union([
  ...asked,
  ...[...WRAPPERS].map((name) => z.looseObject({ kind: z.literal(name), source: z.union(asked) }).meta({ id: name })),
]);

const scalar = z.union([z.string(), z.number(), z.boolean()]);

/** What a filter compares with. */
const compared = {
  operator: z.enum(operatorNames()).nullish().describe('By default `exact`.'),
  value: z
    .union([scalar, z.array(scalar)])
    .nullish()
    .describe('Of several values one is enough; `between` takes two numbers, `is_set` and `is_not_set` take nothing.'),
};

const name = z.string().nullish();

/** A filter as `propertyFilters` reads it. */
const QueryFilter = z
  .union([
    z.object({
      type: z.enum(['event', 'person', 'session']).nullish().describe('By default `event`.'),
      key: name.describe('The name of a property.'),
      ...compared,
    }),
    z.object({
      type: z.literal('event_metadata'),
      key: z.enum(METADATA).nullish().describe('A column of events.'),
      ...compared,
    }),
    z.object({ type: z.literal('hogql'), key: name.describe('A condition.') }),
    z.object({ type: z.literal('empty') }),
  ])
  .describe(
    'An event must pass it. Every event passes one that is empty or not complete: without a key, or a value that it needs.',
  )
  .meta({ id: 'QueryFilter' });

const QueryFilterGroup = z
  .object({
    type: z.enum(['AND', 'OR']).describe('All of them must hold, or one.'),
    get values() {
      return z.array(z.union([QueryFilter, QueryFilterGroup]));
    },
  })
  .meta({ id: 'QueryFilterGroup' });

const QueryFilters = z
  .union([z.array(z.union([QueryFilter, QueryFilterGroup])), QueryFilterGroup, z.null()])
  .describe('A list, each of which must hold, or a group.');

/** Schemas in the place of the components of these names. */
export const QUERY_KINDS = {
  QueryFilters: { schema: QueryFilters, io: 'input' },
  BreakdownFilter: { schema: BreakdownFilter, io: 'input' },
  Query: { schema: Query, io: 'input' },
} as const;
