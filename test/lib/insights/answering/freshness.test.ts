import * as fc from 'fast-check';
import type { ProjectItem } from '../../../../lib/accounts/organizations/model.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import { computed } from '../../../../lib/insights/answering/answerer.ts';
import { answersOf } from '../../../../lib/insights/answering/answers.ts';
import { clockUseOf, meansTheSame } from '../../../../lib/insights/answering/freshness.ts';
import { worldDatabase } from '../../../../lib/insights/answering/world.ts';
import type { SentQuery } from '../../../../lib/insights/kinds/source.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { START, testContext } from '../../../support/context.ts';
import { importRecords } from '../../../support/imports.ts';
import { onEnd } from '../../../support/on-end.ts';
import { parser } from '../../../support/parser.ts';

const series = [{ kind: 'EventsNode', event: 'seen' }];
const QUERIES: readonly SentQuery[] = [
  { kind: 'StickinessQuery', series, dateRange: { date_from: '-3d' } },
  { kind: 'StickinessQuery', series, dateRange: { date_from: '2025-12-24', date_to: '2025-12-28' } },
  { kind: 'LifecycleQuery', series, dateRange: { date_from: '-2d' } },
  {
    kind: 'RetentionQuery',
    retentionFilter: {
      period: 'Day',
      totalIntervals: 4,
      targetEntity: { id: 'seen', type: 'events' },
      returningEntity: { id: 'seen', type: 'events' },
    },
  },
  { kind: 'LifecycleQuery', series, dateRange: { date_from: '2025-12-24', date_to: '2025-12-28' } },
  { kind: 'HogQLQuery', query: 'SELECT count(), count(DISTINCT person_id) FROM events' },
  { kind: 'HogQLQuery', query: 'SELECT count() FROM events WHERE timestamp > now() - INTERVAL 1 DAY' },
  { kind: 'HogQLQuery', query: 'SELECT count() FROM persons' },
];

type Step =
  | { readonly do: 'event' | 'merge' | 'delete'; readonly who: number; readonly daysAgo: number }
  | { readonly do: 'wait'; readonly minutes: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom<'event' | 'merge' | 'delete'>('event', 'merge', 'merge', 'delete'),
    who: fc.nat(3),
    daysAgo: fc.constantFrom(-1, 0, 2, 5, 6, 20, 30),
  }),
  fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 20, 90, 700, 1_500) }),
);

const wait: Step = { do: 'wait', minutes: 1 };

test('whatever comes, late events, merges, deletions, a kept answer is what computing it gives', async () => {
  let hits = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('UTC', 'America/St_Johns', 'Asia/Tokyo'),
      async (steps, timezone) => {
        const context = testContext();
        const project = { ...keys.project(7), id: 7, organization_id: 'o', timezone, deleted_at: null };
        await context.table.write([{ put: project }]);
        const worlds = worldDatabase({ lake: context.lake, parser });
        onEnd(() => worlds.close());
        const cached = answersOf(context, { answer: (asked) => computed(worlds, asked) });
        const before = [0, 1, 2, 3].flatMap((who) =>
          [0, 1, 2, 4, 5, 6, 7].map((daysAgo) => ({ do: 'event' as const, who, daysAgo: daysAgo + who / 10 })),
        );
        let n = before.length;
        const first = before.map((one, at) => recordOf(one, context.clock(), at));
        await importRecords(context, 7, first);
        for (const one of steps) {
          if (one.do === 'wait') context.clock.advance(one.minutes * MINUTE_MS);
          else {
            n += 1;
            context.clock.advance(1_000);
            await importRecords(context, 7, [recordOf(one, context.clock(), n)]);
          }
          for (const query of QUERIES) {
            const asked = { project: project as unknown as ProjectItem, query };
            const kept = await cached.ask(asked, 'blocking', {});
            if (kept.state === 'kept') hits += 1;
            // Nothing is kept for it.
            const fresh = answersOf(context, { answer: (asked) => computed(worlds, asked) }, NO_CACHE);
            const now = await fresh.ask(asked, 'blocking', {});
            expect({ query, results: kept.kept?.answer.results }).toEqual({ query, results: now.kept?.answer.results });
          }
        }
        await worlds.close();
      },
    ),
    // Where only time passes answers of dates that do not move are kept, whatever else is drawn.
    { numRuns: 6, examples: [[[wait, wait], 'UTC']] },
  );
  expect(hits).toBeGreaterThan(0);
});

const NO_CACHE = { find: async () => undefined, findMany: async () => [], keep: async () => {} };

function recordOf(one: Exclude<Step, { do: 'wait' }>, now: number, n: number) {
  const at = {
    uuid: `01940000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    distinct_id: `d${one.who}`,
    timestamp: new Date(now - one.daysAgo * DAY_MS).toISOString(),
  };
  if (one.do === 'event') return { ...at, event: 'seen', properties: {} };
  if (one.do === 'delete') return { ...at, event: '$delete_person', properties: {} };
  return { ...at, event: '$identify', properties: { $anon_distinct_id: `d${(one.who + 1) % 4}` } };
}

const JANUARY = { dateRange: { date_from: '2025-01-01', date_to: '2025-02-01' } };

test.each<[query: object, use: string]>([
  [{ dateRange: { date_from: '-7d' } }, 'day'],
  [{ dateRange: {} }, 'day'],
  [{}, 'day'],
  [{ dateRange: { date_from: '2025-01-01', date_to: '2025-02-01' } }, 'nothing'],
  [{ dateRange: { date_from: 'all', date_to: '2025-02-01' } }, 'nothing'],
  [{ dateRange: { date_from: '-24h' } }, 'hour'],
  [{ dateRange: { date_from: '-7d' }, interval: 'hour' }, 'hour'],
  [{ retentionFilter: { period: 'Hour' } }, 'hour'],
  [{ dateRange: { date_from: '-5M' } }, 'moment'],
  [{ interval: 'minute' }, 'moment'],
  [{ dateRange: { date_from: '-7d', explicitDate: true } }, 'moment'],
  [{ dateRange: { date_from: '-1mStart', date_to: '-1mEnd' } }, 'day'],
  [{ kind: 'ActorsQuery', source: { kind: 'TrendsQuery', interval: 'hour' } }, 'hour'],
  [{ kind: 'ActorsQuery', source: { kind: 'InsightActorsQuery', source: { interval: 'minute' } } }, 'moment'],
  [{ kind: 'ActorsQuery', source: { kind: 'HogQLQuery', query: 'SELECT 1' } }, 'nothing'],
  [{ dateRange: { date_from: '-1h' }, interval: 'minute', source: { kind: 'TrendsQuery', ...JANUARY } }, 'moment'],
  [{ kind: 'HogQLQuery', filters: { dateRange: { date_from: '-7d' } }, source: { kind: 'HogQLQuery' } }, 'day'],
  [{ kind: 'EventsQuery', source: { kind: 'TrendsQuery', ...JANUARY } }, 'moment'],
  [{ kind: 'EventsQuery' }, 'moment'],
  [{ kind: 'EventsQuery', after: '2025-01-01', before: '2025-01-02' }, 'nothing'],
  [{ kind: 'EventsQuery', dateRange: { date_from: '2025-01-01', date_to: '2025-02-01' } }, 'moment'],
  [{ after: '2025-01-01', before: '2025-01-02', dateRange: { date_from: '-7d' } }, 'day'],
  [{ filters: { dateRange: { date_from: '2025-01-01', date_to: '2025-02-01' } } }, 'day'],
  [{ kind: 'HogQLQuery', query: 'SELECT 1' }, 'nothing'],
  [{ kind: 'HogQLQuery', query: 'SELECT 1', filters: { dateRange: { date_from: '-7d' } } }, 'day'],
])('%j depends on the %s that the clock shows', (query, use) => {
  expect(clockUseOf({ kind: 'TrendsQuery', ...query }, false)).toBe(use);
  expect(clockUseOf({ kind: 'TrendsQuery', ...query }, true)).toBe('moment');
});

test('the persons behind a number mean the same as long as the number does', () => {
  const usesOf = (source: object | undefined) => clockUseOf({ kind: 'ActorsQuery', source }, false);
  const behind = (source: object) => ({ kind: 'InsightActorsQuery', source });
  expect(usesOf(behind({ kind: 'LifecycleQuery', interval: 'hour' }))).toBe('hour');
  expect(usesOf(behind({ kind: 'RetentionQuery', retentionFilter: { period: 'Week' } }))).toBe('day');
  expect(
    usesOf(behind({ kind: 'LifecycleQuery', dateRange: { date_from: '2026-01-01', date_to: '2026-01-02' } })),
  ).toBe('nothing');
  expect(usesOf(undefined)).toBe('nothing');
});

test('a day is that of the zone, and an hour is never longer than its quarter', () => {
  const noon = START + 12 * HOUR_MS;
  expect(meansTheSame('day', START, START + DAY_MS - 1, 'UTC')).toBe(true);
  expect(meansTheSame('day', START, START + DAY_MS, 'UTC')).toBe(false);
  expect(meansTheSame('day', START, noon + 2 * HOUR_MS, 'Asia/Tokyo')).toBe(true);
  expect(meansTheSame('day', START, noon + 3 * HOUR_MS, 'Asia/Tokyo')).toBe(false);
  expect(meansTheSame('hour', START, START + 14 * MINUTE_MS, 'UTC')).toBe(true);
  expect(meansTheSame('hour', START, START + 15 * MINUTE_MS, 'UTC')).toBe(false);
  expect(meansTheSame('moment', START, START + 1, 'UTC')).toBe(false);
  expect(meansTheSame('nothing', START, START + 1_000 * DAY_MS, 'UTC')).toBe(true);
});
