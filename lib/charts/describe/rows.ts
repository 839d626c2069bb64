/** Results that are rows: events, queries of HogQL, the persons behind a number. */
import { shownText } from '../cells.ts';
import type { Cell, Chart } from '../chart.ts';
import { PLAIN } from '../numbers.ts';
import { type Answered, counted, type Describer, NO_DATA, nothing } from './describer.ts';
import { type Json, list, number, object, objects, text } from './read.ts';
import { seriesChart } from './series.ts';

export const describeRows: Describer = (query, answered) => {
  const rows = list(answered.results).map(list);
  const columns = columnsOf(query, answered, rows[0]?.length ?? 0);
  if (rows.length === 0) return nothing(text(query['kind']) === 'HogQLQuery' ? NO_ROWS : NO_DATA);
  const more = answered.hasMore === true ? ' There are more.' : '';
  const names = answered.names ?? columns;
  const shown = displayOf(query, { columns, names }, rows) ?? {
    picture: { type: 'table' },
    table: { columns: names, rows: rows.map((row) => columns.map((_, at) => cellOf(row[at]))) },
    summary: `Table of ${counted(rows.length, 'row', 'rows')} and ${counted(columns.length, 'column', 'columns')}.${more}`,
    note: more === '' ? null : 'There are more rows than these.',
  };
  return { ...shown, table: { ...shown.table, isExact: true } };
};

const NO_ROWS = 'The query gives no rows.';

function columnsOf(query: Json, { columns }: Answered, width: number): readonly string[] {
  if (columns !== undefined && columns.length > 0) return columns.map(columnName);
  const selected = list(query['select']).map((one) => columnName(String(one)));
  return selected.length > 0 ? selected : Array.from({ length: width }, (_, at) => `Column ${at + 1}`);
}

/** Returns the name of a column: what stands after `--` in it, as PostHog's clients write names. */
function columnName(column: string): string {
  const at = column.indexOf('--');
  return (at < 0 ? '' : column.slice(at + 2).trim()) || column;
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const FORMS = {
  ActionsLineGraph: 'lines',
  ActionsAreaGraph: 'areas',
  ActionsBar: 'grouped',
  ActionsStackedBar: 'stacked',
} as const;

/** Returns the picture that a query of HogQL asks for in its settings; undefined: none, or one that does not fit. */
function displayOf(
  query: Json,
  { columns, names }: { readonly columns: readonly string[]; readonly names: readonly string[] },
  rows: readonly (readonly unknown[])[],
): Chart | undefined {
  const display = text(query['display']) ?? '';
  if (display === 'BoldNumber') {
    const value = number(rows[0]?.[0]);
    if (value === null) return undefined;
    const name = names[0] ?? '';
    return {
      picture: { type: 'number', items: [{ name, value, previous: null }], format: PLAIN },
      table: { columns: [name], rows: [[value]] },
      summary: `${name}: ${value}`,
      note: null,
    };
  }
  const form = FORMS[display as keyof typeof FORMS];
  const settings = object(query['chartSettings']);
  const x = columns.indexOf(text(object(settings['xAxis'])['column']) ?? '');
  // A column that is named again is drawn once: the chart is as large as the answer, whatever its settings say.
  const y = new Set(
    objects(settings['yAxis'])
      .map((axis) => columns.indexOf(text(axis['column']) ?? ''))
      .filter((at) => at >= 0),
  );
  if (form === undefined || x < 0 || y.size === 0) return undefined;
  // Rows of several values at one point are no line: their table says whose each number is.
  if ((text(settings['seriesBreakdownColumn']) ?? '') !== '') return undefined;
  return seriesChart({
    form,
    pointName: names[x] ?? '',
    points: rows.map((row) => shownText(String(cellOf(row[x]) ?? ''))),
    series: [...y].map((at) => ({
      name: names[at] ?? '',
      values: rows.map((row) => number(row[at])),
      isPrevious: false,
    })),
    format: PLAIN,
  });
}
