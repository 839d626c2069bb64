import * as fc from 'fast-check';
import { failureOfIssues } from '../../../../lib/http/fields.ts';
import { paths } from '../../../../lib/insights/kinds/paths.ts';
import { insightWorld, type WorldEvent, type WorldPerson } from '../../../support/insight-world.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

interface Edge {
  readonly source: string;
  readonly target: string;
  readonly value: number;
  readonly average_conversion_time: number;
}

const NOW = Date.parse('2026-01-20T12:00:00Z');

async function edgesOf(
  filters: readonly object[],
  events: readonly WorldEvent[],
  persons: readonly WorldPerson[] = [],
): Promise<(readonly Edge[])[]> {
  const world = await insightWorld({ events, persons }, { now: NOW });
  const found: (readonly Edge[])[] = [];
  for (const pathsFilter of filters) {
    const query = { kind: 'PathsQuery', dateRange: { date_from: '2026-01-01' }, pathsFilter };
    found.push((await paths.answer(paths.schema.parse(query), world)).results as readonly Edge[]);
  }
  return found;
}

/** Pages viewed on 1 January 2026, each `distinct_id path hh:mm`. */
const viewed = (...lines: readonly string[]): WorldEvent[] =>
  lines.map((line) => {
    const [distinct_id = '', url = '', time = ''] = line.split(' ');
    return {
      event: '$pageview',
      distinct_id,
      timestamp: `2026-01-01T${time}:00Z`,
      properties: { $current_url: url },
    };
  });

const shown = (edges: readonly Edge[] | undefined): (readonly [string, string, number])[] =>
  (edges ?? []).map(({ source, target, value }) => [source, target, value]);

const PERSON = '00000000-0000-4000-8000-000000000001';
const PAGES = { includeEventTypes: ['$pageview'] };

describe('paths', () => {
  it('tell how often persons go from which page to which, most often first, and how many milliseconds it takes', async () => {
    const events = viewed(
      'a / 10:00',
      'a /a/ 10:01',
      'a /b 10:05',
      'b / 10:00',
      'b2 /a 10:03',
      'c /a 10:00',
      'c /a 10:10',
      'c /b 10:12',
    );
    const [edges] = await edgesOf([PAGES], events, [{ id: PERSON, distinct_ids: ['b', 'b2'] }]);
    expect(edges).toEqual([
      { source: '1_/', target: '2_/a', value: 2, average_conversion_time: 120_000 },
      // The same page in a row counts once, the last time.
      { source: '1_/a', target: '2_/b', value: 1, average_conversion_time: 120_000 },
      { source: '2_/a', target: '3_/b', value: 1, average_conversion_time: 240_000 },
    ]);
  });

  it('tell the average time to the last bit, in whichever order persons are read', async () => {
    const took = [0.1, 0.2, 0.3, 0.7, 1.1, 4.4, 100.3];
    const start = Date.parse('2026-01-01T10:00:00Z');
    for (const order of [took, took.toReversed(), took.toSorted((a, b) => (a % 1) - (b % 1))]) {
      const events = order.flatMap((ms, n) =>
        [0, ms].map((at, page): WorldEvent => {
          const properties = { $current_url: `https://example.com/${page}` };
          return { event: '$pageview', distinct_id: `d${n}`, timestamp: start + at, properties };
        }),
      );
      const [edges] = await edgesOf([PAGES], events);
      const average = (100 + 200 + 300 + 700 + 1100 + 4400 + 100_300) / took.length / 1000;
      expect(edges?.map(({ average_conversion_time }) => average_conversion_time)).toEqual([average]);
    }
  });

  it('begin anew after half an hour in which nothing happens, and end after the limit of steps', async () => {
    const events = viewed('a /1 10:00', 'a /2 10:29', 'a /3 10:59', 'a /4 11:00', 'a /5 11:01', 'a /6 11:02');
    const [edges] = await edgesOf([{ ...PAGES, stepLimit: 3 }], events);
    expect(shown(edges)).toEqual([
      ['1_/1', '2_/2', 1],
      ['1_/3', '2_/4', 1],
      ['2_/4', '3_/5', 1],
    ]);
  });

  it('call an event by its path, its screen, its name, or an expression', async () => {
    const event = (name: string, minute: number, properties: Readonly<Record<string, unknown>> = {}): WorldEvent => ({
      event: name,
      distinct_id: 'a',
      timestamp: `2026-01-01T10:0${minute}:00Z`,
      properties,
    });
    const events = [
      event('$pageview', 0, { $current_url: 'https://example.com/shop/?page=2#top' }),
      event('$screen', 1, { $screen_name: 'Home' }),
      event('bought', 2, { of: 'shoes' }),
      event('$identify', 3),
      event('$pageview', 4),
    ];
    const includeEventTypes = [['$pageview', '$screen'], ['custom_event', '$pageview'], ['hogql'], []];
    const found = await edgesOf(
      includeEventTypes.map((types) => ({
        includeEventTypes: types,
        ...(types[0] === 'hogql' && { pathsHogQLExpression: 'properties.of' }),
      })),
      [...events, event('bought', 5, { of: 'hats' })],
    );
    expect(found.map(shown)).toEqual([
      [['1_/shop', '2_Home', 1]],
      [['1_/shop', '2_bought', 1]],
      [['1_shoes', '2_hats', 1]],
      [
        ['1_/shop', '2_Home', 1],
        ['2_Home', '3_bought', 1],
        ['3_bought', '4_$identify', 1],
        ['4_$identify', '5_bought', 1],
      ],
    ]);
  });

  it('are made shorter by groupings, cleaning and what is left out, and fewer by weights and limits', async () => {
    const events = viewed(
      'a /p/1 10:00',
      'a /p/2 10:01',
      'a /q 10:02',
      'b /p/3 10:00',
      'b /q 10:01',
      'c /p/1 10:00',
      'c /r 10:01',
    );
    const [grouped, cleaned, without, heavy, light, few] = await edgesOf(
      [
        { ...PAGES, pathGroupings: ['/p/*'] },
        { ...PAGES, localPathCleaningFilters: [{ regex: String.raw`\d`, alias: 'N' }] },
        { ...PAGES, excludeEvents: ['/p/2', '/r'] },
        { ...PAGES, pathGroupings: ['/p/*'], minEdgeWeight: 2 },
        { ...PAGES, pathGroupings: ['/p/*'], maxEdgeWeight: 1 },
        { ...PAGES, pathGroupings: ['/p/*'], edgeLimit: 1 },
      ],
      events,
    );
    expect(shown(grouped)).toEqual([
      ['1_/p/*', '2_/q', 2],
      ['1_/p/*', '2_/r', 1],
    ]);
    expect(shown(cleaned)).toEqual([
      ['1_/p/N', '2_/q', 2],
      ['1_/p/N', '2_/r', 1],
    ]);
    expect(shown(without)).toEqual([
      ['1_/p/1', '2_/q', 1],
      ['1_/p/3', '2_/q', 1],
    ]);
    expect([shown(heavy), shown(light), shown(few)]).toEqual([
      [['1_/p/*', '2_/q', 2]],
      [['1_/p/*', '2_/r', 1]],
      [['1_/p/*', '2_/q', 2]],
    ]);
  });

  it('are grouped by texts with signs and letters of any script', async () => {
    const [grouped] = await edgesOf(
      [{ ...PAGES, pathGroupings: ['/größe/*', '/😀-(a+b)&_/*'] }],
      viewed('a /größe/1 10:00', 'a /😀-(a+b)&_/1 10:01', 'a /😀-(aab)&_/1 10:02'),
    );
    expect(shown(grouped)).toEqual([
      ['1_/größe/*', '2_/😀-(a+b)&_/*', 1],
      ['2_/😀-(a+b)&_/*', '3_/😀-(aab)&_/1', 1],
    ]);
  });

  it('begin at a point, end at one, or go from one to the other', async () => {
    const events = viewed(
      'a /1 10:00',
      'a /2 10:01',
      'a /3 10:02',
      'a /4 10:03',
      'a /5 10:04',
      'a /6 10:05',
      'b /2 10:00',
      'b /1 10:01',
    );
    const [from, to, both] = await edgesOf(
      [
        { ...PAGES, startPoint: '/2/', stepLimit: 3 },
        { ...PAGES, endPoint: 'https://example.com/4', stepLimit: 3 },
        { ...PAGES, startPoint: '/1', endPoint: '/6', stepLimit: 4 },
      ],
      events,
    );
    expect(shown(from)).toEqual([
      ['1_/2', '2_/1', 1],
      ['1_/2', '2_/3', 1],
      ['2_/3', '3_/4', 1],
    ]);
    expect(shown(to)).toEqual([
      ['1_/2', '2_/3', 1],
      ['2_/3', '3_/4', 1],
    ]);
    expect(shown(both)).toEqual([
      ['1_/1', '2_/2', 1],
      ['2_/2', '3_...', 1],
      ['3_...', '4_/5', 1],
      ['4_/5', '5_/6', 1],
    ]);
  });

  it('tell whose they are', async () => {
    const events = viewed('a /1 10:00', 'a /2 10:01', 'b /1 10:00', 'b /3 10:01', 'b /1 10:02');
    const world = await insightWorld({ events }, { now: NOW });
    const whose = async (keys: object) => {
      const query = { kind: 'PathsQuery', dateRange: { date_from: '2026-01-01' }, pathsFilter: { ...PAGES, ...keys } };
      const question = await paths.actors?.(paths.schema.parse(query), {}, world);
      return (
        question && (await world.rows(question)).rows.map(([id]) => String(id)).toSorted((a, b) => (a < b ? -1 : 1))
      );
    };
    expect(await whose({ pathStartKey: '1_/1', pathEndKey: '2_/3' })).toEqual(['b']);
    expect(await whose({ pathDropoffKey: '2_/2' })).toEqual(['a']);
    expect(await whose({ pathEndKey: '1_/1' })).toEqual(['a', 'b']);
  });

  it.each([
    [
      'paths of a funnel',
      { funnelPathsFilter: { funnelPathType: 'funnel_path_after_step' } },
      /Paths of a funnel are not supported/,
    ],
    ['a breakdown', { breakdownFilter: { breakdown: 'plan' } }, /Breakdowns of paths are not supported/],
    ['breakdowns', { breakdownFilter: { breakdowns: [{ property: 'a' }] } }, /Breakdowns of paths are not supported/],
    ['an unknown type of events', { pathsFilter: { includeEventTypes: ['click'] } }, /"click" is not a valid choice/],
  ])('are refused where they are asked for %s', (_name, query, detail) => {
    const { error } = paths.schema.safeParse({ kind: 'PathsQuery', ...query });
    expect(error && failureOfIssues(error).body.detail).toMatch(detail);
  });
});

interface Visit {
  readonly actor: string;
  readonly at: number;
  readonly uuid: string;
  readonly page: string;
}

interface Limits {
  readonly stepLimit: number;
  readonly startPoint?: string | undefined;
  readonly endPoint?: string | undefined;
}

/** The edges, found step by step as the facts tell it. */
function naiveEdges(visits: readonly Visit[], { stepLimit, startPoint, endPoint }: Limits): Map<string, number[]> {
  const edges = new Map<string, number[]>();
  for (const own of Map.groupBy(visits, ({ actor }) => actor).values()) {
    const sorted = own.toSorted((a, b) => a.at - b.at || (a.uuid < b.uuid ? -1 : 1));
    const sessions: Visit[][] = [];
    for (const [n, visit] of sorted.entries()) {
      const before = sorted[n - 1];
      if (before === undefined || visit.at - before.at >= 30 * 60_000) sessions.push([]);
      sessions.at(-1)?.push(visit);
    }
    for (const session of sessions) {
      let path = session.filter(({ page }, n) => page !== session[n + 1]?.page);
      const isOf = (point: string) => path.findIndex(({ page }) => page === point);
      if (startPoint !== undefined) path = isOf(startPoint) < 0 ? [] : path.slice(isOf(startPoint));
      if (endPoint !== undefined) path = path.slice(0, isOf(endPoint) + 1);
      if (startPoint !== undefined && endPoint !== undefined && path.length > stepLimit) {
        const half = Math.floor(stepLimit / 2);
        const middle = { ...(path[half] as Visit), page: '...' };
        path = [...path.slice(0, half), middle, ...path.slice(path.length - half)];
      } else path = endPoint === undefined ? path.slice(0, stepLimit) : path.slice(-stepLimit);
      for (const [n, visit] of path.entries()) {
        const before = path[n - 1];
        if (before === undefined) continue;
        const key = `${n}_${before.page} ${n + 1}_${visit.page}`;
        edges.set(key, [...(edges.get(key) ?? []), visit.at - before.at]);
      }
    }
  }
  return edges;
}

it('paths are those that a naive program finds', async () => {
  const visit = fc.record({
    distinct_id: fc.constantFrom('a', 'b', 'b2', 'c'),
    // Gaps of just less than, just, and more than half an hour.
    minutes: fc.integer({ min: 0, max: 24 }).map((n) => n * 10),
    seconds: fc.constantFrom(0, 0, 59),
    page: fc.constantFrom('/1', '/2', '/3', '/4'),
  });
  const point = fc.constantFrom(undefined, '/1', '/2', '/4');
  const limits = fc.record({ stepLimit: fc.integer({ min: 2, max: 5 }), startPoint: point, endPoint: point });
  await fc.assert(
    fc.asyncProperty(
      fc.array(visit, { minLength: 10, maxLength: 60 }),
      fc.array(limits, { minLength: 4, maxLength: 4 }),
      async (some, asked) => {
        const visits = some.map(({ distinct_id, minutes, seconds, page }, n) => ({
          actor: distinct_id.startsWith('b') ? PERSON : distinct_id,
          distinct_id,
          at: Date.parse('2026-01-01T00:00:00Z') + (minutes * 60 + seconds) * 1000,
          uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
          page,
        }));
        const events = visits.map(
          ({ distinct_id, at, uuid, page }): WorldEvent => ({
            event: '$pageview',
            distinct_id,
            timestamp: at,
            uuid,
            properties: { $current_url: page },
          }),
        );
        const persons = [{ id: PERSON, distinct_ids: ['b', 'b2'] }];
        const found = await edgesOf(
          asked.map((one) => ({ ...PAGES, edgeLimit: 1000, ...one })),
          events,
          persons,
        );
        asked.forEach((one, n) => {
          const edges = new Map(
            found[n]?.map(({ source, target, value, average_conversion_time }) => [
              `${source} ${target}`,
              [value, expect.closeTo(average_conversion_time, 3)],
            ]),
          );
          const expected = new Map(
            [...naiveEdges(visits, one)].map(([key, times]) => [
              key,
              [times.length, times.reduce((sum, time) => sum + time, 0) / times.length],
            ]),
          );
          expect(expected).toEqual(edges);
        });
      },
    ),
    { numRuns: propertyRuns(10) },
  );
});
