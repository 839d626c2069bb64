/** Exports from end to end: real table, lake, warehouse, machines and steps, into a folder. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { HOUR_MS, MINUTE_MS } from '../../lib/basics/units.ts';
import type { BackfillItem } from '../../lib/exports/records/backfills/model.ts';
import type { RunItem } from '../../lib/exports/records/runs/model.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { destroyBatchExport } from '../../lib/exports/resource/change.ts';
import { cancelBackfill, cancelRun } from '../../lib/exports/runs/cancel.ts';
import { allFiles } from '../../lib/lake/catalog.ts';
import { replaceFiles } from '../../lib/lake/replace.ts';
import { Permanent, Transient } from '../../lib/ports/errors.ts';
import { keys, ranges } from '../../lib/ports/table/keys.ts';
import { listAll } from '../../lib/ports/table/list-all.ts';
import { WorkerLost } from '../../lib/workers/pool.ts';
import { type ExportWorld, type ExportWorldOptions, exportWorld } from '../support/export-world.ts';

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const at = (text: string): number => Date.parse(`2026-01-${text}Z`);
/** A file's name, by the hours of a day in January. */
const file = (from: string, to: string): string => {
  const name = (text: string): string => `${new Date(at(text)).toISOString().slice(0, 19)}+00:00`;
  return `${name(from)}-${name(to)}.jsonl`;
};
const rows = (delivered: ReadonlyMap<string, readonly string[]>): Record<string, number> =>
  Object.fromEntries([...delivered].map(([name, uuids]) => [name, uuids.length]));

const worlds: ExportWorld[] = [];
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

/** A world with a tenant, a running process and an hourly export. */
async function hourly(options: Partial<ExportWorldOptions> = {}) {
  const world = await exportWorld({ now: NOW, ...options });
  worlds.push(world);
  const tenant = await world.tenant();
  const process = world.boot();
  const item = await world.createExport(process.context, tenant);
  const backfill = async (id: string) => (await world.table.get(keys.backfill(item.id, id))) as BackfillItem;
  const statuses = async () => (await world.runs(item.id)).map(({ status }) => status);
  const messages = () => world.messages(item.id);
  return { world, tenant, project: tenant.project.id, ...process, id: item.id, item, backfill, statuses, messages };
}

describe('the schedule', () => {
  test('delivers each hour once, and a late event in the hour of its arrival', async () => {
    const { world, project, id, run, messages } = await hourly();
    await world.arrive(project, [NOW, NOW]);
    await run(at('07T14:10:00'));
    expect(rows(world.delivered())).toEqual({ [file('07T13:00:00', '07T14:00:00')]: 2 });
    await world.arrive(project, [at('07T13:30:00'), at('07T14:10:00'), at('07T18:00:00')]);
    await run(at('07T16:10:00'));
    expect(rows(world.delivered())).toEqual({
      [file('07T13:00:00', '07T14:00:00')]: 2,
      [file('07T14:00:00', '07T15:00:00')]: 3,
    });
    const runs = await world.runs(id);
    expect(runs.map((each) => [each.status, each.records_total_count, each.records_completed])).toEqual([
      ['Completed', 2, 2],
      ['Completed', 3, 3],
      ['Completed', 0, 0],
    ]);
    expect(JSON.parse((await world.item(id)).latest_runs)).toHaveLength(3);
    expect(world.leftovers()).toEqual([]);
    expect(await messages()).toEqual([
      'Batch exporting range 2026-01-07T13:00:00Z - 2026-01-07T14:00:00Z to Folder',
      'Batch export for range 2026-01-07T13:00:00Z - 2026-01-07T14:00:00Z finished successfully with 2 records exported',
      'Batch exporting range 2026-01-07T14:00:00Z - 2026-01-07T15:00:00Z to Folder',
      'Batch export for range 2026-01-07T14:00:00Z - 2026-01-07T15:00:00Z finished successfully with 3 records exported',
      'Batch export will finish early as there is no data matching specified filters in range 2026-01-07T15:00:00Z - 2026-01-07T16:00:00Z',
    ]);
  });

  test('makes up for three days in which nothing ran', async () => {
    const { world, project, id, engine } = await hourly();
    for (const instant of ['07T13:30:00', '08T09:10:00', '10T11:59:59']) {
      world.time.clock.set(at(instant));
      await world.arrive(project, [at(instant)]);
    }
    await engine.close();
    world.time.clock.set(at('10T13:20:00'));
    const { engine: next, run } = world.boot();
    await next.resume();
    await run();
    expect(rows(world.delivered())).toEqual({
      [file('07T13:00:00', '07T14:00:00')]: 1,
      [file('08T09:00:00', '08T10:00:00')]: 1,
      [file('10T11:00:00', '10T12:00:00')]: 1,
    });
    expect(await world.runs(id)).toHaveLength(72);
    expect((await world.plan(id)).next).toBe(at('10T13:00:00'));
  });

  test('passes over a pause, which a backfill then delivers', async () => {
    const { world, project, id, context, run, item } = await hourly();
    await run(at('07T14:10:00'));
    await world.patch(context, id, { paused: true });
    await world.arrive(project, [at('07T14:10:00')]);
    await run(at('07T17:20:00'));
    await world.patch(context, id, { paused: false });
    await world.arrive(project, [at('07T17:20:00')]);
    await run(at('07T18:10:00'));
    expect(rows(world.delivered())).toEqual({ [file('07T17:00:00', '07T18:00:00')]: 1 });
    await startBackfill(context, item, { start_at: at('07T14:10:00'), end_at: at('07T17:20:00') });
    await run();
    expect(rows(world.delivered())).toEqual({
      [file('07T14:00:00', '07T15:00:00')]: 1,
      [file('07T17:00:00', '07T18:00:00')]: 1,
    });
  });

  test('goes on from the last planned end when the interval changes, and backfills keep the old files', async () => {
    const { world, project, id, context, run, item } = await hourly();
    await world.arrive(project, [NOW]);
    await run(at('07T14:10:00'));
    await world.patch(context, id, { interval: 'day' });
    await world.arrive(project, [at('07T14:10:00')]);
    await run(at('08T00:10:00'));
    const once = world.delivered();
    expect(rows(once)).toEqual({
      [file('07T13:00:00', '07T14:00:00')]: 1,
      [file('07T14:00:00', '08T00:00:00')]: 1,
    });
    await startBackfill(context, item, { start_at: at('06T10:00:00'), end_at: at('08T00:00:00') });
    await run();
    expect(world.delivered()).toEqual(once);
    expect((await world.runs(id)).map((each) => file2(each.data_interval_start, each.data_interval_end))).toEqual([
      '06T00 07T00',
      '07T00 07T13',
      '07T13 07T14',
      '07T13 07T14',
      '07T14 08T00',
      '07T14 08T00',
    ]);
  });

  test('runs nothing any more once the export is deleted, and what runs is cancelled', async () => {
    const started = Promise.withResolvers<void>();
    const { world, project, run, context, id, statuses } = await hourly({
      intrude: async (call, signal) => {
        if (call !== 'deliver') return;
        started.resolve();
        await aborted(signal);
      },
    });
    await world.arrive(project, [NOW]);
    const running = run(at('07T14:10:00'));
    await started.promise;
    await destroyBatchExport(context, await world.item(id), undefined, () => []);
    await running;
    await run(at('07T18:10:00'));
    expect(await statuses()).toEqual(['Cancelled']);
    expect(world.delivered().size).toBe(0);
    expect(world.leftovers()).toEqual([]);
    expect((await world.plan(id)).active).toEqual([]);
  });
});

/** An interval by its days and hours in January. */
const file2 = (from: number, to: number): string =>
  `${new Date(from).toISOString().slice(8, 13)} ${new Date(to).toISOString().slice(8, 13)}`;

/** Waits until the signal is aborted, and ends as what it interrupts would. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });

describe('an export whose files another has written', () => {
  /** Runs an hour of an export, then the same hour of another one into the same folder. */
  const two = async (project: 'same' | 'other') => {
    const { world, context, tenant, id, run } = await hourly();
    const theirs = project === 'same' ? tenant : await world.tenant('Other');
    for (const one of new Set([tenant, theirs])) await world.arrive(one.project.id, [NOW, NOW]);
    await run(at('07T14:10:00'));
    const item = await world.createExport(context, theirs);
    await startBackfill(context, item, { start_at: at('07T13:00:00'), end_at: at('07T14:00:00') });
    await run();
    return { world, id, runs: await world.runs(item.id) };
  };

  test.each([
    ['same', /^File '.*' was written by the batch export 'x' \(ID\), and is not replaced\. Let one of the two/],
    ['other', /^File '.*' was written by another batch export, and is not replaced\. Let one of the two/],
  ] as const)('fails at once and says who holds the name, of the %s project', async (project, text) => {
    const { world, id, runs } = await two(project);
    expect(runs.map(({ status }) => status)).toEqual(['Failed']);
    expect(runs[0]?.latest_error).toMatch(new RegExp(text.source.replace('ID', id)));
    expect(rows(world.delivered())).toEqual({ [file('07T13:00:00', '07T14:00:00')]: 2 });
    expect(world.leftovers()).toEqual([]);
  });
});

describe('an organization', () => {
  test('has so many intervals under way and no more; those of all its exports are delivered, one batch after another', async () => {
    let underWay = 0;
    let most = 0;
    const four = Promise.withResolvers<void>();
    const { world, tenant, project, run, context, id } = await hourly({
      settings: { organizationIntervals: 4 },
      intrude: async (call) => {
        if (call !== 'deliver') return;
        underWay += 1;
        most = Math.max(most, underWay);
        if (most === 4) four.resolve();
        await four.promise;
        await setImmediate();
        underWay -= 1;
      },
    });
    const instants = Array.from({ length: 8 }, (_, hour) => Date.UTC(2015, 4, 17, hour));
    await world.arrive(project, instants);
    const exports = [id];
    for (const n of [1, 2]) {
      const config = { path: join(world.target, `${n}`) };
      exports.push((await world.createExport(context, tenant, { destination: { type: 'Folder', config } })).id);
    }
    const range = { start_at: Date.UTC(2015, 4, 17), end_at: Date.UTC(2015, 4, 17, 8) };
    const backfills = await Promise.all(exports.map((one) => startBackfill(context, { id: one }, range)));
    await run(NOW + 2 * MINUTE_MS);
    expect(most).toBe(4);
    for (const [n, one] of exports.entries()) {
      const item = await world.table.get(keys.backfill(one, backfills[n]?.id ?? ''));
      expect(item).toMatchObject({ status: 'Completed' });
    }
    expect(await listAll(world.table, ranges.ticketsOf(tenant.organization.id))).toEqual([]);
  });
});

describe('a backfill', () => {
  test('delivers history in the hour when it happened, and again the same', async () => {
    const world = await exportWorld({ now: NOW });
    worlds.push(world);
    const tenant = await world.tenant();
    const instants = Array.from({ length: 300 }, (_, n) => Date.UTC(2015, 4, 17, 10) + n * 17 * MINUTE_MS);
    await world.arrive(tenant.project.id, instants);
    const { context, run } = world.boot();
    const item = await world.createExport(context, tenant);
    const asked = { start_at: Date.UTC(2015, 4, 17, 10), end_at: Date.UTC(2015, 4, 21) };
    const { id } = await startBackfill(context, item, asked);
    await run();
    const once = world.delivered();
    expect([...once.values()].flat()).toHaveLength(300);
    expect(new Set([...once.values()].flat()).size).toBe(300);
    expect(once.size).toBe(85);
    const first = (await world.table.get(keys.backfill(item.id, id))) as BackfillItem;
    expect(first).toMatchObject({ status: 'Completed', total_runs: 86 });
    await startBackfill(context, item, asked);
    await run();
    expect(world.delivered()).toEqual(once);
    // History may still be added: the next backfill delivers it as well.
    await world.arrive(tenant.project.id, [Date.UTC(2015, 4, 17, 10, 30)]);
    await startBackfill(context, item, asked);
    await run();
    const more = world.delivered();
    for (const [name, uuids] of once) expect(more.get(name)).toEqual(expect.arrayContaining(uuids));
    expect([...more.values()].flat()).toHaveLength(301);
    expect(world.leftovers()).toEqual([]);
  });

  test('says when rows with timestamps in its range may have arrived later', async () => {
    const { world, project, context, item, run, messages } = await hourly();
    world.time.clock.set(at('08T09:00:00'));
    await world.arrive(project, [at('07T15:00:00'), at('07T16:00:00')]);
    await startBackfill(context, item, { start_at: at('07T15:00:00'), end_at: at('07T17:00:00') });
    await run();
    expect((await messages()).filter((message) => message.startsWith('Up to'))).toEqual([
      'Up to 2 rows with timestamps in this range may have arrived later, between 2026-01-08T09:00:00Z and ' +
        '2026-01-08T09:00:00Z, or none: the list of files tells no more. They are exported with the intervals in which they arrived.',
    ]);
  });

  test('is refused while another one overlaps it, and has nothing to run where no interval has ended', async () => {
    const { context, item, run, backfill } = await hourly();
    const day = { start_at: at('01T00:00:00'), end_at: at('02T00:00:00') };
    await startBackfill(context, item, day);
    await expect(startBackfill(context, item, { ...day, start_at: at('01T23:30:00') })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('overlaps'),
    });
    await run();
    await startBackfill(context, item, day);
    const empty = await startBackfill(context, item, { start_at: at('07T13:00:00'), end_at: at('07T13:20:00') });
    expect(await backfill(empty.id)).toMatchObject({ status: 'Completed', total_runs: 0 });
    const huge = { start_at: Date.UTC(1990, 0), end_at: NOW };
    await expect(startBackfill(context, item, huge)).rejects.toMatchObject({ status: 400 });
    await run();
  });

  test('that is cancelled stops with its runs, and leaves the destination as it was', async () => {
    const started = Promise.withResolvers<void>();
    const { world, project, context, item, run, backfill, id, statuses } = await hourly({
      intrude: async (call, signal) => {
        if (call !== 'deliver') return;
        started.resolve();
        await aborted(signal);
      },
    });
    await world.arrive(project, [at('01T10:00:00'), at('01T11:00:00')], 'then');
    const { id: backfillId } = await startBackfill(context, item, {
      start_at: at('01T00:00:00'),
      end_at: at('03T00:00:00'),
    });
    const running = run();
    await started.promise;
    await cancelBackfill(context, item, backfillId);
    await running;
    expect(await backfill(backfillId)).toMatchObject({ status: 'Cancelled' });
    expect((await statuses()).filter((status) => status !== 'Completed')).toEqual(['Cancelled', 'Cancelled']);
    expect(world.delivered().size).toBe(0);
    expect(world.leftovers()).toEqual([]);
    expect(await world.plan(id)).toMatchObject({ active: [], claimed: [] });
    await expect(cancelBackfill(context, item, backfillId)).rejects.toMatchObject({
      status: 400,
      message: "Cannot cancel a backfill that is in 'Cancelled' status",
    });
  });

  test('that fails in some runs says so, and the others are delivered', async () => {
    let calls = 0;
    const { world, project, context, item, run, backfill } = await hourly({
      intrude: async (call) => {
        calls += call === 'deliver' ? 1 : 0;
        if (call === 'deliver' && calls === 1) throw new Permanent('The bucket is gone. Make it again.');
      },
    });
    await world.arrive(project, [at('01T10:00:00'), at('01T11:00:00')], 'then');
    const { id } = await startBackfill(context, item, { start_at: at('01T00:00:00'), end_at: at('02T00:00:00') });
    await run();
    expect(await backfill(id)).toMatchObject({
      status: 'Failed',
      batch_0: JSON.stringify({ finished: 23, failed: 1, records: 1 }),
    });
    expect(world.delivered().size).toBe(1);
    expect(await world.messages(item.id)).toContain(
      'Backfill ended as Failed: 23 of 24 runs completed, 1 records exported. The log and the runs say why the others ' +
        'did not. Once that is mended, retry those runs or backfill their range.',
    );
  });
});

describe('a run', () => {
  test('whose trouble does not pass is tried each hour, until it is delivered', async () => {
    let isDown = true;
    const { world, project, run, statuses, id, messages } = await hourly({
      intrude: async (call) => {
        if (call === 'deliver' && isDown) throw new Transient('The disk is full.');
      },
    });
    await world.arrive(project, [NOW]);
    await run(at('07T14:59:00'));
    expect(await statuses()).toEqual(['FailedRetryable']);
    expect(world.delivered().size).toBe(0);
    isDown = false;
    await run(at('07T15:59:00'));
    expect(await statuses()).toEqual(['FailedRetryable', 'Completed', 'Completed']);
    expect(rows(world.delivered())).toEqual({ [file('07T13:00:00', '07T14:00:00')]: 1 });
    const trouble = (await messages()).filter((message) => message.includes('The disk is full.'));
    const count = (text: string): number => trouble.filter((message) => message.includes(text)).length;
    // After the second failure the export waits, for 1, 2, 4 and 8 minutes, and is tried once after each.
    expect([
      count('failed for now'),
      count('min, as its destination failed'),
      count('will be tried again at 2026-01-07T15:'),
    ]).toEqual([5, 4, 1]);
    expect(trouble).toHaveLength(10);
    expect((await world.plan(id)).ran).toHaveLength(1);
  });

  test('that meets a full disk says so, and is delivered when there is space again', async () => {
    let isFull = true;
    const { world, project, run, id, context } = await hourly({
      intrude: async (call) => {
        if (call === 'deliver' && isFull) throw Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC' });
      },
    });
    await world.arrive(project, [NOW]);
    // Six tries with waits of half of 5, 10, 20, 40 and 80 s.
    await run(at('07T14:01:30'));
    const [waiting] = await world.runs(id);
    expect(waiting).toMatchObject({
      status: 'Running',
      latest_error: 'The disk of the service is full: space must be freed there.',
    });
    isFull = false;
    const { table } = context;
    const write = table.write.bind(table);
    let isReceiptRefused = true;
    table.write = async (ops, options) => {
      const isReceipt = JSON.stringify(ops).includes('"receipt":');
      if (isReceipt && isReceiptRefused) throw Object.assign(new Error('EROFS: open'), { code: 'EROFS' });
      return write(ops, options);
    };
    await run(at('07T14:05:00'));
    expect((await world.runs(id)).at(-1)?.latest_error).toContain('is read-only');
    isReceiptRefused = false;
    await run(at('07T14:59:00'));
    expect((await world.runs(id)).map(({ status, latest_error }) => [status, latest_error])).toEqual([
      ['Completed', null],
    ]);
    expect(rows(world.delivered())).toEqual({ [file('07T13:00:00', '07T14:00:00')]: 1 });
    expect(world.leftovers()).toEqual([]);
  });

  test.each([
    ['has one bit that is not what was written', (content: Buffer) => (content[content.length >> 1]! ^= 4)],
    ['is another file', (content: Buffer) => content.fill('PAR1')],
  ])('that reads a file of the lake that %s has failed, and names it', async (_, damage) => {
    const { world, project, run, statuses, id } = await hourly();
    await world.arrive(project, [NOW, NOW]);
    const [path = ''] = await world.lakeFiles(project);
    const content = readFileSync(path);
    damage(content);
    writeFileSync(path, content);
    await run(at('07T14:59:00'));
    expect(await statuses()).toEqual(['Failed']);
    expect(world.delivered().size).toBe(0);
    const [failed] = await world.runs(id);
    expect(failed?.latest_error).toBe(
      `The service's file '${path.slice(path.indexOf('events/'))}' is damaged: it is not what was written. ` +
        'It must be restored from a copy before this can be done.',
    );
  });

  test('whose files of the lake were joined so long ago that they are gone is run again with the new ones', async () => {
    let tries = 0;
    const { world, project, context, run, id } = await hourly({
      intrude: async (call) => {
        if (call !== 'deliver') return;
        tries += 1;
        if (tries > 1) return;
        // As when the service was off for days meanwhile: the run has listed the file that is replaced and removed here.
        const [old] = await allFiles(context.table, project, 'events');
        if (old === undefined) throw new Error('there is no file');
        const { path, pk: _pk, sk: _sk, ...about } = old;
        await replaceFiles(context, { projectId: project, model: 'events', files: [old] }, async (folder, name) => {
          await context.lake.write(`${folder}${name}`, readFileSync(context.lake.address(path)));
          return { ...about, name, model: 'events' };
        });
        await context.lake.remove(path);
        throw new Transient('The receiver is down.');
      },
    });
    await world.arrive(project, [NOW, NOW]);
    await run(at('07T14:30:00'));
    const [first] = await world.runs(id);
    expect(first).toMatchObject({ status: 'FailedRetryable' });
    expect(first?.latest_error).toMatch(/^The file 'events\/.*' was replaced since this run listed it\.$/);
    await run(at('07T16:00:00'));
    expect((await world.runs(id)).map(({ status }) => status)).toContain('Completed');
    expect(rows(world.delivered())).toEqual({ [file('07T13:00:00', '07T14:00:00')]: 2 });
    expect(world.leftovers()).toEqual([]);
  });

  test.each(['deliver', 'commit'] as const)(
    'whose export is changed to another model before a %s that is tried again is run again with the rows of that',
    async (changedAt) => {
      let isChanged = false;
      const { world, project, context, run, id } = await hourly({
        intrude: async (call) => {
          if (call !== changedAt || isChanged) return;
          isChanged = true;
          await world.patch(context, id, { model: 'persons' });
          throw new Transient('The disk is busy.');
        },
      });
      await world.arrive(project, [NOW, NOW]);
      await run(at('07T14:30:00'));
      expect(await world.runs(id)).toMatchObject([
        {
          status: 'FailedRetryable',
          latest_error:
            "The batch export was changed from the model 'events' to 'persons' while this interval was on its way.",
        },
      ]);
      await run(at('07T15:40:00'));
      const all = await world.runs(id);
      expect(all.map(({ status, records_completed }) => [status, records_completed])).toContainEqual(['Completed', 0]);
      expect(rows(world.delivered())).toEqual({});
      expect(world.leftovers()).toEqual([]);
    },
  );

  test('that takes its process down three times has failed, and is not tried each hour', async () => {
    let tries = 0;
    const { world, project, run, id } = await hourly({
      intrude: async (call) => {
        if (call !== 'deliver') return;
        tries += 1;
        throw new WorkerLost('memory', 'Selecting its rows needs more than 600 MB of memory.');
      },
    });
    await world.arrive(project, [NOW]);
    await run(at('07T15:30:00'));
    expect(tries).toBe(3);
    expect((await world.runs(id)).map(({ status, latest_error }) => [status, latest_error])).toContainEqual([
      'Failed',
      'Delivering it broke the service’s worker three times, so it is not tried again. Selecting its rows needs more than 600 MB of memory.',
    ]);
  });

  test('whose trouble lasts a day has failed', async () => {
    const { world, project, run, statuses, id } = await hourly({
      intrude: async (call) => {
        if (call === 'deliver') throw new Transient('The disk is full.');
      },
    });
    await world.arrive(project, [NOW]);
    await run(at('09T14:59:00'));
    const all = await statuses();
    expect(all.filter((status) => status === 'FailedRetryable').length).toBeGreaterThan(14);
    expect(all.filter((status) => status === 'Failed')).toHaveLength(1);
    expect((await world.item(id)).failures_in_a_row).toBe(1);
  });

  test('that only the user can mend fails at once; ten in a row pause the export', async () => {
    const { world, project, run, statuses, id, messages } = await hourly({
      intrude: async (call) => {
        if (call === 'deliver') throw new Permanent('The folder is gone. Make it again.');
      },
    });
    for (let hour = 0; hour < 12; hour++) {
      await world.arrive(project, [NOW + hour * HOUR_MS]);
      await run(NOW + (hour + 1) * HOUR_MS);
    }
    expect(await statuses()).toEqual(Array.from({ length: 10 }, () => 'Failed'));
    const [first] = await world.runs(id);
    expect(first?.latest_error).toBe('The folder is gone. Make it again.');
    expect(await world.item(id)).toMatchObject({ paused: true, failures_in_a_row: 0, ver: 2 });
    expect((await messages()).at(-1)).toBe(
      'Batch export was paused, as 10 runs in a row failed. The last error was: The folder is gone. Make it again. ' +
        'Mend the cause, unpause the batch export, and retry the runs that failed or backfill their range.',
    );
    expect(world.leftovers()).toEqual([]);
  });

  test.each(['alone in its batch', 'beside others'])(
    'that is cancelled while it is delivered, %s, leaves nothing',
    async (how) => {
      const started = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      const { world, project, context, item, run, id } = await hourly({
        settings: { cancelSeconds: 0.005 },
        intrude: async (call, signal) => {
          if (call !== 'deliver') return;
          started.resolve();
          try {
            await Promise.race([aborted(signal), released.promise]);
          } finally {
            released.resolve();
          }
        },
      });
      const instants = how === 'beside others' ? [at('01T10:00:00'), at('01T11:00:00')] : [at('01T10:00:00')];
      await world.arrive(project, instants, 'then');
      await startBackfill(context, item, { start_at: at('01T10:00:00'), end_at: at('01T12:00:00') });
      const running = run();
      await started.promise;
      const mine = (await world.runs(id)).find(({ status }) => status === 'Running') as RunItem;
      await cancelRun(context, item, mine.id);
      await running;
      const counts = `1 of 2 runs completed, ${instants.length - 1} records exported`;
      expect((await world.messages(id)).filter((message) => message.startsWith('Backfill ended'))).toEqual([
        `Backfill ended as Cancelled: ${counts}. The others were cancelled. To deliver them after all, retry them or ` +
          'backfill their range.',
      ]);
      const others = instants.filter((instant) => Math.floor(instant / HOUR_MS) * HOUR_MS !== mine.data_interval_start);
      expect(rows(world.delivered())).toEqual(
        Object.fromEntries(
          others.map((instant) => [
            file(`01T${new Date(instant).getUTCHours()}:00:00`, `01T${new Date(instant).getUTCHours() + 1}:00:00`),
            1,
          ]),
        ),
      );
      expect((await world.runs(id)).filter(({ status }) => status === 'Cancelled')).toHaveLength(1);
      expect(world.leftovers()).toEqual([]);
      expect(await world.plan(id)).toMatchObject({ active: [], claimed: [] });
      await expect(cancelRun(context, item, mine.id)).rejects.toMatchObject({
        status: 400,
        message: "Cannot cancel a run that is in 'Cancelled' status",
      });
    },
  );

  test('that is being committed is finished, not cancelled', async () => {
    const started = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const { world, project, context, item, run, id, statuses } = await hourly({
      intrude: async (call) => {
        if (call !== 'commit') return;
        started.resolve();
        await cancelled.promise;
      },
    });
    await world.arrive(project, [NOW]);
    const running = run(at('07T14:10:00'));
    await started.promise;
    const [open] = await world.runs(id);
    await expect(cancelRun(context, item, open?.id ?? '')).rejects.toMatchObject({
      status: 400,
      message: 'Cannot cancel a run that is being committed',
    });
    cancelled.resolve();
    await running;
    expect(await statuses()).toEqual(['Completed']);
  });

  test('whose execution an operator stops is Terminated, and the schedule goes on', async () => {
    const started = Promise.withResolvers<void>();
    let calls = 0;
    const { world, project, run, id, engine, statuses } = await hourly({
      intrude: async (call, signal) => {
        calls += call === 'deliver' ? 1 : 0;
        if (call !== 'deliver' || calls > 1) return;
        started.resolve();
        await aborted(signal);
      },
    });
    await world.arrive(project, [NOW]);
    const running = run(at('07T14:20:00'));
    await started.promise;
    const [open] = await world.runs(id);
    await engine.stop('export-run', open?.execution ?? '', 'an operator');
    await running;
    await world.arrive(project, [at('07T14:20:00')]);
    await run(at('07T15:20:00'));
    expect(await statuses()).toEqual(['Terminated', 'Completed']);
    expect(world.leftovers()).toEqual([]);
  });
});
