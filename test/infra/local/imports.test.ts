/** Imports by request as a person has them: the service in a process of its own, and the worker that it starts. */
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { openImports } from '../../../infra/local/imports.ts';
import type { ImportItem } from '../../../lib/imports/model.ts';
import { keepPart } from '../../../lib/imports/spool.ts';
import { NOTHING_READ } from '../../../lib/imports/store.ts';
import { underLease } from '../../../lib/lake/lease.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { keys, places } from '../../../lib/ports/table/keys.ts';
import { temporaryFolder } from '../../support/context.ts';
import { type LocalService, startLocally } from '../../support/local-service.ts';
import { watchWrites } from '../../support/table-override.ts';

const EVENTS = 5_000;

const CONTENT = Array.from({ length: EVENTS }, (_, n) =>
  JSON.stringify({ event: 'paid', distinct_id: `u${n}`, timestamp: '2025-12-31T00:00:00Z', properties: { n } }),
).join('\n');

test('a service that is killed while it imports goes on when it is started again, and adds each event once', async () => {
  const folder = temporaryFolder();
  let service: LocalService = await startLocally(folder);
  const { key, project } = await service.welcome();
  const call = async (method: string, path: string, body?: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${service.address}/api/projects/${project}/${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as Record<string, unknown>;
  };
  const { id } = await call('POST', 'imports/', JSON.stringify({ name: 'events.jsonl', bytes: CONTENT.length }));
  await call('PUT', `imports/${String(id)}/content/`, CONTENT);
  await call('POST', `imports/${String(id)}/start/`, '{}');
  await service.line('an import has begun');
  await service.end('SIGKILL');

  service = await startLocally(folder);
  try {
    await service.line('an import has ended');
    const { added, known, ...ended } = await call('GET', `imports/${String(id)}/`);
    expect(ended).toMatchObject({ state: 'completed', attempts: 2, events: EVENTS, rejected: 0 });
    expect(Number(added) + Number(known)).toBe(EVENTS);
    const query = { kind: 'HogQLQuery', query: 'SELECT count(), count(DISTINCT uuid) FROM events' };
    const { results } = await call('POST', 'query/', JSON.stringify({ query, refresh: 'blocking' }));
    expect(results).toEqual([[EVENTS, EVENTS]]);
  } finally {
    await service.end('SIGTERM');
  }
});

test('an import whose progress breaks what notes it gives its turn back to the next one of its organization', async () => {
  const directory = openDataDirectory(
    temporaryFolder(),
    LOCAL_SETTINGS,
    logTo(() => {}, Date.now),
  );
  const { table, imports, folder } = directory;
  if (imports === null) throw new Error('a data directory takes imports');
  const place = { project_id: 7, organization_id: 'o' };
  await table.write([{ put: { ...keys.project(7), id: 7, organization_id: 'o', deleted_at: null } }]);
  const told = Promise.withResolvers<void>();
  const ended = { first: Promise.withResolvers<unknown>(), second: Promise.withResolvers<unknown>() };
  const watched = watchWrites(table, ([op]) => {
    if (op === undefined || !('set' in op) || op.set?.['attempts'] !== undefined) return;
    const { state } = op.set ?? {};
    if (state !== 'running') return ended[op.change.sk === 'IMPORT#first' ? 'first' : 'second'].resolve(state);
    told.resolve();
    if (op.change.sk === 'IMPORT#first') throw new Error('a mistake');
  });
  for (const id of ['first', 'second']) {
    const bytes = Buffer.from(CONTENT);
    const item: ImportItem = {
      ...keys.requestedImport(7, id),
      ...places.openImport(1, id),
      ...NOTHING_READ,
      ...place,
      id,
      name: id,
      bytes: bytes.length,
      state: 'queued',
      options: null,
      attempts: 0,
      created_by: 'u',
      created_at: 1,
      started_at: null,
      finished_at: null,
    };
    await keepPart(imports.files, item, 0, bytes);
    await table.write([{ put: item }]);
  }
  const running = openImports({ ...directory, table: watched }, folder);
  try {
    // Its first batch waits for a landing until it has told how far it is.
    await underLease(
      directory,
      7,
      async () => {
        await running.pass();
        await told.promise;
      },
      { purpose: 'landing' },
    );
    expect(await ended.first.promise).toBe('failed');
    await table.write([{ put: { pk: 'another', sk: 'write' } }]);
    await new Promise(setImmediate);
    await running.pass();
    expect(await ended.second.promise).toBe('completed');
  } finally {
    await running.close();
    await directory.close();
  }
});
