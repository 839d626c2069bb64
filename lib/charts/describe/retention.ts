/** Retention as a grid of cohorts. */
import { counted, type Describer, NO_DATA, nothing } from './describer.ts';
import { breakdownName, list, number, object, objects, text } from './read.ts';

const MAX_ROWS = 60;

export const describeRetention: Describer = (query, { results }) => {
  const rows = objects(results).map((row) => {
    const value = breakdownName(row['breakdown_value']);
    const date = text(row['date'])?.slice(0, 10);
    const label = text(row['label']) ?? date ?? '';
    return {
      name: [value, date === undefined ? label : `${label}, ${date}`].filter((part) => part !== null).join(' · '),
      counts: list(row['values']).map((cell) => number(object(cell)['count'])),
    };
  });
  if (rows.every(({ counts }) => (counts[0] ?? 0) === 0)) return nothing(NO_DATA);
  const width = Math.max(...rows.map(({ counts }) => counts.length));
  const period = text(object(query['retentionFilter'])['period']) ?? 'Day';
  const columns = Array.from({ length: width }, (_, at) => `${period} ${at}`);
  const isTriangle = rows.length === width;
  // Where the rows are padded to the full width, what lies after the last interval is zero because it has not been.
  const cohorts = rows.map(({ name, counts }, at) => ({
    name,
    counts: counts.map((count, ahead) => (isTriangle && at + ahead >= width ? null : count)),
  }));
  return {
    picture: { type: 'grid', rows: cohorts.slice(0, MAX_ROWS), columns },
    table: {
      columns: ['Cohort', ...columns],
      rows: cohorts.map(({ name, counts }) => [name, ...columns.map((_, at) => counts[at] ?? null)]),
    },
    summary: `Retention of ${counted(rows.length, 'cohort', 'cohorts')}.`,
    note:
      rows.length <= MAX_ROWS ? null : `The first ${MAX_ROWS} of ${rows.length.toLocaleString('en')} rows are shown.`,
  };
};
