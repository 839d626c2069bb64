/** The query by which an alert looks at its insight. */
import { object } from '../../charts/describe/read.ts';
import { parseJson } from '../../http/json.ts';
import { type SentQuery, sourceOf } from '../../insights/kinds/source.ts';
import type { InsightItem } from '../../insights/model.ts';
import { Failure, invalid } from '../../ports/errors.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import type { AlertItem } from './model.ts';

/** Displays with one number for all of the range. */
const TOTALS: ReadonlySet<unknown> = new Set([
  'BoldNumber',
  'ActionsPie',
  'ActionsBarValue',
  'ActionsTable',
  'WorldMap',
]);
const CUMULATIVE = 'ActionsLineGraphCumulative';

/** The letters by which dates count intervals back. */
const UNITS: Readonly<Record<string, string>> = { minute: 'M', hour: 'h', day: 'd', week: 'w', month: 'm' };

interface WatchedQuery {
  readonly query: SentQuery;
  readonly isTotal: boolean;
  readonly hasBreakdown: boolean;
  /** How many results it has without a breakdown; undefined: as many as its formulas give. */
  readonly series: number | undefined;
}

/**
 * Returns the query of an insight as an alert asks it: of the last whole intervals and the one that goes on, whatever
 * dates the insight has, and without a comparison; one with a single number as it is. Throws a 400 for an insight whose
 * numbers no alert watches.
 */
export function watchedQuery({ query }: Pick<InsightItem, 'query'>): WatchedQuery {
  const source = query === null ? undefined : readSource(query);
  if (source === undefined) return invalid('insight', 'The insight has no query. Choose one with a TrendsQuery.');
  if (source.kind !== 'TrendsQuery') {
    invalid('insight', `An alert watches a TrendsQuery; ${source.kind} is not supported.`);
  }
  const filter = object(source['trendsFilter']);
  const { display } = filter;
  if (display === CUMULATIVE) {
    invalid('insight', `An alert watches numbers of intervals; the display ${CUMULATIVE} is not supported.`);
  }
  const breakdown = object(source['breakdownFilter']);
  const breakdowns = breakdown['breakdowns'];
  const hasBreakdown =
    (typeof breakdown['breakdown'] === 'string' && breakdown['breakdown'] !== '') ||
    Array.isArray(breakdown['breakdown']) ||
    (Array.isArray(breakdowns) && breakdowns.length > 0);
  const hasFormula = ['formula', 'formulas', 'formulaNodes'].some((name) => {
    const value = filter[name];
    return Array.isArray(value) ? value.length > 0 : typeof value === 'string' && value !== '';
  });
  const isTotal = TOTALS.has(display);
  const { compareFilter: _, ...alone } = source;
  return {
    query: isTotal ? alone : { ...alone, dateRange: datesOf(alone) },
    isTotal,
    hasBreakdown,
    series: hasFormula || !Array.isArray(source['series']) ? undefined : source['series'].length,
  };
}

/** Throws a 400 when what is to be watched does not go together. */
export function checkWatch(item: AlertItem, insight: InsightItem): void {
  const { isTotal, hasBreakdown, series } = watchedQuery(insight);
  const { type, upper } = fromJsonText(item.threshold);
  if (item.condition === 'absolute_value' && type === 'percentage') {
    invalid('threshold__configuration__type', 'A percentage is of a change: choose a condition that is relative.');
  }
  if (isTotal && item.condition !== 'absolute_value') {
    invalid('condition__type', 'The insight shows one number, which has none before it: choose absolute_value.');
  }
  if (item.check_ongoing_interval && (upper === null || item.condition === 'relative_decrease')) {
    invalid(
      'config__check_ongoing_interval',
      'The interval that goes on can only be found to be above an upper bound.',
    );
  }
  if (!hasBreakdown && series !== undefined && item.series_index >= series) {
    if (series === 0) invalid('insight', 'The insight counts nothing: its query has no series.');
    invalid(
      'config__series_index',
      series === 1
        ? 'The insight has 1 series: series_index is 0.'
        : `The insight has ${series} series: series_index is one of 0 to ${series - 1}.`,
    );
  }
}

function readSource(query: string): SentQuery | undefined {
  try {
    return sourceOf(parseJson(query));
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** The first interval of a range may be cut, and a smoothed number is of those before it too. */
function datesOf(query: SentQuery) {
  const { interval } = query;
  const smoothed = object(query['trendsFilter'])['smoothingIntervals'];
  const count = 3 + (typeof smoothed === 'number' ? smoothed : 1);
  return { date_from: `-${count}${UNITS[typeof interval === 'string' ? interval : 'day'] ?? 'd'}`, date_to: null };
}
