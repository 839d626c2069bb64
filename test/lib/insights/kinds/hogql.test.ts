import { hogql } from '../../../../lib/insights/kinds/hogql.ts';
import { insightWorld } from '../../../support/insight-world.ts';

const EVENTS = ['2025-01-05', '2026-01-04', '2026-01-05', '2026-01-06'].map((day) => ({
  event: day,
  distinct_id: 'a',
  timestamp: `${day}T10:00:00Z`,
}));

async function eventsOf(filters: object): Promise<unknown> {
  const world = await insightWorld({ events: EVENTS }, { now: Date.parse('2026-01-06T12:00:00Z') });
  const query = 'SELECT event FROM events WHERE {filters} ORDER BY timestamp';
  const { results } = await hogql.answer(hogql.schema.parse({ kind: 'HogQLQuery', query, filters }), world);
  return (results as readonly unknown[]).flat();
}

describe('The filters of a query of HogQL', () => {
  it.each([
    [{}, ['2025-01-05', '2026-01-04', '2026-01-05', '2026-01-06']],
    [{ date_from: 'all' }, ['2025-01-05', '2026-01-04', '2026-01-05', '2026-01-06']],
    [{ date_from: '2026-01-05' }, ['2026-01-05', '2026-01-06']],
    [{ date_from: '2026-01-04', date_to: '2026-01-05' }, ['2026-01-04', '2026-01-05']],
    [{ date_from: 'all', date_to: '2026-01-04' }, ['2025-01-05', '2026-01-04']],
    [{ date_from: '', date_to: '2026-01-04' }, ['2025-01-05', '2026-01-04']],
    [{ date_from: null, date_to: '2026-01-04' }, ['2025-01-05', '2026-01-04']],
    [{ date_to: '2025-12-31' }, ['2025-01-05']],
  ])('let the times of %j through', async (dateRange, found) => {
    expect(await eventsOf({ dateRange })).toEqual(found);
  });
});

test('numbers in the headings of columns are as short as they can be, and floats are still floats', async () => {
  const world = await insightWorld({ events: EVENTS.slice(0, 1) }, { now: Date.parse('2026-01-06T12:00:00Z') });
  const query = 'SELECT round(8.45, 1), 0.1 + 1.0, 1e3, 9007199254740993 FROM events';
  const answer = await hogql.answer(hogql.schema.parse({ kind: 'HogQLQuery', query }), world);
  expect(answer).toMatchObject({
    columns: ['round(8.45, 1)', 'plus(0.1, 1.0)', '1000.0', '9007199254740993'],
    results: [[8.4, 1.1, 1000, expect.anything()]],
  });
});
