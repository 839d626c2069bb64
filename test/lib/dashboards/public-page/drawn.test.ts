import { type AnsweredInsight, drawn } from '../../../../lib/dashboards/public-page/drawn.ts';
import type { Answers } from '../../../../lib/insights/answering/answers.ts';
import { trend } from '../../../support/charts.ts';

const QUERY = JSON.stringify({ kind: 'TrendsQuery' });

function answered(values: number[], { project = 1, query = QUERY, key = 'k', at = 0, files = 'f' } = {}) {
  const kept = { at, files, answer: { results: [trend('Views', values)] } };
  return { project, query, told: { key, kept, isCached: true, run: null } } as unknown as AnsweredInsight;
}

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
