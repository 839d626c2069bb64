/** A project with 10,000 dashboards: the cost of a page far down beside the first, and the bytes that a list reads. */
import { join } from 'node:path';
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
    first.push(await took(service, `${path}?limit=${PAGE}`));
    last.push(await took(service, `${path}?limit=${PAGE}&offset=${far}`));
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

/** Returns how long a request takes, in milliseconds. */
async function took(service: Service, path: string): Promise<number> {
  const began = performance.now();
  await service.call('GET', path);
  return performance.now() - began;
}

/** Returns the bytes that the items of a first page have on average, as DynamoDB counts them. */
async function bytesRead({ dataDirectory, projectId }: Service): Promise<number> {
  const table = sqliteTable(join(dataDirectory, 'workspace.db'), { clock: Date.now });
  const { items } = await table.list(ranges.dashboardsOf(projectId), { limit: PAGE });
  table.close();
  return items.reduce((sum, item) => sum + sizeOf(item), 0) / items.length;
}
