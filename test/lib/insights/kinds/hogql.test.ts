import { hogql } from '../../../../lib/insights/kinds/hogql.ts';
import { insightWorld } from '../../../support/insight-world.ts';

const EVENTS = ['2025-01-05', '2026-01-04', '2026-01-05', '2026-01-06'].map((day) => ({
  event: day,
  distinct_id: 'a',
  timestamp: `${day}T10:00:00Z`,
  properties: { $session_id: `01940000-0000-7000-8000-0000${day.replaceAll('-', '')}` },
}));

async function asked(query: string, more: object = {}): Promise<unknown> {
  const world = await insightWorld({ events: EVENTS }, { now: Date.parse('2026-01-06T12:00:00Z') });
  const { results } = await hogql.answer(hogql.schema.parse({ kind: 'HogQLQuery', query, ...more }), world);
  return (results as readonly unknown[]).flat();
}

const eventsOf = (filters: object): Promise<unknown> =>
  asked('SELECT event FROM events WHERE {filters} ORDER BY timestamp', { filters });

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
    const ends = 'timestamp >= {filters.dateRange.from} AND timestamp < {filters.dateRange.to}';
    const query = `SELECT event FROM events WHERE ${ends} ORDER BY timestamp`;
    expect(await asked(query, { filters: { dateRange } })).toEqual(found);
  });

  it('are by the start of a session where no events are selected', async () => {
    const filters = { dateRange: { date_from: '2026-01-05' } };
    const days = 'SELECT toString(toDate($start_timestamp)) AS day FROM sessions AS s WHERE {filters} ORDER BY day';
    expect(await asked(days, { filters })).toEqual(['2026-01-05', '2026-01-06']);
    const within = `SELECT event FROM events WHERE {filters} AND properties.$session_id IN (SELECT session_id FROM sessions WHERE {filters}) ORDER BY timestamp`;
    expect(await asked(within, { filters })).toEqual(['2026-01-05', '2026-01-06']);
    const joined = `SELECT count() FROM sessions s JOIN events e ON e.properties.$session_id = s.session_id WHERE {filters}`;
    expect(await asked(joined, { filters })).toEqual([2]);
  });

  it('have ends that are compared with, and stand for nothing elsewhere', async () => {
    const query = 'SELECT count() FROM events WHERE NOT (timestamp < {filters.dateRange.from})';
    expect(await asked(query, { filters: { dateRange: { date_from: '2026-01-05' } } })).toEqual([2]);
    await expect(asked('SELECT {filters.dateRange.to}')).rejects.toThrow(
      'The placeholder {filters.dateRange.to} has no value',
    );
  });
});

test.each([
  [{ code_name: 'x', value: 'a' }, 'a'],
  [{ code_name: 'x', value: 'a', isNull: true }, null],
  [{ code_name: 'x', value: 'a', isNull: false }, 'a'],
  [{ code_name: 'x' }, null],
])('the variable %j is %j', async (variable, value) => {
  expect(await asked('SELECT {variables.x}', { variables: { v1: variable } })).toEqual([value]);
});

test('the times that the filters of a query let through are those that are looked at', async () => {
  const world = await insightWorld({ events: EVENTS }, { now: Date.parse('2026-01-06T12:00:00Z') });
  const filters = { dateRange: { date_from: '2026-01-04', date_to: '2026-01-05' } };
  const query = 'SELECT event FROM events WHERE {filters}';
  await hogql.answer(hogql.schema.parse({ kind: 'HogQLQuery', query, filters }), world);
  const [from, to] = [Date.parse('2026-01-04'), Date.parse('2026-01-06')];
  expect(world.looked().events).toEqual([{ from: from - 1, to: to + 1 }]);
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
