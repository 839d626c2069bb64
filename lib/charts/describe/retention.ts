/** Retention as a grid of cohorts. */
import { counted, type Describer, NO_DATA, noteOf, nothing } from './describer.ts';
import { breakdownName, number, object, objects, text } from './read.ts';

const MAX_ROWS = 60;

export const describeRetention: Describer = (query, { results }) => {
  const groups = [...Map.groupBy(objects(results), (row) => breakdownName(row['breakdown_value']))];
  const rows = groups.flatMap(([value, cohorts]) =>
    cohorts.map((row, at) => {
      const date = text(row['date'])?.slice(0, 10);
      const label = text(row['label']) ?? date ?? '';
      // Rows are padded with zeros: what lies behind the interval of the last row was not counted, or has not been yet.
      const cells = objects(row['values']).map((cell, ahead) => (at + ahead >= cohorts.length ? {} : cell));
      const isSummed = cells.some((cell) => cell['aggregation_value'] !== undefined);
      return {
        name: [value, date === undefined ? label : `${label}, ${date}`].filter((part) => part !== null).join(' · '),
        counts: cells.map((cell) => number(cell['count'])),
        ...(isSummed ? { amounts: cells.map((cell) => number(cell['aggregation_value'])) } : {}),
      };
    }),
  );
  if (rows.every(({ counts }) => (counts[0] ?? 0) === 0)) return nothing(NO_DATA);
  const width = Math.max(...rows.map(({ counts }) => counts.length));
  const period = text(object(query['retentionFilter'])['period']) ?? 'Day';
  const columns = Array.from({ length: width }, (_, at) => `${period} ${at}`);
  return {
    picture: { type: 'grid', rows: rows.slice(0, MAX_ROWS), columns },
    table: {
      columns: ['Cohort', ...columns],
      rows: rows.map(({ name, counts, amounts = counts }) => [name, ...columns.map((_, at) => amounts[at] ?? null)]),
    },
    summary: `Retention of ${counted(rows.length, 'cohort', 'cohorts')}.`,
    note: noteOf(rows.length, MAX_ROWS, 'row', 'rows'),
  };
};
