import { computed } from '../../../../lib/insights/answering/answerer.ts';
import type { WorldDatabase } from '../../../../lib/insights/answering/world.ts';
import { START } from '../../../support/context.ts';

/** Worlds that give one row to each question. */
const worlds = {
  world: (_files, moment) => ({
    ...moment,
    expression: async () => Promise.reject(new Error('nothing is to be read')),
    check: () => Promise.resolve(),
    tables: () => Promise.resolve([]),
    rows: async () => ({ columns: ['n'], types: ['UInt64'], computed: [], rows: [[1]] }),
    looked: () => ({ events: [], persons: false, now: false, hogql: null }),
  }),
} satisfies Pick<WorldDatabase, 'world'>;

const HOGQL = { kind: 'HogQLQuery', query: 'SELECT 1' };
const TREND = { kind: 'TrendsQuery', series: [{ event: 'seen' }] };
const answered = async (query: object, modifiers: unknown, timezone = 'Asia/Tokyo') =>
  computed(worlds, {
    query: { kind: '', ...query, modifiers },
    moment: { now: START, timezone, weekStartDay: 0, testAccountFilters: [] },
    files: { events: [], persons: [] },
  });

describe('modifiers of a query', () => {
  test.each([
    ['convertToProjectTimezone', false, /in the project's time zone/],
    ['personsOnEventsMode', 'disabled', /mode of persons/],
    ['personsOnEventsMode', 'person_id_no_override_properties_on_events', /mode of persons/],
    ['personsOnEventsMode', 'person_id_override_properties_joined', /mode of persons/],
  ])('are refused by name where they ask for other numbers: %s %j', async (name, value, detail) => {
    for (const query of [HOGQL, TREND]) {
      await expect(answered(query, { [name]: value })).rejects.toMatchObject({
        kind: 'validation',
        body: { attr: `query__modifiers__${name}`, detail: expect.stringMatching(detail) },
      });
    }
    const persons = { kind: 'InsightActorsQuery', source: { ...TREND, modifiers: { [name]: value } } };
    await expect(answered({ kind: 'ActorsQuery', source: persons }, {})).rejects.toMatchObject({
      body: { attr: `query__source__source__modifiers__${name}` },
    });
  });

  test.each([
    [null],
    [{}],
    [{ convertToProjectTimezone: true, personsOnEventsMode: 'person_id_override_properties_on_events' }],
    [{ convertToProjectTimezone: null, personsOnEventsMode: null }],
    [{ debug: true, timings: true, materializationMode: 'auto', inCohortVia: 'subquery', optimizeProjections: true }],
  ])('are taken where they ask for what is done anyway: %j', async (modifiers) => {
    expect(await answered(HOGQL, modifiers)).toMatchObject({ answer: { results: [[1]] } });
  });

  test('may ask for UTC in a project whose zone it is', async () => {
    expect(await answered(HOGQL, { convertToProjectTimezone: false }, 'UTC')).toMatchObject({
      answer: { results: [[1]] },
    });
  });
});
