/** HogQLQuery: a query of HogQL that a caller wrote. */
import * as z from 'zod';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, call, constant, field, list } from '../../hogql/write.ts';
import { definedOf } from '../../ports/defined.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, Kind, World } from './kind.ts';
import { cellsOf } from './parts/cells.ts';
import { DateRange, inRange, instantConstant, isOfAllTime, rangeOf } from './parts/date-range.ts';
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
    ...definedOf({ hasMore, limit }),
    offset: 0,
  };
}

/**
 * Returns the condition that filters stand for; a date range that is not told lets all times through, and one that tells
 * its end alone, or begins with all time, whatever lies before.
 */
async function conditionOf(filters: HogQLQuery['filters'], world: World): Promise<Syntax> {
  return all([...timeOf(filters?.dateRange, world), await propertyCondition(filters ?? {}, world)]);
}

function timeOf(sent: DateRange | null | undefined, world: World): readonly Syntax[] {
  const hasBeginning = Boolean(sent?.date_from) && !isOfAllTime(sent);
  if (!hasBeginning && !sent?.date_to) return [];
  const range = rangeOf(sent, 'day', world);
  return [hasBeginning ? inRange(range) : call('less', field('timestamp'), instantConstant(range.to + 1))];
}

function syntaxOf(value: z.output<typeof Value>): Syntax {
  if (!Array.isArray(value)) return constant(value);
  return value.length > 0 ? list(value) : invalid('values', 'A list of values is empty.');
}

export const hogql: Kind<HogQLQuery> = { name: 'HogQLQuery', schema: HogQLQuery, answer };
