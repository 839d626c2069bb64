/** Trends in every display, stickiness and lifecycle. */

import type { Chart, Item, Picture, SeriesPicture } from '../chart.ts';
import { fullNumber, type NumberFormat, PLAIN } from '../numbers.ts';
import { placesBefore } from './compared.ts';
import { type Answered, counted, type Describer, NO_DATA, noteOf, nothing, total } from './describer.ts';
import {
  breakdownName,
  type Json,
  list,
  NO_VALUE,
  number,
  OTHER_VALUES,
  object,
  objects,
  readableName,
  text,
} from './read.ts';
import { PREVIOUS, seriesChart } from './series.ts';
import { type Unfinished, unfinishedOf } from './unfinished.ts';

const FORMS: Readonly<Record<string, SeriesPicture['form']>> = {
  ActionsLineGraph: 'lines',
  ActionsLineGraphCumulative: 'lines',
  ActionsAreaGraph: 'areas',
  ActionsBar: 'stacked',
  ActionsStackedBar: 'stacked',
  ActionsUnstackedBar: 'grouped',
};

const UNITS: Readonly<Record<string, NumberFormat['unit']>> = {
  duration: 'seconds',
  duration_ms: 'milliseconds',
  percentage: 'percent',
  percentage_scaled: 'fraction',
};

/** What stands before or after each number of a chart has so many characters of what the query says. */
const MAX_AFFIX = 50;

const affixOf = (value: unknown): string => (text(value) ?? '').slice(0, MAX_AFFIX).toWellFormed();

/** Returns how the query wants its numbers written. */
function formatOf(filter: Json): NumberFormat {
  return {
    unit: UNITS[text(filter['aggregationAxisFormat']) ?? ''] ?? 'number',
    prefix: affixOf(filter['aggregationAxisPrefix']),
    postfix: affixOf(filter['aggregationAxisPostfix']),
    decimals: Math.min(Math.max(number(filter['decimalPlaces']) ?? PLAIN.decimals, 0), 10),
  };
}

export const describeTrends: Describer = (query, answered) => {
  const filter = object(query['trendsFilter']);
  const rows = objects(answered.results);
  const display = text(filter['display']) ?? 'ActionsLineGraph';
  const format = formatOf(filter);
  const form = FORMS[display];
  if (form !== undefined) {
    // What has come in all is as true as it ever is.
    const isCumulative = display === 'ActionsLineGraphCumulative';
    return pointsChart(rows, form, 'Date', format, isCumulative ? undefined : unfinishedIn(query, rows, answered));
  }
  const items = rows.map((row) => ({ row, name: nameOf(row), value: totalOf(row) }));
  if (items.every(({ value }) => value === null)) return nothing(NO_DATA);
  switch (display) {
    case 'BoldNumber':
      return numberChart(items, format);
    case 'ActionsPie':
      return pieChart(items, format);
    case 'WorldMap':
      return mapChart(rows, format);
    case 'ActionsTable':
      return rankingChart(items, format, 'Table');
    default:
      return rankingChart(items, format, 'Bar chart');
  }
};

export const describeStickiness: Describer = (query, { results }) => {
  const filter = object(query['stickinessFilter']);
  const form = FORMS[text(filter['display']) ?? 'ActionsBar'] ?? 'stacked';
  return pointsChart(objects(results), form === 'stacked' ? 'grouped' : form, 'Intervals', formatOf(filter));
};

const STATUSES: Readonly<Record<string, string>> = {
  new: 'New',
  returning: 'Returning',
  resurrecting: 'Resurrecting',
  dormant: 'Dormant',
};

export const describeLifecycle: Describer = (query, answered) => {
  const rows = objects(answered.results).map((row) => ({
    ...row,
    label: STATUSES[text(row['status']) ?? ''] ?? text(row['label']) ?? '',
    action: null,
  }));
  return pointsChart(rows, 'stacked', 'Date', PLAIN, unfinishedIn(query, rows, answered));
};

/**
 * Returns the chart of results with `data`. Their points are those of the longest series, and at each stands what is
 * compared with it.
 */
export function pointsChart(
  rows: readonly Json[],
  form: SeriesPicture['form'],
  pointName: string,
  format: NumberFormat,
  unfinished?: Unfinished,
): Chart {
  const points = longestOf(rows, labelsOf).map((label) => String(label));
  const places = placesBefore(longestOf(rows, daysOf), longestOf(rows.filter(isPrevious), daysOf));
  const series = rows.map((row) => ({
    name: nameOf(row),
    values: points.map((_, at) => number(list(row['data'])[isPrevious(row) ? (places[at] ?? at) : at])),
    isPrevious: isPrevious(row),
  }));
  return seriesChart({ form, pointName, points, series, format, unfinished });
}

const daysOf = (row: Json): readonly unknown[] => list(row['days']);

const labelsOf = (row: Json): readonly unknown[] =>
  list(row['labels']).length > 0 ? list(row['labels']) : daysOf(row);

/** Returns the longest list of the results, of those of the period before only where there are no others. */
function longestOf(rows: readonly Json[], listOf: (row: Json) => readonly unknown[]): readonly unknown[] {
  const current = rows.filter((row) => !isPrevious(row));
  return (current.length === 0 ? rows : current).reduce<readonly unknown[]>((most, row) => {
    const one = listOf(row);
    return one.length > most.length ? one : most;
  }, []);
}

/** Returns which of the last points of results by time were not over when these were computed. */
export const unfinishedIn = (query: Json, rows: readonly Json[], answered: Answered): Unfinished | undefined =>
  unfinishedOf(query, longestOf(rows, daysOf), answered);

const isPrevious = (row: Json): boolean => row['compare_label'] === 'previous';

/** Returns what a result is called: the name that its series was given, and its breakdown value. */
export function nameOf(row: Json): string {
  const action = object(row['action']);
  const [given, own] = [text(action['custom_name']), text(action['name'])];
  const label = text(row['label']) ?? given ?? own ?? '';
  const named = given === null || own === null || !label.startsWith(own) ? label : `${given}${label.slice(own.length)}`;
  const value = breakdownName(row['breakdown_value']);
  const readable = readableName(named === '' ? (value ?? '') : named);
  // A formula is called the same whatever value it is of.
  const isFormula = row['action'] === null && value !== null && value !== readable;
  const name = isFormula ? `${readable} - ${value}` : readable;
  return isPrevious(row) ? `${name}${PREVIOUS}` : name;
}

/** Returns the one number of a result: of displays that show one, and else the sum of its data. */
const totalOf = (row: Json): number | null => number(row['aggregated_value']) ?? number(row['count']);

type Row = Item & { readonly row: Json };

function numberChart(items: readonly Row[], format: NumberFormat): Chart {
  const current = items.filter(({ row }) => !isPrevious(row));
  // Of several of one name it is the first.
  const previous = new Map(
    items
      .filter(({ row }) => isPrevious(row))
      .map(({ name, value }) => [name, value] as const)
      .toReversed(),
  );
  const shown = (current.length === 0 ? items : current).map(({ name, value }) => ({
    name,
    value,
    previous: previous.get(`${name}${PREVIOUS}`) ?? null,
  }));
  return {
    picture: { type: 'number', items: shown.slice(0, MAX_NUMBERS), format },
    table: itemTable(items),
    summary: shown
      .slice(0, MAX_NUMBERS)
      .map(({ name, value }) => `${name}: ${value === null ? 'no value' : fullNumber(value, format)}`)
      .join('; '),
    note: noteOf(shown.length, MAX_NUMBERS, 'number', 'numbers'),
  };
}

/** So many numbers are shown large. */
const MAX_NUMBERS = 6;
/** So many bars of a ranking are drawn. */
const MAX_BARS = 10;
/** A pie has so many slices, and one of the others. */
const MAX_SLICES = 10;

/** The table of items. Numbers are as the result has them. */
const itemTable = (items: readonly Item[]): Chart['table'] => ({
  columns: ['Name', 'Value'],
  rows: items.map(({ name, value }) => [name, value]),
});

/** By their numbers, the greatest first; what stands for all other values is the last one. */
const bySize = (a: Item, b: Item): number =>
  Number(a.name.endsWith(OTHER_VALUES)) - Number(b.name.endsWith(OTHER_VALUES)) ||
  (b.value ?? -Infinity) - (a.value ?? -Infinity);

function rankingChart(items: readonly Item[], format: NumberFormat, what: string): Chart {
  const sorted = items.toSorted(bySize).map(({ name, value }) => ({ name, value }));
  return {
    picture: { type: 'ranking', items: sorted.slice(0, MAX_BARS), format },
    table: itemTable(sorted),
    summary: `${what} of ${counted(sorted.length, 'value', 'values')}, the greatest first.`,
    note: noteOf(sorted.length, MAX_BARS, 'value', 'values'),
  };
}

function pieChart(items: readonly Row[], format: NumberFormat): Chart {
  const current = items.filter(({ row }) => !isPrevious(row)).map(({ name, value }) => ({ name, value }));
  const hasNegative = current.some(({ value }) => value !== null && value < 0);
  // Slices of less than nothing cannot be drawn, and all slices of nothing are no pie.
  if (hasNegative || current.every(({ value }) => (value ?? 0) === 0))
    return rankingChart(current, format, 'Bar chart');
  const sorted = current.toSorted(bySize);
  const [shown, others] = [sorted.slice(0, MAX_SLICES), sorted.slice(MAX_SLICES)];
  const rest: readonly Item[] =
    others.length === 0
      ? []
      : [
          {
            name: `${counted(others.length, 'other', 'others')} together`,
            value: total(others.map(({ value }) => value)),
          },
        ];
  return {
    picture: { type: 'pie', items: [...shown, ...rest], format },
    table: itemTable(sorted),
    summary: `Pie chart of ${counted(sorted.length, 'value', 'values')}.`,
    note: null,
  };
}

let countries: Intl.DisplayNames | undefined;

/** Returns the English name of a country by its code; the code itself when nobody knows it. */
export function countryName(code: string): string {
  if (!/^[A-Z]{2}$/.test(code)) return code;
  countries ??= new Intl.DisplayNames('en', { type: 'region', fallback: 'code' });
  return countries.of(code) ?? code;
}

/** Returns what rows of the same series or formula have in common. */
function seriesOf(row: Json): unknown {
  const label = text(row['label']);
  // Where a query has one series, each row is called by its value alone.
  return object(row['action'])['order'] ?? (label === [row['breakdown_value']].flat().join('::') ? null : label);
}

const countryOf = (row: Json): string => breakdownName(row['breakdown_value'] ?? row['label']) ?? NO_VALUE;

/** A country has one colour: that of the first series. The numbers of all are in the table. */
function mapChart(rows: readonly Json[], format: NumberFormat): Chart {
  const values = new Map<string, number>();
  const series = Map.groupBy(
    rows.filter((row) => !isPrevious(row)),
    seriesOf,
  );
  const [first = []] = series.values();
  for (const row of first) {
    const [code, value] = [countryOf(row), totalOf(row)];
    if (value !== null && code !== NO_VALUE && code !== OTHER_VALUES) values.set(code, value);
  }
  const items = [...series.values()].flat().map((row): Item => {
    const { custom_name, name } = object(row['action']);
    const own = text(custom_name) ?? text(name) ?? text(row['label']) ?? '';
    const country = countryName(countryOf(row));
    return { name: series.size > 1 ? `${own} - ${country}` : country, value: totalOf(row) };
  });
  if (values.size === 0) return rankingChart(items, format, 'Bar chart');
  const picture: Picture = { type: 'map', values, format };
  return {
    picture,
    table: { ...itemTable(items.toSorted(bySize)), columns: ['Country', 'Value'] },
    summary: `Map of the world with ${counted(values.size, 'country', 'countries')}.`,
    note: series.size > 1 ? `The map shows the first of ${series.size} series.` : null,
  };
}
