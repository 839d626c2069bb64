/** HogQLQuery: a query of HogQL that a caller wrote. */
import * as z from 'zod';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, constant, list } from '../../hogql/write.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, Kind, World } from './kind.ts';
import { cellsOf } from './parts/cells.ts';
import { DateRange, inRange, rangeOf } from './parts/date-range.ts';
import { propertyCondition, propertyFilters } from './parts/property-filters.ts';

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const Value = z.union([Scalar, z.array(z.union([z.string(), z.number(), z.boolean()])).max(1_000)]);

const HogQLQuery = z.looseObject({
  kind: z.literal('HogQLQuery'),
  query: z.string().min(1),
  values: z.record(z.string(), Value).nullish(),
  filters: z
    .object({
      dateRange: DateRange.nullish(),
      properties: propertyFilters(),
      filterTestAccounts: z.boolean().nullish(),
    })
    .nullish()
    .describe('What `{filters}` stands for.'),
  variables: z.record(z.string(), z.looseObject({ code_name: z.string(), value: Value.optional() })).nullish(),
});
type HogQLQuery = z.output<typeof HogQLQuery>;

/** PostHog's. */
const LIMIT = { otherwise: 100, most: 50_000 };

async function answer({ query, values, variables, filters }: HogQLQuery, world: World): Promise<Answer> {
  const { columns, types, rows, limit, hasMore } = await world.rows({
    hogql: query,
    limit: LIMIT,
    values: {
      filters: await conditionOf(filters, world),
      ...Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, syntaxOf(value)])),
      ...Object.fromEntries(
        Object.values(variables ?? {}).map(({ code_name, value = null }) => [
          `variables.${code_name}`,
          syntaxOf(value),
        ]),
      ),
    },
  });
  return {
    results: cellsOf({ rows, types }, world.timezone),
    columns,
    types: types.map((type, n) => [columns[n], type]),
    ...(hasMore === undefined ? {} : { hasMore }),
    ...(limit === undefined ? {} : { limit }),
    offset: 0,
  };
}

/** Returns the condition that filters stand for; a date range that is not told lets all times through. */
async function conditionOf(filters: HogQLQuery['filters'], world: World): Promise<Syntax> {
  const { dateRange } = filters ?? {};
  const isDated = Boolean(dateRange?.date_from ?? dateRange?.date_to) && dateRange?.date_from !== 'all';
  const time = isDated ? [inRange(rangeOf(dateRange, 'day', world))] : [];
  return all([...time, await propertyCondition(filters ?? {}, world)]);
}

function syntaxOf(value: z.output<typeof Value>): Syntax {
  if (!Array.isArray(value)) return constant(value);
  return value.length > 0 ? list(value) : invalid('query__values', 'A list of values is empty.');
}

export const hogql: Kind<HogQLQuery> = { name: 'HogQLQuery', schema: HogQLQuery, answer };
