import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import type { Service } from './service.ts';

/** An export's destination: a folder, of packed lines of JSON. */
export const folderOf = (path: string) => ({ type: 'Folder', config: { path, compression: 'gzip' } });

/** Returns the files of the lake that hold the events of the day that begins at `start`, milliseconds since 1970. */
export function filesOfDay({ dataDirectory, projectId }: Service, start: number): string[] {
  const day = new Date(start).toISOString().slice(0, 10);
  const folder = join(dataDirectory, 'lake/events', `team_id=${projectId}`, `day=${day}`, 'gen=0');
  return readdirSync(folder).map((name) => join(folder, name));
}

/** Makes an export that runs nothing by itself, and returns its path in the API. */
export async function makeExport(service: Service, interval: string, destination: object): Promise<string> {
  const exports = `/api/projects/${service.projectId}/batch_exports/`;
  const { body } = await service.call('POST', exports, {
    name: 'Events',
    interval,
    paused: true,
    destination,
  });
  return `${exports}${String(body['id'])}/`;
}

/** Backfills [start, end), milliseconds, and waits until every run has completed. Returns the seconds that it took. */
export async function backfill(service: Service, path: string, start: number, end: number, { signal }: Bench) {
  const began = performance.now();
  const { headers } = await service.call('POST', `${path}backfill/`, {
    start_at: new Date(start).toISOString(),
    end_at: new Date(end).toISOString(),
  });
  const place = headers.get('location') ?? '';
  for (;;) {
    const { body, text } = await service.call('GET', place);
    if (body['status'] === 'Completed') return (performance.now() - began) / 1000;
    if (body['status'] !== 'Starting' && body['status'] !== 'Running') throw new Error(`the backfill failed: ${text}`);
    // A look costs the service something: the longer it takes, the less often it is asked.
    await setTimeout(Math.max(20, (performance.now() - began) / 50), undefined, { signal });
  }
}
