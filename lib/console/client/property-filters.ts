/** Conditions on properties, as a form has them and as the API takes them. */
import { chosen, covers, type Json, list, type Option, object, text } from './json.ts';
import type { Schemas } from './schemas.ts';

type Compared = Exclude<Schemas['QueryFilter'], { readonly type: 'hogql' | 'empty' }>;

/** What a filter or a breakdown is of. */
export const PROPERTY_TYPES = [
  { value: 'event', label: 'event' },
  { value: 'person', label: 'person' },
  { value: 'hogql', label: 'HogQL' },
] as const satisfies readonly Option<NonNullable<Schemas['QueryFilter']['type']>>[];

export type PropertyType = (typeof PROPERTY_TYPES)[number]['value'];

export const OPERATORS = [
  { value: 'exact', label: 'is' },
  { value: 'is_not', label: 'is not' },
  { value: 'icontains', label: 'contains' },
  { value: 'not_icontains', label: 'does not contain' },
  { value: 'regex', label: 'matches the pattern' },
  { value: 'not_regex', label: 'does not match the pattern' },
  { value: 'gt', label: 'is more than' },
  { value: 'gte', label: 'is at least' },
  { value: 'lt', label: 'is less than' },
  { value: 'lte', label: 'is at most' },
  { value: 'is_date_before', label: 'is a date before' },
  { value: 'is_date_after', label: 'is a date after' },
  { value: 'is_set', label: 'is there' },
  { value: 'is_not_set', label: 'is not there' },
] as const satisfies readonly Option<NonNullable<Compared['operator']>>[];

type Operator = (typeof OPERATORS)[number]['value'];

/** Operators that need no value. */
export const BARE: readonly Operator[] = ['is_set', 'is_not_set'];

/** Operators of one value, which is sent as it is; others have a list. */
const OF_ONE: readonly Operator[] = ['gt', 'gte', 'lt', 'lte', 'is_date_before', 'is_date_after'];

export interface Filter {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly type: PropertyType;
  /** The name of a property; of type hogql, a condition. */
  readonly property: string;
  readonly operator: Operator;
  readonly value: string;
}

/** A filter as it is sent, to queries and to exports. */
export type SentFilter =
  | {
      readonly key: string;
      readonly operator: Operator;
      readonly type: Exclude<PropertyType, 'hogql'>;
      readonly value?: string | string[];
    }
  | { readonly key: string; readonly type: 'hogql' };

/** Returns a key that none of them has. */
export const nextKey = (all: readonly { readonly key: number }[]): number =>
  1 + Math.max(-1, ...all.map(({ key }) => key));

/** Returns a filter that filters nothing yet, beside those that there are. */
export const anotherFilter = (all: readonly Filter[]): Filter => ({
  key: nextKey(all),
  type: 'event',
  property: '',
  operator: 'exact',
  value: '',
});

/** Returns the filters that are whole: one without a property, or without the value that it needs, filters nothing. */
export const sentFilters = (filters: readonly Filter[]): SentFilter[] => filters.flatMap(sentFilter);

function sentFilter({ type, property, operator, value }: Filter): SentFilter[] {
  if (property.trim() === '') return [];
  if (type === 'hogql') return [{ key: property, type }];
  if (BARE.includes(operator)) return [{ key: property, operator, type }];
  return value === '' ? [] : [{ key: property, operator, type, value: OF_ONE.includes(operator) ? value : [value] }];
}

/** Returns the filters of groups all of which must pass as one list; anything else as it was sent. */
function ungrouped(sent: unknown): unknown {
  const { type, values = [] } = object(sent);
  return type === 'AND' && Array.isArray(values) ? values.flatMap(ungrouped) : sent;
}

/** Returns what a form says of filters that were sent. It may say less than they do. */
export const filtersIn = (sent: unknown): readonly Filter[] =>
  list(ungrouped(sent)).map((one, key) => ({
    key,
    type: chosen(PROPERTY_TYPES, one['type'], 'event'),
    property: text(one['key'], ''),
    operator: chosen(OPERATORS, one['operator'], 'exact'),
    value: text([valueOf(one)].flat()[0], ''),
  }));

/** Returns the value of a filter that was sent: of an operator that needs none it says nothing, whatever it is. */
const valueOf = ({ operator, value }: Json): unknown => (BARE.some((one) => one === operator) ? undefined : value);

/** Returns filters in a form in which those that say the same are equal: a value alone is a list of one. */
export function evenFilters(sent: unknown): unknown {
  const filters = ungrouped(sent);
  return Array.isArray(filters)
    ? list(filters).map((one) => ({ ...one, value: valueOf(one) == null ? undefined : [valueOf(one)].flat() }))
    : filters;
}

/** Returns the filters that were sent; undefined: a form cannot say all of them. */
export function wholeFiltersIn(sent: unknown): readonly Filter[] | undefined {
  const filters = filtersIn(sent);
  return covers(evenFilters(sentFilters(filters)), evenFilters(sent ?? [])) ? filters : undefined;
}
