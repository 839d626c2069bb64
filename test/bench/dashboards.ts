/**
 * A project with 10,000 dashboards: the cost of a page far down beside the first, and the bytes that a list reads. The
 * shared page of a dashboard.
 */
import { join } from 'node:path';
import { DAY_MS, HOUR_MS } from '../../lib/basics/units.ts';
import { ranges } from '../../lib/ports/table/keys.ts';
import { sizeOf } from '../../lib/ports/table/semantics.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import { atMost, median, type Part, type Row } from './bench.ts';
import { type Service, startService } from './service.ts';

const PAGE = 100;
/** Creates that are under way at the same time. */
const AT_ONCE = 32;
/** Requests by which a page is measured. */
const SAMPLES = 100;

export const listingDashboards: Part = async (bench) => {
  const total = bench.small ? 1_000 : 10_000;
  const service = await startService(bench, 'dashboards');
  bench.say(`making ${total} dashboards`);
  const path = `/api/projects/${service.projectId}/dashboards/`;
  for (let made = 0; made < total; made += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, total - made) }, (_, n) => `Dashboard ${made + n}`);
    await Promise.all(some.map((name) => service.call('POST', path, { name })));
  }

  bench.say('listing');
  const far = total - PAGE;
  const first: number[] = [];
  const last: number[] = [];
  // In turns, so that both meet the same machine.
  for (let n = 0; n < SAMPLES; n += 1) {
    first.push(await took(() => service.call('GET', `${path}?limit=${PAGE}`)));
    last.push(await took(() => service.call('GET', `${path}?limit=${PAGE}&offset=${far}`)));
  }
  const answer = (await service.call('GET', `${path}?limit=${PAGE}`)).text;
  await service.stop();

  const ratio = median(last) / median(first);
  const read = await bytesRead(service);
  const sent = Buffer.byteLength(answer) / PAGE;
  const rows: Row[] = [
    {
      what: `page at offset ${far} of ${total} dashboards`,
      measured: `${median(last).toFixed(2)} ms`,
      peer: `first page ${median(first).toFixed(2)} ms`,
      ratio,
      goal: atMost(3, ratio),
      note: `medians of ${SAMPLES}`,
    },
    {
      what: 'bytes read for a listed dashboard',
      measured: `${Math.round(read)} B`,
      peer: `its answer ${Math.round(sent)} B`,
      ratio: read / sent,
      note: 'beside the keys that are walked to count',
    },
  ];
  return rows;
};

const SHARED_TILES = 10;
const SHARED_DAYS = 30;
const SHARED_EVENTS = 600;

/** The shared page of ten charts whose answers are in the cache, beside the page of as many texts. */
export const showingShared: Part = async (bench) => {
  const service = await startService(bench, 'shared');
  const project = `/api/projects/${service.projectId}`;
  const { body: found } = await service.call('GET', `${project}/`);
  const now = Date.now();
  bench.say('capturing');
  await service.call('POST', '/batch/', {
    api_key: found['api_token'],
    batch: Array.from({ length: SHARED_EVENTS }, (_, at) => ({
      event: 'seen',
      distinct_id: `person ${at % 50}`,
      timestamp: new Date(now - (at % SHARED_DAYS) * DAY_MS - HOUR_MS).toISOString(),
      properties: { browser: `Browser ${at % 7}` },
    })),
  });
  const dashboardOf = async (tiles: object[]): Promise<number> =>
    (await service.call('POST', `${project}/dashboards/`, { name: 'Shared', tiles })).body['id'] as number;
  const pageOf = async (dashboard: number): Promise<string> => {
    const path = `${project}/dashboards/${dashboard}/sharing/`;
    return `/shared/${String((await service.call('PATCH', path, { enabled: true })).body['access_token'])}`;
  };
  const query = {
    kind: 'TrendsQuery',
    series: [{ kind: 'EventsNode', event: 'seen' }],
    dateRange: { date_from: `-${SHARED_DAYS}d` },
    breakdownFilter: { breakdown: 'browser' },
  };
  const insights: { readonly insight: unknown }[] = [];
  for (let at = 0; at < SHARED_TILES; at += 1) {
    const { body } = await service.call('POST', `${project}/insights/`, { name: `Insight ${at}`, query });
    insights.push({ insight: body['id'] });
  }
  const shown = await dashboardOf(insights);
  const read = async (path: string): Promise<string> =>
    (await fetch(new URL(path, service.address), { signal: bench.signal })).text();
  bench.say('computing');
  while (
    !(await service.call('GET', `${project}/dashboards/${shown}/?refresh=force_blocking`)).text.includes('Browser 6')
  );
  const charts = await pageOf(shown);
  const plain = await pageOf(await dashboardOf(insights.map((_, at) => ({ text: { body: `Text ${at}` } }))));
  const text = await read(charts);
  if (text.split('<svg').length <= SHARED_TILES) throw new Error('the page does not show its charts');

  bench.say('showing');
  const [withCharts, withTexts]: [number[], number[]] = [[], []];
  for (let n = 0; n < SAMPLES; n += 1) {
    withCharts.push(await took(() => read(charts)));
    withTexts.push(await took(() => read(plain)));
  }
  const processorTime = async (path: string): Promise<number> => {
    const before = service.processorMs();
    for (let n = 0; n < SAMPLES; n += 1) await read(path);
    return (service.processorMs() - before) / SAMPLES;
  };
  const [chartsMs, textsMs] = [await processorTime(charts), await processorTime(plain)];
  await service.stop();
  const ratio = median(withCharts) / median(withTexts);
  return [
    {
      what: `shared page of ${SHARED_TILES} charts from the cache`,
      measured: `${median(withCharts).toFixed(2)} ms`,
      peer: `of as many texts ${median(withTexts).toFixed(2)} ms`,
      ratio,
      goal: atMost(2, ratio),
      note: `medians of ${SAMPLES}; ${Math.round(Buffer.byteLength(text) / 1000)} KB`,
    },
    {
      what: 'its processor time',
      measured: `${chartsMs.toFixed(2)} ms`,
      peer: `of as many texts ${textsMs.toFixed(2)} ms`,
      ratio: chartsMs / textsMs,
      note: 'of the service',
    },
  ];
};

/** Returns how long a request takes, in milliseconds. */
async function took(request: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await request();
  return performance.now() - began;
}

/** Returns the bytes that the items of a first page have on average, as DynamoDB counts them. */
async function bytesRead({ dataDirectory, projectId }: Service): Promise<number> {
  const table = sqliteTable(join(dataDirectory, 'workspace.db'), { clock: Date.now });
  const { items } = await table.list(ranges.dashboardsOf(projectId), { limit: PAGE });
  table.close();
  return items.reduce((sum, item) => sum + sizeOf(item), 0) / items.length;
}
