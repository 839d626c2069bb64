import { type AnsweredInsight } from '../../../../lib/dashboards/insights/public-chart.ts';
import { drawn, spreadsheet } from '../../../../lib/dashboards/public-page/drawn.ts';
import type { Answers } from '../../../../lib/insights/answering/answers.ts';
import { trend } from '../../../support/charts.ts';

const QUERY = JSON.stringify({ kind: 'TrendsQuery' });

function answered(
  values: number[],
  { project = 1, query = QUERY, key = 'k', at = 0, files = 'f', now = 0, clock = 'nothing', more = {} } = {},
) {
  const kept = { at, files, clock, answer: { results: [trend('Views', values, more)] } };
  const told = { key, state: 'kept', kept, run: null };
  return { project, query, timezone: 'UTC', told, now } as unknown as AnsweredInsight;
}

test('a day is over when an answer that is still true is looked at after it, however early it was computed', () => {
  const answers = {} as Answers;
  const at = Date.UTC(2026, 10, 28, 12);
  const [days, text] = [['2026-11-27', '2026-11-28'], 'The last day is not over.'];
  const figureAt = (now: number, clock = 'nothing'): string =>
    drawn(answers, answered([1, 2], { at, now, clock, more: { days } })).figure;
  expect(figureAt(at)).toContain(text);
  const next = Date.UTC(2026, 10, 29);
  expect(figureAt(next - 1)).toContain(text);
  expect(figureAt(next)).not.toContain('not over');
  // What the clock makes another answer is true no longer.
  expect(figureAt(next, 'day')).toContain(text);
});

test('an answer is drawn once, and whatever is another one is drawn anew', () => {
  const answers = {} as Answers;
  const first = drawn(answers, answered([1, 2]));
  expect(first.figure).toContain('<td class="n">2</td>');
  expect(drawn(answers, answered([1, 2]))).toBe(first);
  for (const other of [
    { project: 2 },
    { key: 'another query or zone' },
    { at: 1 },
    { files: 'others' },
    { query: JSON.stringify({ kind: 'TrendsQuery', trendsFilter: { display: 'BoldNumber' } }) },
  ]) {
    const { figure } = drawn(answers, answered([1, 3], other));
    expect(figure).toBe(drawn({} as Answers, answered([1, 3], other)).figure);
    expect(figure).not.toBe(first.figure);
  }
  expect(drawn(answers, answered([1, 2]))).toBe(first);
});

test('a file for spreadsheets is made once, too', async () => {
  const answers = {} as Answers;
  const one = answered([1, 2]);
  const looked = jest.fn(() => ({ results: [trend('Views', [1, 2])] }));
  Object.defineProperty(one.told.kept, 'answer', { get: looked });
  for (let look = 0; look < 5; look += 1)
    expect(await spreadsheet(answers, one)).toBe('Date,Views\r\n1-Jan-2020,1\r\n2-Jan-2020,2\r\n');
  expect(looked).toHaveBeenCalledTimes(1);
});
