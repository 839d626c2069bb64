/** Results that are numbers at points: trends, stickiness, lifecycle, the course of a funnel. */
import type { Chart, Series, SeriesPicture } from '../chart.ts';
import { fullNumber, type NumberFormat } from '../numbers.ts';
import { counted, NO_DATA, nothing, total } from './describer.ts';
import { type Unfinished, unfinishedText } from './unfinished.ts';

/** A picture shows so many series at most; PostHog's breakdowns have as many values. */
const MAX_SERIES = 25;
/** A picture has so many points of all series together at most. */
const MAX_POINTS = 5000;
/** More bars than these are drawn as areas, for each would be thinner than a line. */
const MAX_BARS = 1500;

type Uncoloured = Omit<Series, 'colour'>;

/** Numbers at points, before it is decided which of them are drawn. */
interface Numbers {
  readonly form: SeriesPicture['form'];
  /** What a point is: the heading of their column. */
  readonly pointName: string;
  readonly points: readonly string[];
  readonly series: readonly Uncoloured[];
  readonly format: NumberFormat;
  readonly unfinished?: Unfinished | undefined;
}

/** Returns the chart of numbers at points. Where there are too many series, those with the greatest totals are drawn. */
export function seriesChart({ form, pointName, points, series, format, unfinished }: Numbers): Chart {
  if (points.length === 0 || series.every(({ values }) => values.every((value) => value === null))) {
    return nothing(NO_DATA);
  }
  const most = Math.max(1, Math.min(MAX_SERIES, Math.floor(MAX_POINTS / points.length)));
  const drawn = withColours(greatest(series, most));
  const drawnForm = formOf(form, drawn, points.length);
  const left = series.length - drawn.length;
  return {
    picture: {
      type: 'series',
      form: drawnForm,
      points,
      series: drawn,
      format,
      unfinished: unfinished?.count ?? 0,
    },
    table: {
      columns: [pointName, ...series.map(({ name }) => name)],
      rows: points.map((point, at) => [point, ...series.map(({ values }) => values[at] ?? null)]),
    },
    summary: [
      summaryOf(drawnForm, points, drawn, format),
      ...(unfinished === undefined ? [] : [unfinishedText(unfinished)]),
    ].join(' '),
    note:
      left === 0
        ? null
        : `The picture shows the ${counted(drawn.length, 'series', 'series')} with the greatest totals of ${series.length.toLocaleString('en')}.`,
  };
}

/** Gives each series a colour of its own, and that of the period before the one of its name. */
function withColours(series: readonly Uncoloured[]): Series[] {
  const current = series.filter(({ isPrevious }) => !isPrevious);
  // Of several series of one name it is the first whose colour the period before has.
  const colours = new Map<string, number>(
    current.map(({ name }, colour) => [`${name}${PREVIOUS}`, colour] as const).toReversed(),
  );
  let next = 0;
  let nextPrevious = current.length;
  return series.map((one) => {
    if (!one.isPrevious) return { ...one, colour: next++ };
    const own = nextPrevious++;
    return { ...one, colour: colours.get(one.name) ?? own };
  });
}

/** What the name of a series of the period before ends with. */
export const PREVIOUS = ' (previous)';

function greatest(series: readonly Uncoloured[], most: number): readonly Uncoloured[] {
  if (series.length <= most) return series;
  const kept = new Set(
    series
      .map((one) => ({ one, size: Math.abs(total(one.values)) }))
      .toSorted((a, b) => b.size - a.size)
      .slice(0, most)
      .map(({ one }) => one),
  );
  return series.filter((one) => kept.has(one));
}

/**
 * Returns the form in which the numbers can be drawn: areas cannot stand on each other where a number is negative, or
 * where one is missing, which is not zero.
 */
function formOf(form: SeriesPicture['form'], series: readonly Series[], points: number): SeriesPicture['form'] {
  const mayBeAreas = series.every(({ values }) => values.every((value) => value !== null && value >= 0));
  if (form === 'areas') return mayBeAreas ? 'areas' : 'lines';
  if (form !== 'lines' && series.length * points > MAX_BARS)
    return mayBeAreas && form !== 'grouped' ? 'areas' : 'lines';
  return form;
}

const FORM_NAMES: Readonly<Record<SeriesPicture['form'], string>> = {
  lines: 'Line chart',
  areas: 'Area chart',
  stacked: 'Bar chart',
  grouped: 'Bar chart',
};

function summaryOf(
  form: SeriesPicture['form'],
  points: readonly string[],
  series: readonly Series[],
  format: NumberFormat,
): string {
  const names = series
    .slice(0, 3)
    .map(({ name }) => name)
    .join(', ');
  const more = series.length > 3 ? ` and ${series.length - 3} more` : '';
  const [first, last] = [points[0] ?? '', points.at(-1) ?? ''];
  const range = points.length === 1 ? first : `${first} to ${last}`;
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const [least, most] = values.reduce(
    ([a, b], value) => [Math.min(a, value), Math.max(b, value)],
    [Infinity, -Infinity],
  );
  const extent = values.length === 0 ? '' : `; from ${fullNumber(least, format)} to ${fullNumber(most, format)}`;
  return `${FORM_NAMES[form]} of ${names}${more}, ${range}${extent}.`;
}
