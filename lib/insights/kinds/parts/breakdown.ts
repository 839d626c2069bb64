/** Breakdowns: the values by which an insight tells its numbers apart, and their names in results. */
import * as z from 'zod';
import { MISSING, OTHER } from '../../../charts/describe/read.ts';
import type { Syntax } from '../../../hogql/syntax.ts';
import { all, call, constant, field } from '../../../hogql/write.ts';
import { choice, integer } from '../../../http/fields.ts';
import { invalid } from '../../../ports/errors.ts';
import type { World } from '../kind.ts';

export { MISSING, OTHER };

/** What is said to who asks for the persons of `OTHER`: which values they are, only their totals tell. */
export const OTHERS_UNKNOWN = 'Of all other values together, the persons are not known. Choose one of them.';

const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 10_000;
const MAX_BREAKDOWNS = 3;
const MAX_BINS = 100;

const TYPES = ['event', 'person', 'session', 'event_metadata', 'hogql', 'cohort', 'group'] as const;
type BreakdownType = (typeof TYPES)[number];

const LACKING_TYPES: Readonly<Partial<Record<BreakdownType, string>>> = {
  cohort: 'Breakdowns by cohort are not supported, except for all users.',
  group: 'Breakdowns by group are not supported.',
};

const bins = () => integer({ min: 1, max: MAX_BINS }).nullish();

/** `breakdownFilter` of a query. */
export const BreakdownFilter = z
  .object({
    breakdown: z.union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))]).nullish(),
    breakdown_type: choice(TYPES).nullish(),
    breakdown_normalize_url: z.boolean().nullish(),
    breakdown_histogram_bin_count: bins(),
    breakdowns: z
      .array(
        z.object({
          property: z.union([z.string(), z.number()]),
          type: choice(TYPES).nullish(),
          normalize_url: z.boolean().nullish(),
          histogram_bin_count: bins(),
        }),
      )
      .max(MAX_BREAKDOWNS, `There are at most ${MAX_BREAKDOWNS} breakdowns.`)
      .nullish(),
    breakdown_limit: integer({ min: 1, max: MAX_LIMIT }).nullish(),
    breakdown_hide_other_aggregation: z.boolean().nullish(),
  })
  .superRefine((filter, context) => {
    for (const { type, property } of partsOf(filter)) {
      const message = property === 'all' && type === 'cohort' ? undefined : LACKING_TYPES[type];
      if (message !== undefined) context.addIssue({ code: 'custom', message, path: ['breakdown_type'] });
    }
  });
export type BreakdownFilter = z.output<typeof BreakdownFilter>;

/** One of the values that numbers are broken down by. */
interface BreakdownPart {
  readonly type: BreakdownType;
  readonly property: string;
  readonly isUrl: boolean;
  /** Numbers are told apart by so many bins of one width. */
  readonly bins: number | undefined;
}

function partsOf(filter: Omit<BreakdownFilter, 'never'>): BreakdownPart[] {
  if ((filter.breakdowns ?? []).length > 0) {
    return (filter.breakdowns ?? []).map(({ type, property, normalize_url, histogram_bin_count }) => ({
      type: type ?? 'event',
      property: String(property),
      isUrl: normalize_url ?? false,
      bins: histogram_bin_count ?? undefined,
    }));
  }
  return [filter.breakdown ?? []].flat().map((property) => ({
    type: filter.breakdown_type ?? 'event',
    property: String(property),
    isUrl: filter.breakdown_normalize_url ?? false,
    bins: filter.breakdown_histogram_bin_count ?? undefined,
  }));
}

/** How an insight is broken down. */
export interface Breakdown {
  readonly parts: readonly BreakdownPart[];
  /** Its values are lists, as `breakdowns` makes them. */
  readonly isList: boolean;
  /** So many values are told apart. */
  readonly limit: number;
  readonly hidesOther: boolean;
}

/** Returns how a query is broken down; undefined: not at all. */
export function breakdownOf(
  filter: BreakdownFilter | null | undefined,
  { isUnlimited = false }: { readonly isUnlimited?: boolean } = {},
): Breakdown | undefined {
  const parts = filter ? partsOf(filter) : [];
  if (parts.length === 0 || !filter) return undefined;
  if (parts.length > MAX_BREAKDOWNS)
    invalid('breakdownFilter__breakdown', `There are at most ${MAX_BREAKDOWNS} breakdowns.`);
  return {
    parts,
    isList: (filter.breakdowns ?? []).length > 0 || parts.length > 1,
    limit: filter.breakdown_limit ?? (isUnlimited ? MAX_LIMIT : DEFAULT_LIMIT),
    hidesOther: filter.breakdown_hide_other_aggregation ?? false,
  };
}

/** Stands between the values of several breakdowns where they are one text. */
export const SEPARATOR = '\u001f';

/** Returns the text by which events are told apart, which is never null. `edges` are those of the parts with bins. */
export async function breakdownValue(
  breakdown: Breakdown,
  edges: readonly (readonly number[])[],
  world: World,
): Promise<Syntax> {
  return valueOfRead(breakdown, await breakdownRead(breakdown, edges, world));
}

/**
 * Returns what is read of an event for each part of the value by which it is told apart, null among it. Events that are
 * grouped by it as it is are grouped by what a file holds, and their values are made once for a group.
 */
export async function breakdownRead(
  { parts }: Breakdown,
  edges: readonly (readonly number[])[],
  world: World,
): Promise<readonly Syntax[]> {
  return Promise.all(
    parts.map(async (part, n) => {
      const subject = await subjectOf(part, world);
      return part.bins === undefined ? call('toString', subject) : binOf(subject, edges[n] ?? []);
    }),
  );
}

/** Returns the text by which events are told apart, made of what `breakdownRead` gave. */
export function valueOfRead({ parts }: Breakdown, read: readonly Syntax[]): Syntax {
  const values = parts.map((part, n) => partValue(part, read[n] ?? constant('')));
  const [first] = values;
  if (values.length === 1 && first !== undefined) return first;
  return call('concat', ...values.flatMap((value, n) => (n === 0 ? [value] : [constant(SEPARATOR), value])));
}

function partValue({ bins, isUrl }: BreakdownPart, read: Syntax): Syntax {
  if (bins !== undefined) return read;
  const value = isUrl ? withoutTail(read) : read;
  return call('ifNull', call('nullIf', value, constant('')), constant(MISSING));
}

async function subjectOf({ type, property }: BreakdownPart, world: World): Promise<Syntax> {
  if (type === 'hogql') return world.expression(property);
  return SUBJECTS[type](property);
}

/** What has a value of each type. */
const SUBJECTS: Readonly<Record<Exclude<BreakdownType, 'hogql'>, (property: string) => Syntax>> = {
  event: (property) => field('properties', property),
  person: (property) => field('person', 'properties', property),
  session: (property) => field('session', property),
  event_metadata: (property) => field(property),
  // Of all users, and of all groups: the others are refused.
  cohort: constant,
  group: constant,
};

/** A path is the same with `/`, `?` and `#` behind it, and without. */
function withoutTail(url: Syntax): Syntax {
  const cut = call('replaceRegexpOne', url, constant('[/?#]+$'), constant(''));
  return call('if', call('equals', cut, constant('')), constant('/'), cut);
}

const binName = (from: number, to: number): string => `[${from},${to}]`;

function binOf(subject: Syntax, edges: readonly number[]): Syntax {
  const number = call('toFloat', subject);
  const choices = edges.slice(1).flatMap((to, n) => {
    const from = edges[n] as number;
    const isWithin = all([call('greaterOrEquals', number, constant(from)), call('less', number, constant(to))]);
    return [isWithin, constant(binName(from, to))];
  });
  return choices.length === 0 ? constant(MISSING) : call('multiIf', ...choices, constant(MISSING));
}

/**
 * Returns the edges of the bins of each part that has some, of the events that pass a condition: of one width, from the
 * least number to 0.01 above the greatest, or just above it where that is nothing, at most two digits behind the point.
 */
export async function binEdges(
  { parts }: Breakdown,
  condition: Syntax,
  range: { readonly from: number; readonly to: number },
  world: World,
): Promise<readonly (readonly number[])[]> {
  return Promise.all(
    parts.map(async (part) => {
      if (part.bins === undefined) return [];
      const hogql = 'SELECT min({number}) AS least, max({number}) AS most FROM events WHERE {condition}';
      const number = call('toFloat', await subjectOf(part, world));
      const { rows } = await world.rows({ hogql, values: { number, condition }, from: range.from, to: range.to });
      const [least, most] = rows[0] ?? [];
      return typeof least === 'number' && typeof most === 'number' ? edgesOf(least, most, part.bins) : [];
    }),
  );
}

const cutToCents = (value: number): number => Math.floor(value * 100) / 100;
const toCents = (value: number): number => Number(value.toFixed(2));

function edgesOf(least: number, most: number, count: number): number[] {
  const width = (most - least) / count;
  const inner = Array.from({ length: count - 1 }, (_, n) => cutToCents(least + (n + 1) * width));
  const [first, last] = [cutToCents(least), toCents(cutToCents(most) + 0.01)];
  // A hundred times a number may be rounded up, or be more than any number.
  const below = [first, toCents(first - 0.01)].filter(Number.isFinite).find((edge) => edge <= least);
  // Beside numbers beyond 2^46 a hundredth is nothing, and the next that there is lies above.
  const above = [last, toCents(last + 0.01)].filter(Number.isFinite).find((edge) => edge > most);
  const edges = [below ?? least, ...inner, above ?? most + Math.abs(most) * Number.EPSILON];
  return [...new Set(edges)].filter(Number.isFinite);
}

/** The text of events that have none of the values. */
export const missingValue = ({ parts }: Breakdown): string => parts.map(() => MISSING).join(SEPARATOR);

/** What a result says of its value. */
interface BreakdownLabel {
  readonly label: string;
  readonly breakdown_value: string | readonly string[];
}

/** Returns the name of a value, which `breakdownValue` gave, or of all others. */
export function breakdownLabel({ parts, isList }: Breakdown, value: string): BreakdownLabel {
  const values = value === OTHER ? parts.map(() => OTHER) : value.split(SEPARATOR);
  const names = values.map((one) => (parts[0]?.type === 'cohort' ? 'all users' : one));
  return { label: names.join('::'), breakdown_value: isList ? values : value };
}
