/** Filters by properties, as PostHog's lists take them: JSON of a list, of which each must hold. */
import * as z from 'zod';
import { numberText } from '../basics/raw-number.ts';
import { beginningOf, inQuotes } from '../basics/text.ts';
import { BadJson, parseJson } from '../http/json.ts';
import { invalid } from '../ports/errors.ts';
import type { Given } from './parameters.ts';

/** The SQL of each operator, over a property's text and one of the filter's values; several values are alternatives. */
const OPERATORS = {
  exact: { one: (text: string, value: string) => `${text} = ${value}`, isNot: false },
  is_not: { one: (text: string, value: string) => `${text} = ${value}`, isNot: true },
  icontains: { one: (text: string, value: string) => `contains(lower(${text}), lower(${value}))`, isNot: false },
  not_icontains: { one: (text: string, value: string) => `contains(lower(${text}), lower(${value}))`, isNot: true },
  is_set: { one: null, isNot: false },
  is_not_set: { one: null, isNot: true },
} as const;
type Operator = keyof typeof OPERATORS;

const NAMES = Object.keys(OPERATORS) as Operator[];
const MAX_FILTERS = 20;
const MAX_VALUES = 100;

const refuse = (detail: string): never => invalid('properties', detail);

interface PropertyFilter {
  readonly key: string;
  readonly operator: Operator;
  readonly values: readonly string[];
}

const Sent = z.array(
  z.looseObject({
    key: z.string(),
    operator: z.string().nullish(),
    type: z.string().nullish(),
    value: z.unknown().optional(),
  }),
);

/** Returns the filters of a parameter `properties`. Throws a 400 that says what is not one. `type`: whose they may be. */
export function propertyFilters(text: string | undefined, type: 'event' | 'person'): PropertyFilter[] {
  if (text === undefined || text.trim() === '') return [];
  const parsed = Sent.safeParse(parsedJson(text));
  if (!parsed.success || parsed.data.length > MAX_FILTERS)
    return refuse(`Expected JSON of a list of at most ${MAX_FILTERS} filters: [{"key": "plan", "value": "pro"}].`);
  return parsed.data.map(({ key, operator, type: own, value }) => {
    if (own !== undefined && own !== null && own !== type)
      return refuse(`A filter of type '${beginningOf(own, 100)}' is not supported here; '${type}' is.`);
    const name = NAMES.find((known) => known === (operator ?? 'exact'));
    if (name === undefined)
      return refuse(
        `The operator '${beginningOf(String(operator), 100)}' is not supported here. These are: ${inQuotes(NAMES)}.`,
      );
    const values = [value ?? []].flat().map(textOf);
    if (values.length > MAX_VALUES) return refuse(`A filter has at most ${MAX_VALUES} values.`);
    if (OPERATORS[name].one !== null && values.length === 0) return refuse(`The operator '${name}' needs a value.`);
    return { key, operator: name, values };
  });
}

function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof BadJson) return refuse(error.message);
    throw error;
  }
}

/** A value as the text of a property is: a number as JSON writes it, a text without quotes. */
const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (numberText(value) ?? JSON.stringify(value) ?? 'null');

/** Returns SQL conditions over the column `properties`; what was sent becomes parameters. */
export function propertyConditions(filters: readonly PropertyFilter[], given: Given): string[] {
  return filters.map(({ key, operator, values }, n) => {
    // The value of the key itself, whatever signs are in it.
    const text = `json_extract_string(properties, '/' || replace(replace(${given(`key${n}`, key)}, '~', '~0'), '/', '~1'))`;
    const { one, isNot } = OPERATORS[operator];
    if (one === null) return `${text} IS ${isNot ? '' : 'NOT '}NULL`;
    const any = values.map((value, at) => one(text, given(`value${n}_${at}`, value)));
    return `${isNot ? 'NOT ' : ''}coalesce(${any.join(' OR ')}, false)`;
  });
}
