/** HogQLQuery: a query of HogQL that a caller wrote. */
import * as z from 'zod';
import { definedOf } from '../../basics/defined.ts';
import type { Syntax } from '../../hogql/syntax.ts';
import { all, constant, field, list } from '../../hogql/write.ts';
import { invalid } from '../../ports/errors.ts';
import type { Answer, Kind, Question, World } from './kind.ts';
import { cellsOf } from './parts/cells.ts';
import { DateRange, type EndingRange, inRange, instantConstant, isOfAllTime, rangeOf } from './parts/date-range.ts';
import { lacking } from './parts/members.ts';
import { propertyCondition, propertyFilters } from './parts/property-filters.ts';

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const Value = z.union([Scalar, z.array(z.union([z.string(), z.number(), z.boolean()])).max(1_000)]);

/** What a query of HogQL may say. */
export const HogQLQuery = z.looseObject({
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
    .describe('What `{filters}` stands for, and `{filters.dateRange.from}` and `{filters.dateRange.to}`.'),
  variables: z
    .record(
      z.string(),
      z.looseObject({ code_name: z.string(), value: Value.optional(), isNull: z.boolean().nullish() }),
    )
    .nullish(),
  limit: lacking('A limit beside the text of the query (put `LIMIT 10` into it) is'),
  offset: lacking('An offset beside the text of the query (put `OFFSET 20` into it) is', 0),
});
type HogQLQuery = z.output<typeof HogQLQuery>;

/** PostHog's. */
const LIMIT = { otherwise: 100, most: 50_000 };

async function answer(query: HogQLQuery, world: World): Promise<Answer> {
  const { columns, types, computed, rows, limit, hasMore } = await world.rows(await questionOf(query, world));
  return {
    results: cellsOf({ rows, types }, world.timezone),
    columns,
    types: types.map((type, n) => [columns[n], type]),
    computed,
    ...definedOf({ hasMore, limit }),
    offset: 0,
  };
}

/** Returns what a query of HogQL asks of the world. */
export async function questionOf(
  { query, values, variables, filters }: Pick<HogQLQuery, 'query' | 'values' | 'variables' | 'filters'>,
  world: World,
): Promise<Question> {
  return {
    hogql: query,
    limit: LIMIT,
    values: {
      ...(await filtersOf(filters, world)),
      ...Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, syntaxOf(value)])),
      ...Object.fromEntries(
        Object.values(variables ?? {}).map(({ code_name, isNull, value = null }) => [
          `variables.${code_name}`,
          syntaxOf(isNull === true ? null : value),
        ]),
      ),
    },
  };
}

/**
 * Returns what filters stand for: their condition, and the ends of their time. Sessions are in the time in which they
 * began, where their SELECT reads no events.
 */
async function filtersOf(filters: HogQLQuery['filters'], world: World): Promise<Question['values']> {
  const range = timeOf(filters?.dateRange, world);
  const passed = await propertyCondition(filters ?? {}, world);
  return {
    filters: (tables) => {
      const isOfSessions = tables.has('sessions') && !tables.has('events');
      const at = field(isOfSessions ? '$start_timestamp' : 'timestamp');
      return all([...(range ? [inRange(range, at)] : []), passed]);
    },
    'filters.dateRange.from': range?.from === undefined ? null : instantConstant(range.from),
    'filters.dateRange.to': range === undefined ? null : instantConstant(range.to + 1),
  };
}

/**
 * Returns the range that is told; undefined: all times. It has no beginning where it tells its end alone, or begins with
 * all time.
 */
function timeOf(sent: DateRange | null | undefined, world: World): EndingRange | undefined {
  const hasBeginning = Boolean(sent?.date_from) && !isOfAllTime(sent);
  if (!hasBeginning && !sent?.date_to) return undefined;
  const { from, to } = rangeOf(sent, 'day', world);
  return hasBeginning ? { from, to } : { to };
}

function syntaxOf(value: z.output<typeof Value>): Syntax {
  if (!Array.isArray(value)) return constant(value);
  return value.length > 0 ? list(value) : invalid('values', 'A list of values is empty.');
}

export const hogql: Kind<HogQLQuery> = { name: 'HogQLQuery', schema: HogQLQuery, answer };
