/** Conditions on properties of events, as a form has them and as the API takes them. */
import type { Schemas } from './api.ts';
import { chosen, covers, list, type Option, text } from './json.ts';

type Compared = Exclude<Schemas['QueryFilter'], { readonly type: 'hogql' }>;

export const OPERATORS = [
  { value: 'exact', label: 'is' },
  { value: 'is_not', label: 'is not' },
  { value: 'icontains', label: 'contains' },
  { value: 'not_icontains', label: 'does not contain' },
  { value: 'gt', label: 'is more than' },
  { value: 'lt', label: 'is less than' },
  { value: 'is_set', label: 'is there' },
  { value: 'is_not_set', label: 'is not there' },
] as const satisfies readonly Option<NonNullable<Compared['operator']>>[];

type Operator = (typeof OPERATORS)[number]['value'];

/** Operators that need no value. */
export const BARE: readonly Operator[] = ['is_set', 'is_not_set'];

export interface Filter {
  /** Its place among those that were ever in the form. */
  readonly key: number;
  readonly property: string;
  readonly operator: Operator;
  readonly value: string;
}

/** A filter as it is sent. */
export interface SentFilter {
  readonly key: string;
  readonly operator: Operator;
  readonly type: 'event';
  readonly value?: string | string[];
}

/** Returns the filters that are whole: one without a property, or without the value that it needs, filters nothing. */
export const sentFilters = (filters: readonly Filter[]): SentFilter[] => filters.flatMap(sentFilter);

function sentFilter({ property, operator, value }: Filter): SentFilter[] {
  if (property === '' || (value === '' && !BARE.includes(operator))) return [];
  const isNumber = operator === 'gt' || operator === 'lt';
  return [
    {
      key: property,
      operator,
      type: 'event',
      ...(BARE.includes(operator) ? {} : { value: isNumber ? value : [value] }),
    },
  ];
}

/** Returns what a form says of filters that were sent. It may say less than they do. */
export const filtersIn = (sent: unknown): readonly Filter[] =>
  list(sent).map((one, key) => ({
    key,
    property: text(one['key'], ''),
    operator: chosen(OPERATORS, one['operator'], 'exact'),
    value: String(Array.isArray(one['value']) ? (one['value'][0] ?? '') : (one['value'] ?? '')),
  }));

/** Returns the filters that were sent; undefined: a form cannot say all of them. */
export function wholeFiltersIn(sent: unknown): readonly Filter[] | undefined {
  const filters = filtersIn(sent);
  return covers(sentFilters(filters), sent ?? []) ? filters : undefined;
}
