/**
 * Makes the pictures of the README: `npm run pictures`. The service runs over an imported sample in a folder of its own,
 * and the browser of the tests looks at it.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { DAY_MS, HOUR_MS } from '../../lib/basics/units.ts';
import { launch } from '../support/browser.ts';
import { type LocalService, run, startLocally } from '../support/local-service.ts';
import { sampleEvents } from './sample.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const SIZE = { width: 1200, height: 760 };
/** A README is looked at over slow lines, too. */
const MOST_BYTES = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'pictures-'));
try {
  await makePictures();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function makePictures(): Promise<void> {
  const home = join(folder, 'home');
  const service = await startLocally(home);
  try {
    const { key, project } = await service.welcome();
    const api = caller(service, key, project);
    const sample = join(folder, 'sample.jsonl');
    const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    writeFileSync(sample, sampleEvents(now));
    const { code, errors } = await run('infra/local/admin.ts', ['import', sample, '--project', project], {
      WORKSPACE_HOME: home,
    });
    if (code !== 0) throw new Error(errors);
    await api('PATCH', '/', { name: 'Shop' });
    const board = await api('POST', '/dashboards/', { name: 'Website traffic', use_template: 'WEBSITE_TRAFFIC' });
    const delivery = await exportWithPast(api, now);

    const browser = await launch();
    try {
      const page = await (await browser.newContext({ viewport: SIZE, colorScheme: 'light' })).newPage();
      await page.goto(`${service.address}/#key=${key}&/projects/${project}/dashboards/${board}`);
      await page.locator('figure').nth(3).waitFor();
      await take(page, 'console-dashboard.png');
      await page.goto(`${service.address}/#/projects/${project}/exports/${delivery}?tab=backfills`);
      await page.getByRole('row').filter({ hasText: 'Completed' }).waitFor();
      await page.getByRole('tab', { name: 'Runs' }).click();
      await page.getByRole('row').filter({ hasText: 'Completed' }).first().waitFor();
      await take(page, 'console-export.png');
    } finally {
      await browser.close();
    }
  } finally {
    await service.end('SIGTERM');
  }
}

type Call = (method: string, path: string, body?: unknown) => Promise<string>;

/** Returns a function that asks the API about the project, and returns the id of what it answers. */
function caller({ address }: LocalService, key: string, project: string): Call {
  return async (method, path, body) => {
    const answer = await fetch(`${address}/api/projects/${project}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return String((JSON.parse(text) as { id: unknown }).id);
  };
}

/** Makes an hourly export, and delivers the last two days. Returns its id. */
async function exportWithPast(api: Call, now: number): Promise<string> {
  const files = join(folder, 'files');
  mkdirSync(files);
  const id = await api('POST', '/batch_exports/', {
    name: 'Events to files',
    interval: 'hour',
    destination: { type: 'Folder', config: { path: files } },
  });
  await api('POST', `/batch_exports/${id}/backfills/`, {
    start_at: new Date(now - 2 * DAY_MS).toISOString(),
    end_at: new Date(now).toISOString(),
  });
  return id;
}

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle');
  const path = join(DOCS, name);
  await page.screenshot({ path, animations: 'disabled' });
  const { size } = statSync(path);
  if (size > MOST_BYTES) throw new Error(`${name} has ${size} bytes, and may have ${MOST_BYTES}.`);
}
