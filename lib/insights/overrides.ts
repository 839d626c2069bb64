/** What a dashboard, or whoever asks, says of a query beside it. */

import * as z from 'zod';
import { isObject } from '../basics/json.ts';
import { readJson } from '../http/json.ts';
import { parseField } from '../http/parse.ts';
import { invalid } from '../ports/errors.ts';
import { NO_FILTERS } from './filter-schema.ts';
import { behind } from './kinds/parts/told-date.ts';
import type { SentQuery } from './kinds/source.ts';
import { type DatesPlace, traitsOf } from './kinds/traits.ts';

/** Filters that replace or join those of a query. */
export const FiltersOverride = z.looseObject({
  date_from: z.string().nullish(),
  date_to: z.string().nullish(),
  explicitDate: z.boolean().nullish(),
  properties: z
    .custom<readonly unknown[] | Readonly<Record<string, unknown>>>(
      (sent) => Array.isArray(sent) || isObject(sent),
      NO_FILTERS,
    )
    .nullish(),
  breakdown_filter: z.looseObject({}).nullish(),
  interval: z.string().nullish(),
  filterTestAccounts: z.boolean().nullish(),
});

/** Values of a query's variables, by their ids or names. */
export const VariablesOverride = z.record(z.string(), z.unknown());

export interface Overrides {
  readonly filters?: z.output<typeof FiltersOverride> | null | undefined;
  /** What is said of variables, the last word last: one may say by its id what another said by its name. */
  readonly variables?: readonly z.output<typeof VariablesOverride>[] | undefined;
}

/** Returns the overrides of a query string, which are JSON in it. Throws a 400 for what is none. */
export const overridesIn = (sent: {
  readonly filters_override?: string | undefined;
  readonly variables_override?: string | undefined;
}): Overrides => ({
  filters: inText(FiltersOverride, 'filters_override', sent.filters_override),
  variables: [inText(VariablesOverride, 'variables_override', sent.variables_override) ?? []].flat(),
});

const AnObject = z.custom<object>(isObject);

function inText<S extends z.ZodType>(schema: S, attr: string, text: string | undefined): z.output<S> | undefined {
  if (!text) return undefined;
  return parseField(schema, attr, readJson(AnObject, text) ?? invalid(attr, 'Expected JSON of an object.'));
}

/**
 * Returns the query as it is asked: the date range replaced, the properties added, the breakdown, the interval and whether
 * test accounts go replaced, the values of its variables set.
 */
export function overridden(query: SentQuery, { filters, variables = [] }: Overrides): SentQuery {
  const changed = isObject(filters) ? filtered(query, filters) : query;
  return variables.reduce(withVariables, changed);
}

interface SentRange {
  readonly date_from: string | null;
  readonly date_to: string | null;
  readonly explicitDate?: boolean;
}

function filtered(query: SentQuery, sent: z.output<typeof FiltersOverride>): SentQuery {
  const { explicitDate, properties, breakdown_filter, interval } = sent;
  // A date that is empty is none, as in PostHog.
  const date_from = sent.date_from || undefined;
  const date_to = sent.date_to || undefined;
  const testAccounts =
    typeof sent.filterTestAccounts === 'boolean' ? { filterTestAccounts: sent.filterTestAccounts } : {};
  const hasDate = date_from !== undefined || date_to !== undefined;
  const dateRange: SentRange = {
    date_from: date_from ?? null,
    date_to: date_to ?? null,
    ...(explicitDate === true ? { explicitDate } : {}),
  };
  const range = hasDate ? { dateRange } : {};
  const { dates, isByInterval, hasBreakdown } = traitsOf(query.kind);
  const joined = { ...query, ...joinedProperties(query['properties'], properties) };
  const putInto: Readonly<Record<DatesPlace, () => SentQuery>> = {
    'after-before': () => ({ ...joined, ...(hasDate ? eventDates(dateRange) : {}), ...testAccounts }),
    filters: () => {
      const own = isObject(query['filters']) ? query['filters'] : {};
      const filters = { ...own, ...range, ...joinedProperties(own['properties'], properties), ...testAccounts };
      return Object.keys(filters).length === 0 ? query : { ...query, filters };
    },
    source: () => joined,
    dateRange: () => ({
      ...joined,
      ...range,
      ...(isObject(breakdown_filter) && hasBreakdown ? { breakdownFilter: breakdown_filter } : {}),
      ...(typeof interval === 'string' && isByInterval ? { interval } : {}),
      ...testAccounts,
    }),
  };
  return putInto[dates]();
}

/** Where a range begins that tells only its end. */
const DEFAULT_FROM = '-7d';

/** Returns the ends of a range as a query of events has them, which leaves out both instants. */
const eventDates = ({ date_from, date_to, explicitDate = false }: SentRange) => ({
  after: date_from ?? DEFAULT_FROM,
  before: date_to === null || explicitDate ? date_to : behind(date_to),
});

/** Returns the properties of which both must hold: lists are joined, groups put beside each other. */
export function joinedProperties(own: unknown, added: unknown): { readonly properties?: unknown } {
  if (isEmpty(added)) return {};
  if (isEmpty(own)) return { properties: added };
  if (Array.isArray(own) && Array.isArray(added)) return { properties: [...own, ...added] };
  return { properties: { type: 'AND', values: [groupOf(own), groupOf(added)] } };
}

const isEmpty = (properties: unknown): boolean =>
  properties === undefined ||
  properties === null ||
  (Array.isArray(properties) ? properties.length === 0 : Object.keys(properties).length === 0);

const groupOf = (properties: unknown): unknown =>
  Array.isArray(properties) ? { type: 'AND', values: properties } : properties;

function withVariables(query: SentQuery, values: z.output<typeof VariablesOverride>): SentQuery {
  const own = query['variables'];
  if (!isObject(own)) return query;
  const set = Object.entries(own).map(([id, variable]) => {
    const name = isObject(variable) ? variable['code_name'] : undefined;
    const given = values[id] === undefined && typeof name === 'string' ? values[name] : values[id];
    if (given === undefined || !isObject(variable)) return [id, variable];
    const set = isObject(given) ? given : { value: given };
    const value = set['value'] === undefined ? variable['value'] : set['value'];
    return [id, { ...variable, value, isNull: set['isNull'] === true }];
  });
  return { ...query, variables: Object.fromEntries(set) };
}
