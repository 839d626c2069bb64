/** Answers of queries through the service beside SQL that is written by hand over the same files, and kept ones. */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { openDatabase, parquet } from '../../lib/duckdb/database.ts';
import { atLeast, atMost, count, median, type Part, type Row } from './bench.ts';
import { run } from './processes.ts';
import { type Service, startService } from './service.ts';

/** Queries, and requests, by which each is measured; of ten million events a query takes seconds. */
const SAMPLES = { small: 5, large: 3, requests: 60 };

const START = Date.UTC(2025, 5, 1);
const PERSONS = 100_000;
const series = [{ kind: 'EventsNode', event: '$pageview' }];
const signedUp = { kind: 'EventsNode', event: 'signed_up' };
/** All thirty days. */
const dateRange = { date_from: '2025-06-01', date_to: '2025-06-30' };

interface Measured {
  readonly what: string;
  readonly query: object;
  /** SQL of DuckDB over `lake`, the events, or `owned`, the events with the person whose each is. */
  readonly sql: string;
}

const DAY = `date_trunc('day', make_timestamp(timestamp_us))`;
/** How somebody writes by hand whose events are: of each distinct_id the newest state. */
const OWNED = `SELECT lake.*, coalesce(ties.person_id, lake.person_id, lake.distinct_id) AS person, created
  FROM lake LEFT JOIN (
    SELECT distinct_id, arg_max(person_id, inserted_us) AS person_id, arg_max(created_us, inserted_us) AS created
    FROM states GROUP BY distinct_id
  ) AS ties ON lake.distinct_id = ties.distinct_id`;

const MEASURED: readonly Measured[] = [
  {
    what: 'HogQL: events by day',
    query: { kind: 'HogQLQuery', query: 'SELECT toStartOfDay(timestamp) AS day, count() FROM events GROUP BY day' },
    sql: `SELECT ${DAY} AS day, count(*) FROM lake GROUP BY day`,
  },
  {
    what: 'HogQL: people by day',
    query: {
      kind: 'HogQLQuery',
      query: 'SELECT toStartOfDay(timestamp) AS day, count(DISTINCT person_id) FROM events GROUP BY day',
    },
    sql: `SELECT ${DAY} AS day, count(DISTINCT person) FROM owned GROUP BY day`,
  },
  {
    what: 'HogQL: a property',
    query: {
      kind: 'HogQLQuery',
      query: 'SELECT properties.$referrer AS referrer, count() FROM events GROUP BY referrer',
    },
    sql: `SELECT json_extract_string(properties, '$."$referrer"') AS referrer, count(*) FROM lake GROUP BY referrer`,
  },
  {
    what: 'HogQL: a hot property',
    query: { kind: 'HogQLQuery', query: 'SELECT properties.$pathname AS path, count() FROM events GROUP BY path' },
    sql: 'SELECT "properties.$pathname" AS path, count(*) FROM lake GROUP BY path',
  },
  {
    what: 'trend by day',
    query: { kind: 'TrendsQuery', series, dateRange },
    sql: `SELECT ${DAY} AS day, count(*) FROM lake WHERE event = '$pageview' GROUP BY day`,
  },
  {
    what: 'trend by a hot property',
    query: {
      kind: 'TrendsQuery',
      series,
      dateRange,
      breakdownFilter: { breakdown: '$browser', breakdown_type: 'event' },
    },
    sql: `SELECT "properties.$browser" AS browser, ${DAY} AS day, count(*) FROM lake WHERE event = '$pageview' GROUP BY browser, day`,
  },
  {
    what: 'trend by a learned property',
    query: {
      kind: 'TrendsQuery',
      series,
      dateRange,
      breakdownFilter: { breakdown: 'status', breakdown_type: 'event' },
    },
    sql: `SELECT "properties.status" AS status, ${DAY} AS day, count(*) FROM lake WHERE event = '$pageview' GROUP BY status, day`,
  },
  {
    what: 'trend of people by day',
    query: { kind: 'TrendsQuery', series: [{ ...series[0], math: 'dau' }], dateRange },
    sql: `SELECT ${DAY} AS day, count(DISTINCT person) FROM owned WHERE event = '$pageview' GROUP BY day`,
  },
  {
    what: 'funnel of two steps',
    query: { kind: 'FunnelsQuery', series: [series[0], signedUp], dateRange },
    sql: `SELECT count(DISTINCT person) FILTER (event = '$pageview'), count(DISTINCT person) FILTER (is_done) FROM (
        SELECT person, event, event = 'signed_up' AND timestamp_us - max(if(event = '$pageview', timestamp_us, NULL))
          OVER (PARTITION BY person ORDER BY timestamp_us) <= 14 * 86400000000 AS is_done
        FROM owned WHERE event IN ('$pageview', 'signed_up')
      )`,
  },
  {
    what: 'retention of thirty days',
    query: {
      kind: 'RetentionQuery',
      dateRange: { date_to: '2025-06-30' },
      retentionFilter: {
        period: 'Day',
        totalIntervals: 30,
        targetEntity: { id: '$pageview', type: 'events' },
        returningEntity: { id: '$pageview', type: 'events' },
      },
    },
    sql: `WITH days AS (
        SELECT DISTINCT person, ${DAY} AS day FROM owned WHERE event = '$pageview'
      ) SELECT a.day, b.day, count(*) FROM days a JOIN days b USING (person) WHERE b.day >= a.day GROUP BY 1, 2`,
  },
  {
    what: 'stickiness',
    query: { kind: 'StickinessQuery', series, dateRange },
    sql: `SELECT days, count(*) FROM (
        SELECT person, count(DISTINCT ${DAY}) AS days FROM owned WHERE event = '$pageview' GROUP BY person
      ) GROUP BY days`,
  },
  {
    what: 'lifecycle',
    query: { kind: 'LifecycleQuery', series, dateRange },
    sql: `WITH days AS (
        SELECT person, ${DAY} AS day, min(created) AS created FROM owned WHERE event = '$pageview' GROUP BY person, day
      ), near AS (
        SELECT day, lag(day) OVER own AS before, lead(day) OVER own AS after,
          date_trunc('day', make_timestamp(created)) AS first
        FROM days WINDOW own AS (PARTITION BY person ORDER BY day)
      ) SELECT day, first = day, before = day - INTERVAL 1 DAY, after = day + INTERVAL 1 DAY, count(*) FROM near GROUP BY ALL`,
  },
];

const LEARNED_READS = 30;

export const querying: Part = async (bench) => {
  const events = bench.small ? 1_000_000 : 10_000_000;
  const service = await startService(bench, 'queries');
  // Read so often that files which are written from now on have a column of it.
  const read = { kind: 'HogQLQuery', query: 'SELECT properties.status FROM events' };
  for (let n = 0; n < LEARNED_READS; n += 1)
    await service.call('POST', `/api/projects/${service.projectId}/query/`, { query: read, refresh: 'force_blocking' });
  bench.say(`making ${count(events)} events of ${count(PERSONS)} people`);
  const { dataDirectory, projectId } = service;
  await run('month.ts', { dataDirectory, projectId, events, persons: PERSONS, start: START }, bench);

  const database = await openDatabase({ places: [join(dataDirectory, 'lake')], memoryLimit: '500MB' });
  const connection = await database.connect();
  for (const [name, model] of [
    ['lake', 'events'],
    ['states', 'persons'],
  ] as const) {
    const paths = globSync(join(dataDirectory, `lake/${model}/**/*.parquet`));
    await connection.run(`CREATE VIEW ${name} AS SELECT * FROM ${parquet(paths)}`);
  }
  await connection.run(`CREATE VIEW owned AS ${OWNED}`);
  const rows: Row[] = [];
  for (const measured of MEASURED) {
    bench.say(measured.what);
    rows.push(await besideSql(service, connection, measured, events, bench.small ? SAMPLES.small : SAMPLES.large));
  }
  connection.closeSync();
  database.closeSync();
  bench.say('a kept answer');
  rows.push(await keptBesideDashboard(service));
  bench.say('a dashboard');
  rows.push(await dashboardBesideQueries(service));
  const peakMb = await service.stop();
  return rows.map((row, n) => (n === 0 ? { ...row, note: `peak memory of all processes ${count(peakMb)} MB` } : row));
};

async function besideSql(
  service: Service,
  connection: DuckDBConnection,
  { what, query, sql }: Measured,
  events: number,
  samples: number,
): Promise<Row> {
  const path = `/api/projects/${service.projectId}/query/`;
  const ours: number[] = [];
  const theirs: number[] = [];
  // In turns, so that both meet the same machine; the first of each warms up.
  for (let n = 0; n <= samples; n += 1) {
    const [own, peer] = [
      await took(() => service.call('POST', path, { query, refresh: 'force_blocking' })),
      await took(() => connection.runAndReadAll(sql)),
    ];
    if (n === 0) continue;
    ours.push(own);
    theirs.push(peer);
  }
  const ratio = median(theirs) / median(ours);
  return {
    what: `${what}, ${count(events)} events`,
    measured: `${median(ours).toFixed(0)} ms`,
    peer: `SQL by hand ${median(theirs).toFixed(0)} ms`,
    ratio,
    goal: atLeast(0.8, ratio),
  };
}

/** An insight with a kept answer, on a dashboard that shows it, beside the dashboard without one. */
async function keptBesideDashboard(service: Service): Promise<Row> {
  const project = `/api/projects/${service.projectId}`;
  const source = { kind: 'HogQLQuery', query: 'SELECT event, count() FROM events GROUP BY event' };
  const { body: insight } = await service.call('POST', `${project}/insights/`, { query: source });
  const { body: dashboard } = await service.call('POST', `${project}/dashboards/`, { name: 'Empty' });
  const path = `${project}/insights/${String(insight['id'])}/?refresh=blocking`;
  await service.call('GET', path);
  const kept: number[] = [];
  const plain: number[] = [];
  for (let n = 0; n < SAMPLES.requests; n += 1) {
    kept.push(await took(() => service.call('GET', path)));
    plain.push(await took(() => service.call('GET', `${project}/dashboards/${String(dashboard['id'])}/`)));
  }
  const ratio = median(kept) / median(plain);
  return {
    what: 'insight with a kept answer',
    measured: `${median(kept).toFixed(2)} ms`,
    peer: `retrieving a dashboard ${median(plain).toFixed(2)} ms`,
    ratio,
    goal: atMost(1.3, ratio),
    note: `medians of ${SAMPLES.requests}`,
  };
}

const pageviews = { ...series[0], math: 'dau' };
/** Ten questions over the same days, most of them about persons. */
const TILES: readonly object[] = [
  ...['day', 'week', 'hour'].map((interval) => ({ kind: 'TrendsQuery', series: [pageviews], dateRange, interval })),
  { kind: 'TrendsQuery', series, dateRange },
  { kind: 'TrendsQuery', series: [pageviews], dateRange, trendsFilter: { display: 'BoldNumber' } },
  { kind: 'TrendsQuery', series: [pageviews], dateRange, trendsFilter: { display: 'ActionsLineGraphCumulative' } },
  { kind: 'StickinessQuery', series, dateRange },
  { kind: 'StickinessQuery', series, dateRange, stickinessFilter: { computedAs: 'cumulative' } },
  { kind: 'FunnelsQuery', series: [series[0], signedUp], dateRange },
  { kind: 'RetentionQuery', dateRange, retentionFilter: { period: 'Day', totalIntervals: 30 } },
];

/** All tiles of a dashboard, computed at once, beside the mean of the same questions, each after others were asked. */
async function dashboardBesideQueries(service: Service): Promise<Row> {
  const project = `/api/projects/${service.projectId}`;
  const { body: dashboard } = await service.call('POST', `${project}/dashboards/`, { name: 'Ten' });
  const id = Number(dashboard['id']);
  for (const query of TILES) await service.call('POST', `${project}/insights/`, { query, dashboards: [id] });
  // A question about fewer days looks at other files, so that nothing of all of them is kept.
  const other = { kind: 'TrendsQuery', series: [pageviews], dateRange: { ...dateRange, date_to: '2025-06-02' } };
  const forget = async (): Promise<void> => {
    for (let n = 0; n < 2; n += 1)
      await service.call('POST', `${project}/query/`, { query: other, refresh: 'force_blocking' });
  };
  const singles: number[] = [];
  for (const query of TILES) {
    await forget();
    singles.push(await took(() => service.call('POST', `${project}/query/`, { query, refresh: 'force_blocking' })));
  }
  await forget();
  const whole = await took(() => service.call('GET', `${project}/dashboards/${id}/?refresh=force_blocking`));
  const mean = singles.reduce((sum, one) => sum + one, 0) / singles.length;
  const ratio = whole / mean;
  return {
    what: 'a dashboard of ten tiles, cold, in single queries',
    measured: `${whole.toFixed(0)} ms`,
    peer: `a single query ${mean.toFixed(0)} ms`,
    ratio,
    goal: atMost(5, ratio),
  };
}

/** Returns how long something takes, in milliseconds. */
async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
