/** Imports by request, over HTTP, with the runner in this process. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { wireInstant } from '../../../lib/http/instant.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import type { Imports } from '../../../lib/imports/imports.ts';
import { type ImportTask, runImport } from '../../../lib/imports/run.ts';
import { ImportRunner } from '../../../lib/imports/runner.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { ImportUnderWay } from '../../../lib/lake/lease.ts';
import { Failure } from '../../../lib/ports/errors.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { Busy, type Op } from '../../../lib/ports/table/table.ts';
import { removeLeftovers } from '../../../lib/purge/leftovers.ts';
import { receivedError, sentError } from '../../../lib/workers/errors.ts';
import { temporaryFolder, testContext } from '../../support/context.ts';
import { byProject, newExport } from '../../support/exports.ts';
import { type Service, testService } from '../../support/service.ts';
import { actBefore, watchWrites } from '../../support/table-override.ts';

const MIB = 1024 * 1024;

const line = (n: number, more: object = {}): string =>
  `${JSON.stringify({ event: 'paid', distinct_id: `u${n}`, timestamp: '2025-12-31T00:00:00Z', properties: { n }, ...more })}\n`;

type Body = Record<string, unknown>;

async function world(overrides: Parameters<typeof testContext>[0] = {}) {
  const context = testContext(overrides);
  const service = await testService(context);
  const files = context.imports?.files as FileStore;
  const base = `/api/projects/${service.project.id}/imports/`;
  const runs: ImportTask[] = [];
  const runner = (run?: ConstructorParameters<typeof ImportRunner>[0]['run'], table = context.table) =>
    new ImportRunner({
      ...context,
      table,
      files,
      run:
        run ??
        ((task, { onProgress }) => {
          runs.push(task);
          return runImport(context, task, {
            files,
            folder: temporaryFolder(),
            onProgress: (at) => void onProgress(at),
          });
        }),
    });
  const own = runner();
  const call = async (method: string, path: string, body?: unknown, key?: string) => {
    const reply = await service.call(method, `${base}${path}`, {
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    });
    return { status: reply.status, body: reply.body as Body, text: reply.text, headers: reply.headers };
  };
  const create = async (name: string, bytes: number) => String((await call('POST', '', { name, bytes })).body['id']);
  const upload = async (name: string, content: string): Promise<string> => {
    const id = await create(name, Buffer.byteLength(content));
    expect((await call('PUT', `${id}/content/?offset=0`, content)).status).toBe(200);
    return id;
  };
  return {
    context,
    service,
    files,
    runs,
    runner,
    call,
    create,
    upload,
    read: async (id: string) => (await call('GET', `${id}/`)).body,
    pass: async () => {
      await own.pass();
      await own.idle();
    },
    rows: async () =>
      (await allFiles(context.table, service.project.id, 'events')).reduce((sum, file) => sum + file.rows, 0),
    paths: async () => {
      const found: string[] = [];
      for await (const { path } of files.list('')) found.push(path);
      return found;
    },
  };
}

/** A disk with so many bytes for files of imports. */
const withRoom = (bytes: number) => {
  const imports = testContext().imports as Imports;
  return { imports: { ...imports, freeBytes: () => Promise.resolve(bytes + 1e9) } };
};

/** Uploads and starts an import into a project. */
async function startOne(service: Service, project: number, key: string): Promise<void> {
  const path = `/api/projects/${project}/imports/`;
  const made = await service.call('POST', path, { key, body: { name: 'x', bytes: 5 } });
  const one = `${path}${String(made.body?.['id'])}/`;
  await service.call('PUT', `${one}content/`, { key, body: 'right' });
  expect((await service.call('POST', `${one}start/`, { key, body: {} })).status).toBe(200);
}

/** A runner whose imports run until they are ended, by their projects; `begun` are those of all that have begun. */
function endable(runner: Awaited<ReturnType<typeof world>>['runner']) {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const one = runner((task) => {
    begun.push(task.project_id);
    return new Promise((_resolve, reject) => {
      ends.set(task.project_id, () => reject(new Failure('validation', { detail: 'The file is none.' })));
    });
  });
  /** Resolves when the next one has begun. */
  const end = async (project: number | undefined): Promise<void> => {
    const before = begun.length;
    ends.get(project as number)?.();
    for (let n = 0; n < 100 && begun.length === before; n += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await one.pass();
    }
  };
  return { begun, one, end };
}

/** Makes another organization, whose owner has the key. */
async function another(service: Service) {
  const key = await service.newKey(await service.newUser());
  const made = await service.call('POST', '/api/organizations/', { key, body: { name: 'Other' } });
  const projects = await service.call('GET', `/api/organizations/${String(made.body?.['id'])}/projects/`, { key });
  const [{ id: project } = { id: 0 }] = (projects.body?.['results'] ?? []) as { id: number }[];
  return { project, path: `/api/projects/${project}/imports/`, key };
}

describe('an import by request', () => {
  test('takes a file, shows its first records, imports it, and tells what became of it', async () => {
    const { call, upload, read, pass, rows, paths } = await world();
    const id = await upload('events.jsonl', `${line(1)}${line(2)}no event\n${line(3)}`);
    const preview = await call('POST', `${id}/preview/`, {});
    expect(preview.body).toMatchObject({
      format: 'jsonl',
      columns: null,
      problem: null,
      records: [
        { line: 1, event: 'paid', distinct_id: 'u1', timestamp: '2025-12-31T00:00:00Z', properties: '{"n":1}' },
        { line: 2 },
        { line: 3, event: null, reason: expect.stringContaining('not JSON') },
        { line: 4 },
      ],
    });
    expect(await read(id)).toMatchObject({
      state: 'uploading',
      name: 'events.jsonl',
      created_by: { first_name: 'Olivia' },
    });
    expect((await call('POST', `${id}/start/`, {})).body).toMatchObject({ state: 'queued' });
    await pass();
    expect(await read(id)).toMatchObject({
      state: 'completed',
      format: 'jsonl',
      attempts: 1,
      events: 3,
      added: 3,
      known: 0,
      rejected: 1,
      rejections: [{ line: 3, reason: expect.stringContaining('not JSON') }],
      rejected_bytes: 9,
      backfills: [],
      error: null,
    });
    expect(await rows()).toBe(3);
    expect(await call('GET', `${id}/rejected/`)).toMatchObject({ status: 200, text: 'no event\n' });
    expect(await paths()).toEqual([expect.stringMatching(/rejected$/)]);
  });

  test('that added events is told by its project, which says that it has some', async () => {
    const { service, call, upload, pass } = await world();
    const ingested = async () => (await service.call('GET', '/api/projects/1/')).body?.['ingested_event'];
    for (const [content, expected] of [
      ['no event\n', false],
      [line(1), true],
    ] as const) {
      const id = await upload('events.jsonl', content);
      await call('POST', `${id}/start/`, {});
      await pass();
      expect(await ingested()).toBe(expected);
    }
  });

  test('that has ended is deleted with what was rejected of it, what it added stays; one that is open is not', async () => {
    const { call, upload, pass, rows, paths } = await world();
    const id = await upload('events.jsonl', `${line(1)}no event\n`);
    expect((await call('DELETE', `${id}/`)).body).toMatchObject({
      detail: 'The import is uploading: cancel it before you delete it.',
    });
    await call('POST', `${id}/start/`, {});
    expect(await call('DELETE', `${id}/`)).toMatchObject({ status: 409 });
    await pass();
    expect((await paths()).length).toBe(1);
    expect(await call('DELETE', `${id}/`)).toMatchObject({ status: 204 });
    expect(await call('GET', `${id}/`)).toMatchObject({ status: 404 });
    expect(await call('GET', `${id}/rejected/`)).toMatchObject({ status: 404 });
    expect([await paths(), await rows()]).toEqual([[], 1]);
  });

  test('leaves no folder when it has ended and nothing was rejected of it', async () => {
    const { call, upload, pass, files, service } = await world();
    const [done, cancelled] = [await upload('a.jsonl', line(1)), await upload('b.jsonl', line(2))];
    const folders = [done, cancelled].map((id) => files.address(`team_id=${service.project.id}/${id}`));
    expect(folders.map((folder) => existsSync(folder))).toEqual([true, true]);
    await call('POST', `${done}/start/`, {});
    await pass();
    await call('POST', `${cancelled}/cancel/`);
    expect(folders.map((folder) => existsSync(folder))).toEqual([false, false]);
  });

  test('adds nothing when the same file is imported again', async () => {
    const { call, upload, read, pass, rows } = await world();
    for (const known of [0, 2]) {
      const id = await upload('events.jsonl', `${line(1)}${line(2)}`);
      await call('POST', `${id}/start/`, {});
      await pass();
      expect(await read(id)).toMatchObject({ state: 'completed', added: 2 - known, known });
    }
    expect(await rows()).toBe(2);
  });

  test('says of a file that is there whole, and has no line but empty ones, that there is no record in it', async () => {
    const { call, upload } = await world();
    const id = await upload('empty.jsonl', '\n\n\n');
    const shown = await call('POST', `${id}/preview/`, {});
    expect(shown.body).toMatchObject({ format: null, records: [], problem: 'There is no record in it.' });
  });

  test('shows the columns of a table, and takes which of them are fields', async () => {
    const { call, upload, read, pass, rows } = await world();
    const id = await upload('table.csv', 'Action;Who;When\npaid;ada;2025-12-31\n');
    expect((await call('POST', `${id}/preview/`, {})).body).toMatchObject({
      format: null,
      columns: ['Action', 'Who', 'When'],
      records: [],
      problem: expect.stringContaining('no known format'),
    });
    const reading = { format: 'csv', columns: { event: 'Action', distinct_id: 'Who', timestamp: 'When' } };
    expect((await call('POST', `${id}/preview/`, reading)).body).toMatchObject({
      format: 'csv',
      records: [{ line: 2, event: 'paid', distinct_id: 'ada' }],
    });
    await call('POST', `${id}/start/`, reading);
    await pass();
    expect(await read(id)).toMatchObject({ state: 'completed', added: 1 });
    expect(await rows()).toBe(1);
  });

  test('says that the file is gone, when it is cancelled while its first records are read', async () => {
    const imports = (await world()).context.imports as Imports;
    const { call, upload } = await world({
      imports: {
        ...imports,
        preview: async (asked, organization) => {
          await call('POST', `${id}/cancel/`);
          return imports.preview(asked, organization);
        },
      },
    });
    const id = await upload('events.jsonl', line(1));
    expect(await call('POST', `${id}/preview/`, {})).toMatchObject({
      status: 409,
      body: { code: 'conflict', detail: 'The uploaded file is gone. Import it anew.' },
    });
  });

  test('refuses a mapping that names what is no field, by name', async () => {
    const { call, upload } = await world();
    const id = await upload('events.jsonl', line(1));
    expect(await call('POST', `${id}/start/`, { columns: { evnt: 'x' } })).toMatchObject({
      status: 400,
      body: { attr: 'columns', detail: expect.stringContaining('evnt is no field') },
    });
    expect(await call('POST', `${id}/start/`, { columns: { event: 7 } })).toMatchObject({
      status: 400,
      body: { attr: 'columns' },
    });
  });

  test('takes a file in parts, of which one may be sent again, and says where the next one begins', async () => {
    const { service, context, call, create, read, pass } = await world();
    const packed = gzipSync(Array.from({ length: 20_000 }, (_, n) => line(n, { uuid: context.newId() })).join(''), {
      level: 0,
    });
    const id = await create('events.jsonl.gz', packed.length);
    const path = `${service.address}/api/projects/${service.project.id}/imports/${id}/content/`;
    const put = async (from: number, to: number) => {
      const reply = await fetch(`${path}?offset=${from}`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${service.key}` },
        body: packed.subarray(from, to),
      });
      return { status: reply.status, body: (await reply.json()) as Body };
    };
    expect(await read(id)).toMatchObject({ bytes_uploaded: 0 });
    expect(await put(0, MIB)).toMatchObject({ status: 200, body: { bytes_uploaded: MIB, bytes: packed.length } });
    expect(await read(id)).toMatchObject({ bytes_uploaded: MIB });
    expect((await call('GET', '')).body).toMatchObject({ results: [{ id, bytes_uploaded: MIB }] });
    expect((await call('POST', `${id}/preview/`, {})).body).toMatchObject({ format: 'jsonl', problem: null });
    expect(await put(0, MIB)).toMatchObject({ status: 200, body: { bytes_uploaded: MIB } });
    expect(await put(2 * MIB, packed.length)).toMatchObject({
      status: 409,
      body: { detail: `The next part begins at ${MIB}.` },
    });
    expect(await put(MIB, MIB + 5)).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('at least') },
    });
    expect(await call('POST', `${id}/start/`, {})).toMatchObject({
      status: 409,
      body: { detail: `${MIB} of the file’s ${packed.length} bytes are uploaded. Upload the rest first.` },
    });
    expect(await put(MIB, packed.length)).toMatchObject({ status: 200, body: { bytes_uploaded: packed.length } });
    expect((await call('POST', `${id}/start/`, {})).body).toMatchObject({ bytes_uploaded: packed.length });
    await pass();
    // What is imported is removed.
    expect(await read(id)).toMatchObject({ state: 'completed', added: 20_000, rejected: 0, bytes_uploaded: 0 });
  });

  test('gives rejected lines in pieces of whole lines', async () => {
    const { call, create, files, service } = await world();
    const id = await create('x', 5);
    const lines = Array.from({ length: 5 }, (_, n) => `${String(n).repeat(MIB)}\n`);
    await files.write(`team_id=${service.project.id}/${id}/rejected`, lines.join(''));
    let text = '';
    let next: string | null = '0';
    while (next !== null) {
      const reply = await call('GET', `${id}/rejected/?offset=${next}`);
      expect(reply.text.endsWith('\n')).toBe(true);
      text += reply.text;
      next = reply.headers.get('x-next-offset');
    }
    expect(text).toBe(lines.join(''));
  });

  test('refuses what is too large, too much, or has no room on the disk, in sentences', async () => {
    const { call, context, create } = await world();
    const { imports } = context;
    expect(await call('POST', '', { name: 'x', bytes: 10e9 + 1 })).toMatchObject({
      status: 413,
      body: { attr: 'bytes', detail: expect.stringContaining('one import takes 10,000,000,000 bytes at most') },
    });
    const id = await create('x', 3);
    expect(await call('PUT', `${id}/content/?offset=0`, 'four')).toMatchObject({
      status: 400,
      body: { attr: 'offset' },
    });
    for (let n = 1; n < 10; n += 1) expect((await call('POST', '', { name: 'x', bytes: 3 })).status).toBe(201);
    expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('10 imports of the organization have not ended') },
    });
    const full = await world({ imports: { ...(imports as Imports), freeBytes: () => Promise.resolve(1e9) } });
    expect(await full.call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('no room') },
    });
  });

  test('of an organization that has others leaves half of the room on the disk to other organizations', async () => {
    const { service, call } = await world(withRoom(100e9));
    const statuses: number[] = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await call('POST', '', { name: 'x', bytes: 10e9 })).status);
    expect(statuses).toEqual([201, 201, 201, 201]);
    const fifth = await call('POST', '', { name: 'x', bytes: 10e9 });
    expect(fifth).toMatchObject({ status: 429, body: { detail: expect.stringContaining('half of the room') } });
    expect(fifth.headers.get('retry-after')).toBe('60');
    // Also where another of its members asks, who has none.
    const member = await service.newKey(await service.newUser(LEVELS.admin));
    expect(await call('POST', '', { name: 'x', bytes: 10e9 }, member)).toMatchObject({ status: 429 });
    const { path, key } = await another(service);
    const theirs = await service.call('POST', path, { key, body: { name: 'x', bytes: 10e9 } });
    expect(theirs).toMatchObject({ status: 201 });
  });

  test('is one of ten at most, also when many are made at once', async () => {
    const later = () => new Promise<number>((resolve) => setImmediate(() => resolve(100e9)));
    const { call } = await world({ imports: { ...(testContext().imports as Imports), freeBytes: later } });
    const made = Array.from({ length: 14 }, () => call('POST', '', { name: 'x', bytes: 3 }));
    const statuses = (await Promise.all(made)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 10 }, () => 201), 429, 429, 429, 429]);
  });

  test('has its room on the disk, which others that are made at once do not get', async () => {
    const { service, call } = await world(withRoom(25e9));
    const { path, key } = await another(service);
    const replies = await Promise.all([
      call('POST', '', { name: 'x', bytes: 10e9 }),
      service.call('POST', path, { key, body: { name: 'x', bytes: 10e9 } }),
    ]);
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 503]);
  });

  test('keeps its room for ten minutes, and then for what is uploaded of it and comes next', async () => {
    const { service, context, call, create } = await world(withRoom(25e9));
    const { path, key } = await another(service);
    const theirs = () => service.call('POST', path, { key, body: { name: 'x', bytes: 10e9 } });
    const id = await create('x', 10e9);
    expect((await call('PUT', `${id}/content/?offset=0`, 'x'.repeat(MIB))).status).toBe(200);
    const refused = await theirs();
    expect(refused).toMatchObject({ status: 503, body: { detail: expect.stringContaining('kept for other imports') } });
    expect(refused.headers.get('retry-after')).toBe('60');
    context.clock.advance(10 * MINUTE_MS);
    expect((await theirs()).status).toBe(201);
  });

  test('of a user who has others, in other organizations too, leaves half of the room on the disk', async () => {
    const { service, call } = await world(withRoom(100e9));
    for (let n = 0; n < 4; n += 1) expect((await call('POST', '', { name: 'x', bytes: 10e9 })).status).toBe(201);
    const mine = await service.call('POST', '/api/organizations/', { body: { name: 'Mine too' } });
    const { body } = await service.call('GET', `/api/organizations/${String(mine.body?.['id'])}/projects/`);
    const [{ id: second } = { id: 0 }] = (body?.['results'] ?? []) as { id: number }[];
    expect(
      await service.call('POST', `/api/projects/${second}/imports/`, { body: { name: 'x', bytes: 10e9 } }),
    ).toMatchObject({ status: 429, body: { detail: expect.stringContaining('half of the room') } });
    const { path, key } = await another(service);
    expect((await service.call('POST', path, { key, body: { name: 'x', bytes: 10e9 } })).status).toBe(201);
  });

  test('takes parts of 8 MiB, and none that is larger', async () => {
    const { create, call } = await world();
    const id = await create('x', 20 * MIB);
    expect(await call('PUT', `${id}/content/?offset=0`, 'x'.repeat(8 * MIB + 1))).toMatchObject({
      status: 413,
      body: { detail: 'A part has 8 MiB at most. Send the file in several parts.' },
    });
    expect((await call('PUT', `${id}/content/?offset=0`, 'x'.repeat(8 * MIB))).status).toBe(200);
  });

  test('takes no part that would fill the disk, which has filled since it was made', async () => {
    let free = 2e9;
    const imports = { ...(testContext().imports as Imports), freeBytes: () => Promise.resolve(free) };
    const { create, call } = await world({ imports });
    const id = await create('x', 3);
    free = 1e9 + 2;
    expect(await call('PUT', `${id}/content/?offset=0`, 'abc')).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining('no room for the part') },
    });
    free = 1e9 + 3;
    expect((await call('PUT', `${id}/content/?offset=0`, 'abc')).status).toBe(200);
    // Whose answer was lost, that is sent again and is there.
    free = 1e9;
    expect((await call('PUT', `${id}/content/?offset=0`, 'abc')).status).toBe(200);
  });

  test('may be larger than half of the room when its organization has no other', async () => {
    const { call } = await world(withRoom(20e9));
    expect(await call('POST', '', { name: 'x', bytes: 10e9 })).toMatchObject({ status: 201 });
  });

  test.each([
    ['cancelled', 'POST', 'cancel/', 'queued', 'completed'],
    ['deleted', 'DELETE', '', 'failed', 'queued'],
  ] as const)('is not %s when it is something else just before', async (_, method, action, before, state) => {
    const { service, context, call, upload, read } = await world();
    const id = await upload('x', line(1));
    const key = keys.requestedImport(service.project.id, id);
    const become = (next: string) => context.table.write([{ change: key, set: { state: next } }]);
    await become(before);
    const isAct = (ops: readonly Op[]) =>
      ops.some((op) => ('change' in op && op.set?.['state'] === 'cancelled') || 'remove' in op);
    actBefore(context.table, isAct, () => become(state));
    expect(await call(method, `${id}/${action}`)).toMatchObject({
      status: 409,
      body: { detail: `The import is ${state} by now.` },
    });
    expect(await read(id)).toMatchObject({ state });
  });

  test('of a project that is deleted just before is neither made nor started', async () => {
    const { service, context, call, upload } = await world();
    const id = await upload('x', line(1));
    const second = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, {
      body: { name: 'Second' },
    });
    const path = `/api/projects/${String(second.body?.['id'])}/`;
    const deleted = (place: string) => async () =>
      expect((await service.call('DELETE', place)).status).toBeLessThan(300);
    actBefore(context.table, (ops) => ops.some((op) => 'put' in op && op.put['state'] === 'uploading'), deleted(path));
    expect((await service.call('POST', `${path}imports/`, { body: { name: 'x', bytes: 3 } })).status).toBe(404);
    const isStart = (ops: readonly Op[]) => ops.some((op) => 'change' in op && op.set?.['state'] === 'queued');
    actBefore(context.table, isStart, deleted(`/api/projects/${service.project.id}/`));
    expect((await call('POST', `${id}/start/`, {})).status).toBe(409);
    expect((await listAll(context.table, ranges.openImports())).map(({ state }) => state)).toEqual(['uploading']);
  });

  test('is refused by name where it is not offered', async () => {
    const { call } = await world({ imports: null });
    expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('not offered on AWS yet') },
    });
  });

  test('is not seen from another project, and ends with its own', async () => {
    const { context, service, call, upload, paths } = await world();
    const id = await upload('events.jsonl', line(1));
    const other = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, { body: {} });
    const elsewhere = await service.call('GET', `/api/projects/${String(other.body?.['id'])}/imports/${id}/`);
    expect(elsewhere.status).toBe(404);
    const member = await service.newKey(await service.newUser(LEVELS.member), { scopes: ['batch_import:read'] });
    expect((await call('GET', `${id}/`, undefined, member)).status).toBe(200);
    expect((await call('POST', `${id}/start/`, {}, member)).status).toBe(403);
    const deleted = { organization: service.organization.id, project: service.project.id, isSettled: true, root: [] };
    expect(await paths()).toHaveLength(1);
    for await (const _ of removeLeftovers(context, deleted));
    expect(await paths()).toEqual([]);
  });
});

describe('an import that is under way', () => {
  test('is gone on with by the next service, and adds nothing twice', async () => {
    const { context, service, files, call, upload, read, pass, runner, rows } = await world();
    const exported = await newExport(service, { interval: 'hour' }, byProject(service));
    const old = { timestamp: '2025-05-17T10:05:00Z' };
    const id = await upload('events.jsonl', `${line(1, old)}${line(2, old)}`);
    await call('POST', `${id}/start/`, {});
    // It dies when all is in the lake, before anybody has noted it.
    const imported = Promise.withResolvers<void>();
    const killed = runner(async (task) => {
      await runImport(context, task, { files, folder: temporaryFolder(), onProgress: () => {} });
      imported.resolve();
      return new Promise(() => {});
    });
    await killed.pass();
    await imported.promise;
    expect(await read(id)).toMatchObject({ state: 'running', attempts: 1 });
    await pass();
    expect(await read(id)).toMatchObject({
      state: 'completed',
      attempts: 2,
      added: 0,
      known: 2,
      backfills: [{ export: exported, start: '2025-05-17T10:00:00Z', end: '2025-05-17T11:00:00Z' }],
    });
    expect(await rows()).toBe(2);
    // Whoever sends the file once more has added nothing.
    const again = await upload('events.jsonl', `${line(1, old)}${line(2, old)}`);
    await call('POST', `${again}/start/`, {});
    await pass();
    expect(await read(again)).toMatchObject({ state: 'completed', known: 2, backfills: [] });
  });

  test('is stopped by a cancel, and what was uploaded goes', async () => {
    const { call, upload, read, runner, paths } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    let told: (() => Promise<void>) | undefined;
    const waiting = runner(
      (_task, { signal, onProgress }) =>
        new Promise((_resolve, reject) => {
          told = () => onProgress({ bytes: 7, totalBytes: 9, events: 5, bad: 1 });
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    await waiting.pass();
    await told?.();
    expect(await read(id)).toMatchObject({ state: 'running', bytes_read: 7, events: 5, rejected: 1 });
    expect((await call('POST', `${id}/cancel/`)).body).toMatchObject({ state: 'cancelled' });
    await told?.();
    await waiting.idle();
    expect(await read(id)).toMatchObject({ state: 'cancelled', events: 5 });
    expect(await paths()).toEqual([]);
    expect(await call('POST', `${id}/cancel/`)).toMatchObject({ status: 409 });
    expect(await call('POST', `${id}/start/`, {})).toMatchObject({ status: 409 });
  });

  test('goes on when it cannot be noted for a moment how far it is', async () => {
    const { context, files, call, upload, read, runner } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    const errors: Error[] = [new Busy(), new Error('ENOSPC: no space left on device, write')];
    const table = watchWrites(context.table, ([op]) => {
      const isProgress = op !== undefined && 'set' in op && op.set?.['events'] === 5 && op.set['added'] === undefined;
      const error = isProgress ? errors.shift() : undefined;
      if (error !== undefined) throw error;
    });
    const failing = runner(async (task, { onProgress }) => {
      for (const bytes of [1, 2, 3]) await onProgress({ bytes, totalBytes: 9, events: 5, bad: 1 });
      expect(await read(id)).toMatchObject({ state: 'running', bytes_read: 3, events: 5 });
      return runImport(context, task, { files, folder: temporaryFolder(), onProgress: () => {} });
    }, table);
    await failing.pass();
    await failing.idle();
    expect(errors).toEqual([]);
    expect(await read(id)).toMatchObject({ state: 'completed', attempts: 1, added: 1 });
  });

  test('waits while another one holds its project, when the disk is full, and when the table is busy', async () => {
    const { context, call, upload, read, runner } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    const errors: Error[] = [
      new ImportUnderWay('held'),
      new Error('ENOSPC: no space left on device, write'),
      // As it comes from a worker.
      receivedError(sentError(new Busy('another process is writing'))),
    ];
    let times = 0;
    const failing = runner(() => {
      times += 1;
      return Promise.reject(errors.shift() ?? new Error('a mistake'));
    });
    const pass = async () => {
      await failing.pass();
      await failing.idle();
    };
    await pass();
    expect(await read(id)).toMatchObject({
      state: 'queued',
      attempts: 0,
      error: 'Another import into the project runs.',
    });
    await pass();
    expect(times).toBe(1);
    context.clock.advance(MINUTE_MS);
    await pass();
    expect(await read(id)).toMatchObject({
      state: 'queued',
      attempts: 1,
      error: 'The disk of the service is full: space must be freed there. It is tried again.',
    });
    context.clock.advance(MINUTE_MS);
    await pass();
    expect(await read(id)).toMatchObject({
      state: 'queued',
      attempts: 2,
      error: 'The database of the service was busy. It is tried again.',
    });
    context.clock.advance(MINUTE_MS);
    await pass();
    expect(await read(id)).toMatchObject({ state: 'failed', error: expect.stringContaining('made a mistake') });
  });

  test('ends, and tells what to backfill, though its events lie in very many hours apart', async () => {
    const { service, context, call, upload, read, runner } = await world();
    const exported = await newExport(service, { interval: 'hour' }, byProject(service));
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    // Four years in which every other hour has events, but for one week.
    const week = 7 * 24;
    const hours = Array.from({ length: 2 * 365 * 24 }, (_, n) => {
      const from = context.clock() - (2 * n + (n < 1_000 ? 1 : week)) * HOUR_MS;
      return { from: from - HOUR_MS, to: from };
    }).toReversed();
    const sparse = runner(async () => ({
      files: [],
      events: hours.length,
      added: hours.length,
      known: 0,
      forgotten: 0,
      bad: 0,
      persons: { read: 0, rows: 0, refused: 0 },
      rejected: [],
      rejectedBytes: 0,
      arrival: null,
      hours: { events: hours, persons: [] },
    }));
    await sparse.pass();
    await sparse.idle();
    const ended = await read(id);
    expect(ended).toMatchObject({ state: 'completed', error: null });
    const ranges = ended['backfills'] as { export: string; start: string; end: string }[];
    expect(ranges).toHaveLength(200);
    expect(ranges[0]).toMatchObject({ export: exported, start: wireInstant(hours[0]?.from ?? 0) });
    expect(ranges.at(-1)?.end).toBe(wireInstant(hours.at(-1)?.to ?? 0));
    // The week is in none of them.
    expect(ranges.map(({ start }) => start)).toContain(wireInstant(context.clock() - 2_000 * HOUR_MS));
  });

  test('may be started again when it has failed, for a day', async () => {
    const { context, call, upload, read, runner, pass, paths } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    const failing = runner(() => Promise.reject(new Error('a mistake')));
    await failing.pass();
    await failing.idle();
    expect(await read(id)).toMatchObject({ state: 'failed' });
    expect((await call('POST', `${id}/start/`, {})).body).toMatchObject({ state: 'queued', error: null });
    await failing.pass();
    await failing.idle();
    context.clock.advance(2 * DAY_MS);
    await pass();
    expect(await paths()).toEqual([]);
    expect(await call('POST', `${id}/start/`, {})).toMatchObject({ status: 409 });
  });

  test('has its room on the disk when it has failed, until it is cancelled or a day is over', async () => {
    const content = line(1);
    const bytes = Buffer.byteLength(content);
    const { context, call, upload, read, runner, pass, paths } = await world(withRoom(6 * bytes - 1));
    const failing = runner(() => Promise.reject(new Error('a mistake')));
    const fail = async () => {
      const id = await upload('events.jsonl', content);
      await call('POST', `${id}/start/`, {});
      await failing.pass();
      await failing.idle();
      expect(await read(id)).toMatchObject({ state: 'failed' });
      return id;
    };
    const first = await fail();
    const refused = { status: 429, body: { detail: expect.stringContaining('half of the room') } };
    expect(await call('POST', '', { name: 'x', bytes })).toMatchObject(refused);
    expect((await call('POST', `${first}/cancel/`)).body).toMatchObject({ state: 'cancelled' });
    expect(await paths()).toEqual([]);
    const second = await fail();
    expect(await call('POST', '', { name: 'x', bytes })).toMatchObject(refused);
    context.clock.advance(DAY_MS + 1);
    await pass();
    expect(await paths()).toEqual([]);
    expect(await read(second)).toMatchObject({ state: 'failed' });
    expect(await call('POST', '', { name: 'x', bytes })).toMatchObject({ status: 201 });
  });

  test('is given up when it was interrupted five times', async () => {
    const { call, upload, read, runner } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    for (let n = 0; n < 6; n += 1) await runner(() => new Promise(() => {})).pass();
    expect(await read(id)).toMatchObject({
      state: 'failed',
      attempts: 5,
      error: expect.stringContaining('interrupted 5 times'),
    });
  });

  test('leaves the place of an open one to another when it was interrupted five times', async () => {
    const { call, upload, runner, create } = await world();
    const ids = [await upload('events.jsonl', line(1)), await upload('others.jsonl', line(2))];
    for (const id of ids) await call('POST', `${id}/start/`, {});
    for (let n = 0; n < 12; n += 1) await runner(() => new Promise(() => {})).pass();
    for (let n = 0; n < 9; n += 1)
      expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({ status: 201 });
    const tenth = await create('x', 3);
    expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({ status: 429 });
    // It has a place of its own again when it is started again: one of ten, also when several are started at once.
    const again = () => Promise.all(ids.map(async (id) => (await call('POST', `${id}/start/`, {})).status));
    expect(await again()).toEqual([429, 429]);
    await call('POST', `${tenth}/cancel/`);
    expect((await again()).toSorted((a, b) => a - b)).toEqual([200, 429]);
  });

  test('keeps its place when it fails for its file at the fifth attempt', async () => {
    const { call, upload, read, runner } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    for (let n = 0; n < 4; n += 1) await runner(() => new Promise(() => {})).pass();
    const last = runner(() => Promise.reject(new Failure('validation', { detail: 'The file is none.' })));
    await last.pass();
    await last.idle();
    expect(await read(id)).toMatchObject({ state: 'failed', attempts: 5, error: 'The file is none.' });
    for (let n = 0; n < 9; n += 1)
      expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({ status: 201 });
    expect(await call('POST', '', { name: 'x', bytes: 3 })).toMatchObject({ status: 429 });
  });

  test('is stopped when the service closes, which is no failure of it', async () => {
    const { call, upload, read, runner, pass } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    const closing = runner(
      (_task, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    await closing.pass();
    expect(await read(id)).toMatchObject({ state: 'running', attempts: 1 });
    await closing.close();
    expect(await read(id)).toMatchObject({ state: 'queued', attempts: 0 });
    await pass();
    expect(await read(id)).toMatchObject({ state: 'completed', attempts: 1, added: 1 });
  });

  test('leaves room for those of other organizations', async () => {
    const { service, call, upload, runner } = await world();
    for (const n of [1, 2]) await call('POST', `${await upload('events.jsonl', line(n))}/start/`, {});
    const { project, path, key } = await another(service);
    const theirs = await service.call('POST', path, { key, body: { name: 'x', bytes: 5 } });
    const id = String(theirs.body?.['id']);
    await service.call('PUT', `${path}${id}/content/`, { key, body: 'right' });
    await service.call('POST', `${path}${id}/start/`, { key, body: {} });
    const begun: number[] = [];
    const busy = runner((task) => {
      begun.push(task.project_id);
      return new Promise(() => {});
    });
    await busy.pass();
    await busy.pass();
    expect(begun).toEqual([service.project.id, project]);
  });

  test('comes after those of organizations, and of users, whose turn was longer ago', async () => {
    const { service, call, upload, runner } = await world();
    const others = await Promise.all(Array.from({ length: 2 }, () => another(service)));
    const mine = await service.call('POST', '/api/organizations/', { body: { name: 'Mine too' } });
    const { body } = await service.call('GET', `/api/organizations/${String(mine.body?.['id'])}/projects/`);
    const [{ id: second } = { id: 0 }] = (body?.['results'] ?? []) as { id: number }[];
    const startIn = (project: number, key = service.key) => startOne(service, project, key);
    for (const n of [1, 2, 3]) await call('POST', `${await upload('events.jsonl', line(n))}/start/`, {});
    for (const _ of [1, 2]) await startIn(second);
    for (const { project, key } of others) await startIn(project, key);
    const { begun, one, end } = endable(runner);
    const [first, third, fourth] = [service.project.id, ...others.map(({ project }) => project)];
    await one.pass();
    expect(begun).toEqual([first, third]);
    // Of the user whose import ends are five more, in two organizations.
    await end(first);
    expect(begun).toEqual([first, third, fourth]);
    await end(third);
    expect(begun).toEqual([first, third, fourth, second]);
    await end(second);
    expect(begun).toEqual([first, third, fourth, second, first]);
  });

  test('comes in time whoever comes anew: whoever had a turn goes before those who came after it', async () => {
    const { service, call, upload, runner } = await world();
    const [second, third, fourth] = await Promise.all(Array.from({ length: 3 }, () => another(service)));
    const start = ({ project, key } = { project: 0, key: '' }) => startOne(service, project, key);
    for (const n of [1, 2]) await call('POST', `${await upload('events.jsonl', line(n))}/start/`, {});
    await start(second);
    const { begun, one, end } = endable(runner);
    await one.pass();
    await start(third);
    await one.pass();
    await end(service.project.id);
    await start(fourth);
    await one.pass();
    await end(third?.project);
    expect(begun).toEqual([service.project.id, second?.project, third?.project, service.project.id]);
  });

  test('is cancelled when its file was not uploaded within a day', async () => {
    const { context, create, read, pass } = await world();
    const id = await create('x', 5);
    context.clock.advance(DAY_MS + 1);
    await pass();
    expect(await read(id)).toMatchObject({ state: 'cancelled', error: expect.stringContaining('within a day') });
  });

  test('says so when what was uploaded is gone', async () => {
    const { service, call, upload, read, pass, files } = await world();
    const id = await upload('events.jsonl', line(1));
    await call('POST', `${id}/start/`, {});
    await files.remove(`team_id=${service.project.id}/`);
    await pass();
    expect(await read(id)).toMatchObject({ state: 'failed', error: 'The uploaded file is gone. Import it anew.' });
  });
});

test('a Parquet file is shown when all of it is there', async () => {
  const { call, create, context, service } = await world();
  const file = join(context.folder, 'x.parquet');
  const { openDatabase, literal } = await import('../../../lib/duckdb/database.ts');
  const database = await openDatabase({
    memoryLimit: '100MB',
    tempDirectory: context.folder,
    places: [context.folder],
  });
  const connection = await database.connect();
  await connection.run(
    `COPY (SELECT 'paid' AS event, 'ada' AS distinct_id, '2025-12-31T00:00:00Z' AS timestamp, 7 AS n) TO ${literal(file)} (FORMAT parquet)`,
  );
  connection.closeSync();
  database.closeSync();
  const content = readFileSync(file);
  writeFileSync(file, '');
  const id = await create('x.parquet', content.length);
  const path = `${service.address}/api/projects/${service.project.id}/imports/${id}/content/`;
  const headers = { Authorization: `Bearer ${service.key}` };
  expect((await fetch(path, { method: 'PUT', headers, body: content })).status).toBe(200);
  expect((await call('POST', `${id}/preview/`, {})).body).toMatchObject({
    format: 'parquet',
    columns: ['event', 'distinct_id', 'timestamp', 'n'],
    records: [{ event: 'paid', properties: '{"n":7}' }],
  });
});
