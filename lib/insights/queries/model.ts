import * as z from 'zod';
import { boolean, freeObject, text } from '../../http/fields.ts';
import { FILTERS_OVERRIDE } from '../filter-schema.ts';

/** The forms of `refresh`. */
const REFRESH = [
  'blocking',
  'force_blocking',
  'async',
  'force_async',
  'lazy_async',
  'async_except_on_cache_miss',
  'force_cache',
] as const;
export type Refresh = (typeof REFRESH)[number];

/** Returns a field of `refresh`, in any of its forms; `true` is `force_blocking`, `false` is what holds without it. */
export const refreshField = (otherwise: Refresh) =>
  z
    .preprocess((sent) => {
      const text = typeof sent === 'boolean' ? String(sent) : sent;
      if (text === 'true' || text === '1' || text === 'True') return 'force_blocking';
      return text === 'false' || text === '0' || text === 'False' || text === '' ? otherwise : text;
    }, z.enum(REFRESH))
    .optional()
    .describe(
      'Whether it is computed: `blocking` and `async` if the cached answer is not true any more, `force_…` always, ' +
        '`force_cache` never. `async`: the answer comes later, at `/query/{id}`. `true` is `force_blocking`.',
    );

/** A name by which a caller asks about a run and cancels it. */
const RUN_ID = /^[\w.:-]{1,200}$/;

/** The body that asks a query. */
export const QueryInput = z.object({
  query: freeObject().meta({ id: 'Query' }).describe('An object with `kind`, such as `TrendsQuery`.'),
  refresh: refreshField('blocking'),
  async: boolean().nullable().optional().describe('An older form of `"refresh": "async"`.'),
  client_query_id: text({ max: 200 })
    .refine((id) => RUN_ID.test(id), 'Only letters, digits and `_ . : -` are allowed.')
    .nullable()
    .optional()
    .describe('The name of the run, to ask about it and to cancel it.'),
  filters_override: freeObject().meta(FILTERS_OVERRIDE).nullable().optional(),
  variables_override: freeObject().nullable().optional(),
  name: text({ max: 400, blank: true }).nullable().optional(),
});

/** A run of a query. */
const QueryStatus = z
  .object({
    id: z.string(),
    team_id: z.int(),
    query_async: z.boolean(),
    complete: z.boolean(),
    error: z.boolean(),
    error_message: z.string().nullable(),
    error_code: z.string().nullable(),
    results: z.unknown().describe('The whole answer, as one that is waited for; null until it is there.'),
    start_time: z.iso.datetime(),
    pickup_time: z.iso.datetime(),
    end_time: z.iso.datetime().nullable(),
    expiration_time: z.iso.datetime().nullable(),
    task_id: z.string().nullable(),
    insight_id: z.int().nullable(),
    dashboard_id: z.int().nullable(),
    labels: z.array(z.string()).nullable(),
    query_progress: z.unknown(),
    cache_key: z.string(),
  })
  .meta({ id: 'QueryStatus' });

export const QueryStatusAnswer = z.object({ query_status: QueryStatus });

/** What is told of an answer beside it. */
export const ANSWER_FIELDS = {
  hasMore: z.boolean().optional(),
  columns: z.array(z.unknown()).nullable().optional(),
  types: z.array(z.unknown()).nullable().optional(),
  timezone: z.string().nullable().optional(),
  last_refresh: z.iso.datetime().nullable().optional(),
  cache_target_age: z.iso.datetime().nullable().optional(),
  next_allowed_client_refresh: z.iso.datetime().nullable().optional(),
  is_cached: z.boolean().optional(),
  query_status: QueryStatus.nullable().optional(),
  hogql: z.string().nullable().optional(),
  resolved_date_range: z.unknown().optional(),
};

/** What is said of a part of a query. */
const Notice = z
  .object({
    message: z.string(),
    start: z.int().nullable().describe('In characters from 0; null: the place is not known.'),
    end: z.int().nullable().describe('Exclusive.'),
  })
  .meta({ id: 'QueryNotice' });

/** What `HogQLMetadata` tells of a query. */
const METADATA_FIELDS = {
  isValid: z.boolean().optional(),
  query: z.string().optional(),
  errors: z.array(Notice).optional(),
  warnings: z.array(Notice).optional(),
  notices: z.array(Notice).optional(),
  table_names: z.array(z.string()).optional(),
};

/** The answer of a query; which members it has, its kind says. Of one that is not there yet: `query_status` alone. */
export const QueryAnswer = z
  .object({
    results: z.unknown().optional(),
    ...ANSWER_FIELDS,
    ...METADATA_FIELDS,
    limit: z.int().optional(),
    offset: z.int().optional(),
    cache_key: z.string().nullable().optional(),
    calculation_trigger: z.string().nullable().optional(),
    timings: z.array(z.unknown()).nullable().optional(),
    modifiers: freeObject().nullable().optional(),
    error: z.string().nullable().optional(),
  })
  .meta({ id: 'QueryAnswer' });
