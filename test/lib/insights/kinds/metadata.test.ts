import { metadata } from '../../../../lib/insights/kinds/metadata.ts';
import { insightWorld } from '../../../support/insight-world.ts';

async function toldOf(query: string, more: object = {}) {
  const world = await insightWorld({ events: [] });
  const asked = { kind: 'HogQLMetadata', language: 'hogQL', query, ...more };
  const answer = await metadata.answer(metadata.schema.parse(asked), world);
  return { ...answer, looked: world.looked() };
}

describe('What is told of a query of HogQL before it is asked', () => {
  it('is the tables that it reads, when it can be asked', async () => {
    const query = 'SELECT count() FROM events JOIN sessions AS s ON events.$session_id = s.session_id';
    const { metadata: told } = await toldOf(query);
    expect(told).toEqual({
      isValid: true,
      query,
      errors: [],
      warnings: [],
      notices: [],
      table_names: ['events', 'sessions'],
    });
  });

  it.each([
    ['SELECT evnt FROM events', 'Invalid HogQL query: Unable to resolve field: evnt', 7, 11],
    ['SELECT event FROM events WHERE', 'Failed to parse query', 30, 30],
    ['SELECT event FROM events LIMIT 1 + 1', 'LIMIT takes a whole number from 0', 31, 36],
    ['', 'Failed to parse query', 0, 0],
    ["SELECT 'a_b' LIKE 'a\\_b'", 'Failed to parse query', 20, 21],
    ["SELECT '😀', event LIKE 'a\\_b' FROM events", 'Failed to parse query', 25, 26],
    ["SELECT f'a\\_{event}' FROM events", 'Failed to parse query', 10, 11],
    ["SELECT event, 'a FROM events", 'Failed to parse query', 14, 15],
    ["SELECT f'a FROM events", 'Failed to parse query', 8, 9],
    ['SELECT {name} FROM events', 'The placeholder {name} has no value', null, null],
    ["SELECT '😀', evnt FROM events", 'Invalid HogQL query: Unable to resolve field: evnt', 12, 16],
  ])('of %s is what is in the way, and where', async (query, message, start, end) => {
    const { metadata: told } = await toldOf(query);
    expect(told).toEqual({
      isValid: false,
      query,
      errors: [{ message: expect.stringContaining(message), start, end }],
      warnings: [],
      notices: [],
      table_names: [],
    });
  });

  it('takes filters and variables as the query itself does', async () => {
    const query = 'SELECT event FROM events WHERE {filters} AND event = {variables.name}';
    const variables = { id: { code_name: 'name', value: 'paid' } };
    const { metadata: told } = await toldOf(query, { filters: { dateRange: { date_from: '-7d' } }, variables });
    expect(told).toMatchObject({ isValid: true, table_names: ['events'] });
  });

  it('looks at no event, and is found out anew each time', async () => {
    const { results, looked } = await toldOf('SELECT count() FROM events');
    expect(results).toBeNull();
    expect(looked).toMatchObject({ events: [], persons: false, now: true });
  });

  it('is of queries alone', () => {
    const asked = { kind: 'HogQLMetadata', language: 'hogTemplate', query: '{event.uuid}' };
    expect(metadata.schema.safeParse(asked).success).toBe(false);
  });
});
