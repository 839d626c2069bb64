import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { restoredItem } from '../../../lib/exports/records/restored.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { changeBatchExport, unpauseBatchExport } from '../../../lib/exports/resource/change.ts';
import { prepareBackfill } from '../../../lib/exports/runs/backfill.ts';
import { beginRun } from '../../../lib/exports/runs/begin.ts';
import { finishRun } from '../../../lib/exports/runs/finish.ts';
import { fromJsonText, toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { testContext } from '../../support/context.ts';
import { hourlyExport } from '../../support/hourly-export.ts';
import { watchWrites } from '../../support/table-override.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);

test('nothing is due: the job waits for the next interval', async () => {
  const { begin, job, context } = await hourlyExport();
  context.clock.set(AT_13 + HOUR_MS + 29_000);
  expect(await begin()).toEqual({ do: 'nothing' });
  expect(await job('export')).toMatchObject({ due: AT_13 + HOUR_MS + 30_000 });
});

test('intervals that no file touches are completed at once, without the destination or the run files', async () => {
  const { begin, runs, read, remembered, context, job } = await hourlyExport();
  context.clock.set(AT_13 + 5 * HOUR_MS + 60_000);
  expect(await begin()).toEqual({ do: 'nothing' });
  expect((await runs()).map(({ status, records_completed }) => [status, records_completed])).toEqual(
    Array.from({ length: 5 }, () => ['Completed', 0]),
  );
  expect((await read()).plan).toMatchObject({ next: AT_13 + 5 * HOUR_MS, active: [] });
  expect(JSON.parse((await read()).item.latest_runs)).toHaveLength(5);
  expect(remembered.calls).toEqual([]);
  for await (const file of context.runFiles.list('')) throw new Error(`${file.path} is in the run files`);
  expect(await job('export')).toMatchObject({ due: AT_13 + 6 * HOUR_MS + 30_000 });
});

test('intervals that end at once are measured like those that are sent', async () => {
  const { context, id, arrive, runs } = await hourlyExport();
  const settings = { ...context.settings, maxIntervalBytes: 0 };
  await arrive(AT_13 + HOUR_MS, 'more than one run can deliver');
  context.clock.set(AT_13 + 2 * HOUR_MS + 60_000);
  const recorded: unknown[] = [];
  const metrics = { record: (...told: unknown[]) => void recorded.push(told) };
  const look = () =>
    beginRun({ ...context, settings, metrics }, { export: id, trigger: 'schedule', execution: 'execution' });
  expect(await look()).toMatchObject({ do: 'deliver' });
  const [empty, failed] = await runs();
  const measured = [
    [
      { RunsCompleted: 1, RowsDelivered: 0, BytesDelivered: 0, DeliveryLag: 3_660 },
      { export: id, run: empty?.id },
    ],
    [{ RunsFailed: 1 }, { export: id, run: failed?.id }],
  ];
  expect(recorded).toEqual(measured);
  await look();
  expect(recorded).toEqual(measured);
});

describe('after a restore of a state from the midst of an hour', () => {
  const KEPT = AT_13 + HOUR_MS + 15 * MINUTE_MS;
  const OF_14 = { start_at: AT_13 + HOUR_MS, end_at: AT_13 + 2 * HOUR_MS };

  /** `restored` is in hours after 13:00. */
  async function restored(hours: number) {
    const world = await hourlyExport();
    const { context, arrive } = world;
    await context.table.write([{ put: restoredItem(KEPT, AT_13 + hours * HOUR_MS) }]);
    for (const hour of [0, 1, 3]) await arrive(AT_13 + hour * HOUR_MS, 'a');
    context.clock.set(AT_13 + 4 * HOUR_MS + MINUTE_MS);
    const statuses = async () => (await world.runs()).map(({ status }) => status);
    return { ...world, statuses };
  }

  test('the schedule replaces no file of that hour, and says so; all other hours are delivered', async () => {
    const { begin, runs, statuses } = await restored(3);
    expect(await begin()).toMatchObject({ do: 'deliver', intervals: [0, 3] });
    expect(await statuses()).toEqual(['Starting', 'Failed', 'Completed', 'Starting']);
    expect((await runs())[1]?.latest_error).toBe(
      'The service was restored from its state of 2026-01-07T14:15:00Z, and has only the rows of this interval that ' +
        'came before. What was delivered of it may have them all, so that nothing was replaced. Retry this run to deliver ' +
        'what there is.',
    );
  });

  test('that hour is delivered when somebody asks for it', async () => {
    const { context, id, begin, read, statuses } = await restored(3);
    const backfill = await startBackfill(context, (await read()).item, OF_14);
    await begin({ execution: `${backfill.id}-0`, trigger: { backfill: backfill.id, batch: 0 }, export: id });
    expect(await statuses()).toEqual(['Starting']);
  });

  test('that hour is delivered when it had not ended by then: nobody has delivered it before', async () => {
    const { begin, statuses } = await restored(1.5);
    expect(await begin()).toMatchObject({ intervals: [0, 1, 3] });
    expect(await statuses()).toEqual(['Starting', 'Starting', 'Completed', 'Starting']);
  });

  test('that hour is delivered where rows are merged with those that are there', async () => {
    const { context, id, begin } = await restored(3);
    await context.table.write([{ change: keys.batchExport(id), set: { destination_type: 'Postgres' } }]);
    expect(await begin()).toMatchObject({ intervals: [0, 1, 3] });
  });
});

test('a begin that is repeated gives the same answer and the same runs', async () => {
  const { begin, runs, arrive, context } = await hourlyExport();
  await arrive(AT_13, 'a');
  await arrive(AT_13 + 2 * HOUR_MS, 'b');
  context.clock.set(AT_13 + 3 * HOUR_MS + 60_000);
  const first = await begin();
  expect(first).toMatchObject({ do: 'deliver', intervals: [0, 2], concurrency: 4 });
  const made = await runs();
  // What arrives between the two, as history does, is not for this batch.
  const frozen = await context.runFiles.read(`${(first as { attempt: string }).attempt}/plan.json`);
  await arrive(AT_13 + HOUR_MS, 'late');
  context.clock.advance(1_000);
  expect(await begin()).toEqual(first);
  expect(await runs()).toEqual(made);
  expect(await context.runFiles.read(`${(first as { attempt: string }).attempt}/plan.json`)).toEqual(frozen);
});

test('a begin that died before it froze its plan freezes it when it is repeated', async () => {
  const { begin, arrive, context } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  const first = await begin();
  await context.runFiles.remove(`${(first as { attempt: string }).attempt}/`);
  expect(await begin()).toEqual(first);
  expect(await context.runFiles.read(`${(first as { attempt: string }).attempt}/plan.json`)).toBeDefined();
});

test('a second look of the schedule leaves to the first what it runs; a backfill waits for it', async () => {
  const { begin, arrive, context, id, read, job } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  await begin();
  expect(await begin({ execution: 'another' })).toEqual({ do: 'nothing' });
  expect(await job('export')).toMatchObject({ due: AT_13 + HOUR_MS + 660_000 });
  const { item } = await read();
  const backfill = await startBackfill(context, item, { start_at: AT_13, end_at: AT_13 + HOUR_MS });
  const trigger = { backfill: backfill.id, batch: 0 };
  expect(await begin({ execution: `${backfill.id}-0`, trigger })).toEqual({ do: 'hold', seconds: 5 });
  await context.workflow.start('export-run', 'execution', {});
  context.clock.advance(5 * 60_000);
  expect(await begin({ execution: `${backfill.id}-0`, trigger })).toEqual({ do: 'hold', seconds: 30 });
  await finishRun(context, {
    export: id,
    trigger: 'schedule',
    execution: 'execution',
    attempt: null,
    skipped: [],
    error: null,
  });
  expect(await begin({ execution: `${backfill.id}-0`, trigger })).toMatchObject({ do: 'deliver' });
});

test('an execution that ended without a word is settled by the next one that meets it', async () => {
  const { begin, arrive, context, runs, read } = await hourlyExport();
  await arrive(AT_13, 'a');
  await arrive(AT_13 + HOUR_MS, 'b');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  await begin();
  await context.workflow.start('export-run', 'execution', {});
  context.workflow.end('execution', 'ABORTED');
  const asked = jest.spyOn(context.workflow, 'status');
  // One that has not had half an hour is not asked about.
  context.clock.advance(HOUR_MS / 2);
  expect(await begin({ execution: 'early' })).toEqual({ do: 'nothing' });
  expect(asked).not.toHaveBeenCalled();
  context.clock.advance(HOUR_MS / 2);
  expect(await begin({ execution: 'another' })).toMatchObject({ do: 'deliver', intervals: [0] });
  expect((await runs()).map(({ status }) => status)).toEqual(['Failed', 'Starting']);
  expect((await read()).plan.active).toMatchObject([{ execution: 'another', from: AT_13 + HOUR_MS }]);
});

test('a backfill that ended without a word is closed by the next look, when it is old', async () => {
  const { begin, context, read } = await hourlyExport();
  const { item } = await read();
  context.clock.set(AT_13 + 2 * HOUR_MS);
  const range = { start_at: AT_13 - HOUR_MS, end_at: AT_13 };
  const backfill = await startBackfill(context, item, range);
  await context.workflow.start('backfill', backfill.id, {});
  context.workflow.end(backfill.id, 'ABORTED');
  const asked = jest.spyOn(context.workflow, 'status');
  context.clock.advance(HOUR_MS / 2);
  await begin();
  expect((await read()).plan.claimed).toHaveLength(1);
  expect(asked).not.toHaveBeenCalled();
  context.clock.advance(1);
  await begin({ execution: 'later' });
  expect((await read()).plan.claimed).toEqual([]);
});

test('a backfill whose execution is gone is closed by the next look, unless its job is to start it', async () => {
  const { begin, context, id, read, job } = await hourlyExport();
  const { item } = await read();
  context.clock.set(AT_13 + 2 * HOUR_MS);
  // As a stage that was removed and deployed again: the table is there, and no execution.
  const range = { start_at: AT_13 - HOUR_MS, end_at: AT_13 };
  const backfill = await startBackfill({ ...context, workflow: testContext().workflow }, item, range);
  context.clock.advance(HOUR_MS);
  expect(await job('backfill', backfill.id)).toBeDefined();
  await begin();
  expect((await read()).plan.claimed).toHaveLength(1);
  await prepareBackfill(context, { export: id, backfill: backfill.id });
  expect(await job('backfill', backfill.id)).toBeUndefined();
  await begin({ execution: 'later' });
  expect((await read()).plan.claimed).toEqual([]);
  expect(await context.table.get(keys.backfill(id, backfill.id))).toMatchObject({ status: 'Failed' });
  const lines = await listAll(context.table, ranges.logLines(id));
  expect(JSON.stringify(lines)).toContain(
    'Backfill ended as Failed: 0 of 1 runs completed, 0 records exported. Its execution is gone. Backfill the range again.',
  );
});

test('the batch of a backfill whose end is noted begins nothing when its begin is repeated under another execution', async () => {
  const { begin, context, id, read, runs, arrive } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + 2 * HOUR_MS);
  // Of two batches, so that the backfill goes on.
  const range = { start_at: AT_13 - 50 * HOUR_MS, end_at: AT_13 + HOUR_MS };
  const backfill = await startBackfill(context, (await read()).item, range);
  const { batches } = await prepareBackfill(context, { export: id, backfill: backfill.id });
  const batch = batches.at(-1) as number;
  const trigger = { backfill: backfill.id, batch };
  const execution = `${backfill.id}-${batch}`;
  expect(await begin({ execution, trigger })).toMatchObject({ do: 'deliver' });
  await finishRun(context, { export: id, trigger, execution, attempt: null, skipped: [], error: null });
  const ended = await runs();
  expect(await begin({ execution: 'another', trigger })).toEqual({ do: 'nothing' });
  expect(await runs()).toEqual(ended);
  expect((await read()).plan.active).toEqual([]);
});

test('a backfill of an interval that has not settled waits for it', async () => {
  const { begin, context, read } = await hourlyExport();
  context.clock.set(AT_13 + HOUR_MS + 10_000);
  const { item } = await read();
  const backfill = await startBackfill(context, item, { start_at: AT_13, end_at: AT_13 + HOUR_MS });
  const trigger = { backfill: backfill.id, batch: 0 };
  expect(await begin({ execution: `${backfill.id}-0`, trigger })).toEqual({ do: 'hold', seconds: 20 });
});

test('an export that is deleted, or paused, begins nothing, however late the trigger', async () => {
  for (const set of [{ deleted_at: 1 }, { paused: true, last_paused_at: AT_13 }]) {
    const { begin, context, id, runs, job } = await hourlyExport();
    await context.table.write([{ change: keys.batchExport(id), set }]);
    context.clock.set(AT_13 + DAY_MS);
    expect(await begin()).toEqual({ do: 'nothing' });
    expect(await runs()).toEqual([]);
    expect(await job('export')).toBeUndefined();
  }
});

test('a change of the export while begin is at work is taken into account', async () => {
  const { begin, context, id, arrive, runs } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  const { table } = context;
  const write = table.write.bind(table);
  let isChanged = false;
  table.write = async (ops, options) => {
    if (ops.length > 3 && !isChanged) {
      isChanged = true;
      await write([{ change: keys.batchExport(id), set: { paused: true, last_paused_at: AT_13 } }]);
    }
    return write(ops, options);
  };
  expect(await begin()).toEqual({ do: 'nothing' });
  expect(await runs()).toEqual([]);
});

describe('a look that finds nothing to do leaves the job that was set meanwhile', () => {
  /** Has an export looked at, where somebody else changes it just before the look writes what becomes of the job. */
  const lookWhile = async (
    { context, id }: Awaited<ReturnType<typeof hourlyExport>>,
    change: () => Promise<unknown>,
  ) => {
    let isChanged = false;
    const table = watchWrites(context.table, async () => {
      if (isChanged) return;
      isChanged = true;
      await change();
    });
    return beginRun({ ...context, table }, { export: id, trigger: 'schedule', execution: 'execution' });
  };

  test('by who unpauses the export', async () => {
    const world = await hourlyExport();
    const { context, id, read, job } = world;
    await context.table.write([{ change: keys.batchExport(id), set: { paused: true, last_paused_at: AT_13 } }]);
    const unpause = async () => unpauseBatchExport(context, await read(), {}, undefined, () => []);
    expect(await lookWhile(world, unpause)).toEqual({ do: 'nothing' });
    expect(await job('export')).toMatchObject({ due: AT_13 + HOUR_MS + 30_000 });
  });

  test('by who began meanwhile what was not due yet', async () => {
    const world = await hourlyExport();
    const { context, begin, arrive, job } = world;
    await arrive(AT_13, 'a');
    context.clock.set(AT_13 + HOUR_MS + 29_000);
    const beginOther = async () => {
      context.clock.set(AT_13 + HOUR_MS + 60_000);
      await begin({ execution: 'another' });
      expect(await job('export')).toMatchObject({ due: AT_13 + HOUR_MS + 660_000 });
    };
    expect(await lookWhile(world, beginOther)).toEqual({ do: 'nothing' });
    expect(await job('export')).toMatchObject({ due: AT_13 + HOUR_MS + 660_000 });
  });

  test('by who has a destination tried at once that the export waits for', async () => {
    const world = await hourlyExport();
    const { context, id, read, job } = world;
    const due = AT_13 + HOUR_MS + 60_000;
    context.clock.set(due);
    const trouble = toJsonText({ reason: 'It was down.', failures: 2, until: due + HOUR_MS });
    await context.table.write([{ change: keys.batchExport(id), set: { trouble } }]);
    const rename = async () => changeBatchExport(context, await read(), { name: 'y' }, undefined, () => []);
    await lookWhile(world, rename);
    expect((await read()).plan.next).toBe(AT_13 + HOUR_MS);
    expect(await job('export')).toMatchObject({ due: AT_13 + 2 * HOUR_MS + 30_000 });
  });
});

describe('a retry', () => {
  const failed = async () => {
    const world = await hourlyExport();
    await world.arrive(AT_13, 'a');
    world.context.clock.set(AT_13 + HOUR_MS + 60_000);
    await world.begin();
    const error = { Error: 'Transient', Cause: 'The disk is full.' };
    await finishRun(
      world.context,
      { export: world.id, trigger: 'schedule', execution: 'execution', attempt: null, skipped: [], error },
      { findDestination: world.findDestination },
    );
    const [run] = (await world.runs()) as [RunItem];
    const trigger = { retry: run.id };
    return { ...world, run, trigger, due: world.context.clock() + HOUR_MS };
  };

  test('runs the interval of a run that failed for now again, once', async () => {
    const { run, begin, context, runs, job, trigger, due } = await failed();
    expect(run).toMatchObject({ status: 'FailedRetryable', latest_error: 'The disk is full.' });
    expect(await job('retry', run.id)).toMatchObject({ due });
    context.clock.set(due);
    expect(await begin({ execution: 'again', trigger })).toMatchObject({ do: 'deliver' });
    expect(await job('retry', run.id)).toBeUndefined();
    expect((await runs()).map(({ status, by }) => [status, by])).toEqual([
      ['FailedRetryable', 'schedule'],
      ['Starting', run.id],
    ]);
    await finishRun(context, {
      export: run.batch_export,
      trigger,
      execution: 'again',
      attempt: null,
      skipped: [],
      error: null,
    });
    expect(await begin({ execution: 'once more', trigger })).toEqual({ do: 'nothing' });
  });

  test('waits for a backfill that holds its interval, and its job with it, so that no other is started meanwhile', async () => {
    const { run, begin, context, job, trigger, due, id, read } = await failed();
    context.clock.set(due);
    const { id: backfill } = await startBackfill(context, (await read()).item, {
      start_at: AT_13,
      end_at: AT_13 + HOUR_MS,
    });
    await begin({ execution: `${backfill}-0`, trigger: { backfill, batch: 0 } });
    for (const minutes of [1, 9, 9]) {
      context.clock.advance(minutes * MINUTE_MS);
      await context.table.write([{ change: keys.job('retry', run.id), set: { attempts: 9 } }]);
      expect(await begin({ execution: 'again', trigger })).toMatchObject({ do: 'hold' });
      expect(await job('retry', run.id)).toMatchObject({
        due: context.clock() + 10 * MINUTE_MS,
        attempts: 0,
        about: JSON.stringify({ export: id }),
      });
    }
  });

  test('of a paused export waits, and is given up after a day', async () => {
    const { run, begin, context, runs, job, trigger, due, id } = await failed();
    await context.table.write([{ change: keys.batchExport(id), set: { paused: true } }]);
    context.clock.set(due);
    expect(await begin({ execution: 'again', trigger })).toEqual({ do: 'nothing' });
    expect(await job('retry', run.id)).toMatchObject({ due: due + HOUR_MS, about: JSON.stringify({ export: id }) });
    context.clock.set(due + DAY_MS);
    expect(await begin({ execution: 'again', trigger })).toEqual({ do: 'nothing' });
    expect(await job('retry', run.id)).toBeUndefined();
    expect((await runs()).map(({ status }) => status)).toEqual(['Failed']);
    const item = await context.table.get(keys.batchExport(id));
    expect(item && fromJsonText(item.latest_runs)).toMatchObject([{ id: run.id, status: 'Failed' }]);
  });
});
