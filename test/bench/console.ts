/** The console in a real browser: the weight of its first page, and the time until people see what they asked for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { builtConsole } from '../../infra/build/console.ts';
import { CONSOLE_FOLDER } from '../../lib/api/console/folder.ts';
import { DAY_MS, HOUR_MS } from '../../lib/basics/units.ts';
import { launch } from '../support/browser.ts';
import { atMost, median, type Part, type Row } from './bench.ts';
import { type Service, startService } from './service.ts';

const MOST_SCRIPT_KB = 200;
const DASHBOARDS = { small: 1_000, whole: 10_000 };
/** Creates that are under way at the same time. */
const AT_ONCE = 32;
/** How many dashboards stand on a page of the console. */
const PAGE = 25;
const CHARTS = 30;
const EVENTS = 600;
const DAYS = 30;
/** Visits by which a page is measured, each with an empty cache. */
const VISITS = { small: 3, whole: 9 };

export const openingConsole: Part = async (bench) => {
  const service = await startService(bench, 'console');
  const browser = await launch();
  bench.signal.addEventListener('abort', () => void browser.close());
  const visits = bench.small ? VISITS.small : VISITS.whole;
  const total = bench.small ? DASHBOARDS.small : DASHBOARDS.whole;
  try {
    bench.say(`making a dashboard of ${CHARTS} charts`);
    const board = await boardOfCharts(service);
    bench.say(`making ${total} dashboards`);
    const path = `/api/projects/${service.projectId}/dashboards/`;
    for (let made = 0; made < total; made += AT_ONCE) {
      const some = Array.from({ length: Math.min(AT_ONCE, total - made) }, (_, n) => `Dashboard ${made + n}`);
      await Promise.all(some.map((name) => service.call('POST', path, { name })));
    }
    const list = `/projects/${service.projectId}/dashboards`;
    const rows = async (page: Page): Promise<void> => {
      await page
        .getByRole('table', { name: 'Dashboards' })
        .getByRole('link')
        .nth(PAGE - 1)
        .waitFor();
    };
    const charts = async (page: Page): Promise<void> => {
      await page
        .locator('figure svg')
        .nth(CHARTS - 1)
        .waitFor();
    };
    const toList = { what: `the list of ${total} dashboards`, path: list, isShown: rows };
    const toBoard = { what: `a dashboard of ${CHARTS} charts`, path: `${list}/${board}`, isShown: charts };
    return [
      await weight(),
      await besideBare(toList, { browser, service, visits, say: bench.say }),
      await besideBare(toBoard, { browser, service, visits, say: bench.say }),
      await farPage(toList, total / PAGE, { browser, service, visits, say: bench.say }),
    ];
  } finally {
    await browser.close();
    await service.stop();
  }
};

interface Visiting {
  readonly browser: Browser;
  readonly service: Service;
  readonly visits: number;
  readonly say: (what: string) => void;
}

interface Target {
  readonly what: string;
  readonly path: string;
  /** Resolves when all of it is there to be seen. */
  readonly isShown: (page: Page) => Promise<void>;
}

/** The scripts that the first page loads, as brotli has them. */
async function weight(): Promise<Row> {
  const { first } = await builtConsole();
  const folder = fileURLToPath(CONSOLE_FOLDER);
  const bytes = first.reduce((sum, name) => sum + brotliCompressSync(readFileSync(join(folder, name))).length, 0);
  const kb = bytes / 1000;
  return {
    what: 'scripts of the first page of the console',
    measured: `${kb.toFixed(0)} KB`,
    peer: `most ${MOST_SCRIPT_KB} KB`,
    ratio: kb / MOST_SCRIPT_KB,
    goal: atMost(1, kb / MOST_SCRIPT_KB),
    note: 'in brotli',
  };
}

/** From a navigation to what is shown, beside the same requests without a browser: page, files, API, each wave at once. */
async function besideBare(target: Target, visiting: Visiting): Promise<Row> {
  const { visits, say } = visiting;
  say(`opening ${target.what}`);
  // The first visit tells what is asked for, and fills the service's caches.
  const requests = new Map<string, Wave>();
  await opened(target, visiting, (url) => requests.set(url, waveOf(url)));
  const [shown, bare]: [number[], number[]] = [[], []];
  for (let n = 0; n < visits; n += 1) {
    shown.push(await opened(target, visiting));
    bare.push(await took(() => askedBare(requests, visiting.service)));
  }
  return {
    what: `from navigation to ${target.what}`,
    measured: `${median(shown).toFixed(0)} ms`,
    peer: `its ${requests.size} requests ${median(bare).toFixed(0)} ms`,
    ratio: median(shown) / median(bare),
    note: `medians of ${visits}, nothing cached`,
  };
}

/** A page far down a list beside its first one, each from the navigation. */
async function farPage(first: Target, page: number, visiting: Visiting): Promise<Row> {
  const { visits, say } = visiting;
  say(`opening page ${page} of ${first.what}`);
  const [near, far]: [number[], number[]] = [[], []];
  for (let n = 0; n < visits; n += 1) {
    near.push(await opened(first, visiting));
    far.push(await opened({ ...first, path: `${first.path}?page=${page}` }, visiting));
  }
  const ratio = median(far) / median(near);
  return {
    what: `to page ${page} of ${first.what}`,
    measured: `${median(far).toFixed(0)} ms`,
    peer: `to its first page ${median(near).toFixed(0)} ms`,
    ratio,
    goal: atMost(1.5, ratio),
    note: `medians of ${visits}, nothing cached`,
  };
}

const addressOf = ({ address, key }: Service, path: string): string => `${address}/#key=${key}&${path}`;

/** Returns the milliseconds from the navigation, in a browser that has nothing cached. */
async function opened(
  { path, isShown }: Target,
  { browser, service }: Visiting,
  seen: (url: string) => void = () => {},
): Promise<number> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on('request', (request) => {
    const [url = ''] = request.url().split('#');
    if (url.startsWith(service.address)) seen(url);
  });
  const ms = await took(async () => {
    await page.goto(addressOf(service, path));
    await isShown(page);
  });
  await context.close();
  return ms;
}

/** What is asked for together. */
type Wave = 'page' | 'files' | 'api';

function waveOf(url: string): Wave {
  const { pathname } = new URL(url);
  if (pathname.startsWith('/api/')) return 'api';
  return pathname === '/' ? 'page' : 'files';
}

async function askedBare(requests: ReadonlyMap<string, Wave>, { key }: Service): Promise<void> {
  for (const wave of ['page', 'files', 'api'] as const) {
    const urls = [...requests].flatMap(([url, of]) => (of === wave ? [url] : []));
    await Promise.all(
      urls.map(async (url) => (await fetch(url, { headers: { Authorization: `Bearer ${key}` } })).arrayBuffer()),
    );
  }
}

/** Returns the number of a dashboard with charts of events in the last days, each with a breakdown. */
async function boardOfCharts(service: Service): Promise<number> {
  const project = `/api/projects/${service.projectId}`;
  const { body: found } = await service.call('GET', `${project}/`);
  await service.call('POST', '/batch/', {
    api_key: found['api_token'],
    batch: Array.from({ length: EVENTS }, (_, at) => ({
      event: 'seen',
      distinct_id: `person ${at % 50}`,
      timestamp: new Date(Date.now() - (at % DAYS) * DAY_MS - HOUR_MS).toISOString(),
      properties: { browser: `Browser ${at % 7}`, number: at },
    })),
  });
  const tiles: { readonly insight: unknown }[] = [];
  for (let at = 0; at < CHARTS; at += 1) {
    const query = {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'seen' }],
      // A question of its own each.
      properties: [{ key: 'number', operator: 'gt', value: at, type: 'event' }],
      dateRange: { date_from: `-${DAYS}d` },
      breakdownFilter: { breakdown: 'browser' },
    };
    tiles.push({
      insight: (await service.call('POST', `${project}/insights/`, { name: `Insight ${at}`, query })).body['id'],
    });
  }
  const board = Number(
    (await service.call('POST', `${project}/dashboards/`, { name: 'Charts', tiles, pinned: true })).body['id'],
  );
  while (
    !(await service.call('GET', `${project}/dashboards/${board}/?refresh=force_blocking`)).text.includes('Browser 6')
  );
  return board;
}

/** Returns how long something takes, in milliseconds. */
async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
