/**
 * The process is killed before and after every durable act of an export (writes to the table and the run files, calls of the
 * destination), and another process goes on over the same files: nothing is lost, nothing is delivered twice.
 */
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { Busy } from '../../lib/ports/table/table.ts';
import type { Death } from '../support/engine-world.ts';
import { exportWorld } from '../support/export-world.ts';
import { seeded } from '../support/random.ts';
import { unreliable } from '../support/unreliable-table.ts';

jest.setTimeout(600_000);

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const at = (text: string): number => Date.parse(`2026-01-${text}Z`);

/** A state to start from: an hourly export, whose schedule has three hours to make up for, and history before it. */
async function prepared(): Promise<{ from: string; id: string }> {
  const world = await exportWorld({ now: NOW });
  const tenant = await world.tenant();
  await world.arrive(tenant.project.id, [at('01T10:10:00'), at('01T10:20:00'), at('01T12:10:00')]);
  const process = world.boot();
  const { id } = await world.createExport(process.context, tenant);
  for (const instant of ['07T13:30:00', '07T13:40:00', '07T15:10:00']) {
    world.time.clock.set(at(instant));
    await world.arrive(tenant.project.id, [at(instant)]);
  }
  await process.engine.close();
  return { from: await world.save(), id };
}

/** Schedule and backfill from the state, in one process that may die and a second one; what is there in the end. */
async function story(from: string, id: string, death?: Death) {
  const world = await exportWorld({ now: at('07T16:10:00'), from });
  const first = world.boot(death);
  await world.retarget(id);
  const item = await world.item(id);
  const asked = { start_at: at('01T10:00:00'), end_at: at('01T13:00:00') };
  const began = startBackfill(first.context, item, asked).catch(() => undefined);
  await Promise.race([began, first.died]);
  const survived = await first.run(at('07T16:20:00'));
  if (!survived) {
    const second = world.boot();
    await second.engine.resume();
    await second.run(at('07T16:40:00'));
    if ((await world.backfills(id)).length === 0) {
      await startBackfill(second.context, item, asked);
      await second.run(at('07T16:50:00'));
    }
    await second.engine.close();
  }
  const plan = await world.plan(id);
  const runs = await world.runs(id);
  const outcome = {
    delivered: Object.fromEntries(world.delivered()),
    leftovers: world.leftovers(),
    active: plan.active,
    claimed: plan.claimed,
    statuses: runs.map((run) => `${new Date(run.data_interval_start).toISOString().slice(8, 13)} ${run.status}`),
    latest: JSON.parse((await world.item(id)).latest_runs).map((run: { status: string }) => run.status),
    backfills: (await world.backfills(id)).map(({ status, total_runs, batch_0 }) => ({ status, total_runs, batch_0 })),
  };
  // What a dead process waits for never comes.
  if (survived) await first.engine.close();
  await world.close();
  return { outcome, acts: first.acts(), trace: first.trace, survived };
}

test('files of runs that are damaged after a kill, whenever it was, block nothing and lose nothing', async () => {
  const story = async (death?: Death) => {
    const world = await exportWorld({ now: NOW });
    const tenant = await world.tenant();
    const first = world.boot(death);
    const { id } = await world.createExport(world.context, tenant);
    await world.arrive(tenant.project.id, [NOW, NOW]);
    const survived = await first.run(at('07T14:20:00'));
    const trace = [...first.trace];
    let damaged = 0;
    for await (const { path } of world.context.runFiles.list('')) {
      const content = (await world.context.runFiles.read(path)) as Buffer;
      const place = (content.length * 7) >> 3;
      content[place] = (content[place] as number) ^ 1;
      await world.context.runFiles.write(path, content);
      damaged += 1;
    }
    const second = survived ? first : world.boot();
    await second.engine.resume();
    await second.run(at('07T15:25:00'));
    await second.engine.close();
    const runs = await world.runs(id);
    const outcome = {
      delivered: [...world.delivered().values()].map((uuids) => uuids.length),
      leftovers: world.leftovers(),
      active: (await world.plan(id)).active,
      open: runs.filter(({ finished_at }) => finished_at === null).length,
    };
    const errors = runs.flatMap(({ latest_error }) => latest_error ?? []);
    await world.close();
    return { outcome, errors, damaged, trace };
  };
  const { trace } = await story();
  const calm = { delivered: [2], leftovers: [], active: [], open: 0 };
  const errors = new Set<string>();
  let damaged = 0;
  const [first, last] = [/plan.json$/, /remove/].map((what) => trace.findIndex((act) => what.test(act)) + 1);
  for (let act = first as number; act <= (last as number); act += 1) {
    const hurt = await story({ at: act, when: 'after' });
    expect([act, hurt.outcome]).toEqual([act, calm]);
    damaged += hurt.damaged;
    for (const error of hurt.errors) errors.add(error.replace(/[0-9a-f-]{36}-\d+/, 'attempt'));
  }
  expect(damaged).toBeGreaterThan(5);
  expect([...errors]).toEqual(["The file 'attempt/plan.json', which the service kept for this run, is damaged."]);
});

test('a kill at any durable act loses nothing and delivers nothing twice', async () => {
  const { from, id } = await prepared();
  const { outcome: calm, acts, trace: calmTrace, survived } = await story(from, id);
  expect(survived).toBe(true);
  expect(Object.values(calm.delivered).map((uuids) => uuids.length)).toEqual([2, 1, 2, 1]);
  expect(calm).toMatchObject({
    leftovers: [],
    active: [],
    claimed: [],
    backfills: [{ status: 'Completed', total_runs: 3 }],
  });
  expect(acts).toBeGreaterThan(30);
  for (let act = 1; act <= acts; act++) {
    // After a write of the table is before the next act; after an act elsewhere the table does not know of it yet.
    const elsewhere = !calmTrace[act - 1]?.startsWith('write');
    for (const when of elsewhere ? (['before', 'after'] as const) : (['before'] as const)) {
      const { outcome, trace, survived: outlived } = await story(from, id, { at: act, when });
      try {
        expect(outlived).toBe(false);
        expect(outcome).toEqual(calm);
      } catch (error) {
        throw new Error(`killed ${when} act ${act}: ${trace.slice(-3).join(', ')}`, { cause: error });
      }
    }
  }
});

test('a table that is busy, loses answers and shows its indexes late changes nothing', async () => {
  for (let seed = 1; seed <= 6; seed++) {
    let isArmed = false;
    const next = seeded(seed);
    const random = (): number => (isArmed ? next() : 1);
    const world = await exportWorld({
      now: NOW,
      wrap: (table, clock) => unreliable(table, { random, clock, busy: 0.1, lost: 0.1, lag: 0.5 }),
    });
    const tenant = await world.tenant();
    await world.arrive(tenant.project.id, [at('01T10:10:00'), at('01T10:20:00'), at('01T12:10:00')]);
    const { context, run, engine } = world.boot();
    const item = await world.createExport(context, tenant);
    world.time.clock.set(at('07T13:40:00'));
    await world.arrive(tenant.project.id, [at('07T13:40:00')]);
    isArmed = true;
    await run(at('07T16:20:00'));
    const asked = { start_at: at('01T10:00:00'), end_at: at('01T13:00:00') };
    while ((await world.backfills(item.id)).length === 0) {
      await startBackfill(context, item, asked).catch((error: unknown) => {
        if (!(error instanceof Busy)) throw error;
      });
    }
    await run(at('07T23:20:00'));
    const delivered = [...world.delivered().values()].map((uuids) => uuids.length);
    const [backfill] = await world.backfills(item.id);
    const { active, claimed } = await world.plan(item.id);
    const seen = { delivered, leftovers: world.leftovers(), active, claimed, backfill: backfill?.status };
    expect([seed, seen]).toEqual([
      seed,
      { delivered: [2, 1, 1], leftovers: [], active: [], claimed: [], backfill: 'Completed' },
    ]);
    await engine.close();
    await world.close();
  }
});
