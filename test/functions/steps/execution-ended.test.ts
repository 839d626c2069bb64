import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { closeBackfill, prepareBackfill } from '../../../lib/exports/runs/backfill.ts';
import { beginRun } from '../../../lib/exports/runs/begin.ts';
import { executionEnded } from '../../../lib/exports/runs/finish.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import type { EndedInput } from '../../../lib/workflow/messages.ts';
import { hourlyExport } from '../../support/hourly-export.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);
type How = Pick<EndedInput, 'status' | 'error'>;

/** As a query of Athena that has failed is told. */
const unloaded = (StateChangeReason: string) => ({
  Error: 'States.TaskFailed',
  Cause: JSON.stringify({
    QueryExecution: {
      Query: "UNLOAD (SELECT secret) TO 's3://bucket/'",
      Status: { State: 'FAILED', StateChangeReason },
    },
  }),
});

/** How an execution ended; how a run of it does, how a backfill of it, and why. */
const ENDINGS: [How, string, string, string][] = [
  [{ status: 'FAILED', error: { Error: 'Bug', Cause: 'x' } }, 'Failed', 'Failed', 'An unexpected error has occurred'],
  [{ status: 'FAILED', error: null }, 'Failed', 'Failed', 'An unexpected error has occurred'],
  [{ status: 'FAILED', error: { Error: 'Held', Cause: 'Taken.' } }, 'FailedRetryable', 'Failed', 'Taken.'],
  [
    { status: 'FAILED', error: unloaded('NUMERIC_VALUE_OUT_OF_RANGE: bigint overflow\nat row 7') },
    'Failed',
    'Failed',
    'The query cannot be computed: NUMERIC_VALUE_OUT_OF_RANGE: bigint overflow',
  ],
  [
    { status: 'FAILED', error: unloaded('User arn:aws:sts::1:r is not authorized to perform glue:GetTable') },
    'FailedRetryable',
    'Failed',
    'Athena did not run the query to its end.',
  ],
  [{ status: 'TIMED_OUT', error: null }, 'FailedRetryable', 'TimedOut', 'The run took longer than it may.'],
  [{ status: 'ABORTED', error: null }, 'Terminated', 'Terminated', 'The run was stopped by whoever runs the service.'],
];

describe.each(ENDINGS)('an execution that ended so: %j', (how, status, ofBackfill, reason) => {
  test('ends the runs that it had left open, and lets the schedule go on', async () => {
    const { context, id, begin, arrive, runs, read, job, findDestination } = await hourlyExport();
    await arrive(AT_13, 'a');
    context.clock.set(AT_13 + HOUR_MS + 60_000);
    await begin();
    const input = { export: id, trigger: 'schedule' };
    const ended = { machine: 'export-run', execution: 'execution', input, ...how } as const;
    await executionEnded(context, ended, { findDestination });
    expect(await runs()).toMatchObject([{ status, latest_error: reason, finished_at: context.clock() }]);
    expect((await read()).plan).toMatchObject({ active: [], next: AT_13 + HOUR_MS });
    expect(await job('export')).toMatchObject({ due: AT_13 + 2 * HOUR_MS + 30_000 });
    const [run] = await runs();
    const [retry, notice] = await Promise.all([job('retry', run?.id), job('notice', run?.id)]);
    // Either it is tried again, or its people are told.
    expect([retry !== undefined, notice !== undefined]).toEqual([
      status === 'FailedRetryable',
      status !== 'FailedRetryable',
    ]);
    const before = [await runs(), await read()];
    await executionEnded(context, ended, { findDestination });
    expect([await runs(), await read()]).toEqual(before);
  });

  test('ends the backfill that it was of, and gives its range back', async () => {
    const { context, id, read, job } = await hourlyExport();
    context.clock.set(AT_13 + 2 * HOUR_MS);
    const backfill = await startBackfill(context, (await read()).item, { start_at: AT_13, end_at: AT_13 + HOUR_MS });
    const input = { export: id, backfill: backfill.id };
    await executionEnded(context, { machine: 'backfill', execution: backfill.id, input, ...how });
    expect(await context.table.get(keys.backfill(id, backfill.id))).toMatchObject({ status: ofBackfill });
    expect(JSON.parse(String((await job('notice', backfill.id))?.['about']))).toMatchObject({
      type: 'backfill_failed',
      reason: expect.stringContaining(reason),
    });
    expect((await read()).plan.claimed).toEqual([]);
    expect(await job('backfill', backfill.id)).toBeUndefined();
  });

  test('leaves a purge and a notice to their jobs', async () => {
    const { context } = await hourlyExport();
    const write = jest.spyOn(context.table, 'write');
    for (const machine of ['purge', 'notice'] as const) {
      await executionEnded(context, { machine, execution: 'n', input: {}, ...how });
    }
    expect(write).not.toHaveBeenCalled();
  });
});

test('a backfill waits with its end for runs of which it has not been told', async () => {
  const { context, id, begin, send, arrive, read, findDestination } = await hourlyExport();
  for (const hour of [0, 1, 2]) await arrive(AT_13 + hour * HOUR_MS, 'a');
  context.clock.set(AT_13 + 4 * HOUR_MS);
  const range = { start_at: AT_13, end_at: AT_13 + 3 * HOUR_MS };
  const { id: backfill } = await startBackfill(context, (await read()).item, range);
  const input = { export: id, backfill };
  await prepareBackfill(context, input);
  const execution = `${backfill}-0`;
  const begun = await begin({ execution, trigger: { backfill, batch: 0 } });
  await send(begun, 0);
  await send(begun, 1);
  await expect(closeBackfill(context, input, null)).rejects.toMatchObject({
    name: 'Transient',
    message: 'Runs of the backfill have not ended yet.',
  });
  const batch = { export: id, trigger: { backfill, batch: 0 } };
  const ended = { machine: 'export-run', execution, input: batch, status: 'ABORTED', error: null } as const;
  await executionEnded(context, ended, { findDestination });
  expect(await closeBackfill(context, input, null)).toBe('Failed');
  const lines = await listAll(context.table, ranges.logLines(id));
  expect(JSON.stringify(lines)).toContain('2 of 3 runs completed, 2 records exported');
});

test('runs that an upgrade could not go on with say so, and are run again', async () => {
  const { context, id, begin, arrive, runs, job, findDestination } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  await begin();
  const error = { Error: 'Transient', Cause: 'An earlier version of the service began it.' };
  const input = { export: id, trigger: 'schedule' };
  const ended = { machine: 'export-run', execution: 'execution', input, status: 'FAILED', error } as const;
  await executionEnded(context, ended, { findDestination });
  const [run] = await runs();
  expect(run).toMatchObject({ status: 'FailedRetryable', latest_error: error.Cause });
  expect(await job('retry', run?.id ?? '')).toMatchObject({ due: context.clock() + HOUR_MS });
});

test('the destination is not asked about runs that had not begun: it may be why they had not', async () => {
  const { context, id, begin, arrive, runs, findDestination, remembered } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  await begin();
  const input = { export: id, trigger: 'schedule' };
  const ended = { machine: 'export-run', execution: 'execution', input, status: 'TIMED_OUT', error: null } as const;
  await executionEnded(context, ended, { findDestination });
  expect(await runs()).toMatchObject([{ status: 'FailedRetryable' }]);
  expect(remembered.calls).toEqual([]);
});

test('a destination that does not answer keeps no batch from its end: what is left there is told, commits come first', async () => {
  const { context, id, begin, send, arrive, runs, read, remembered, findDestination } = await hourlyExport();
  const HOURS = 12;
  for (let hour = 0; hour < HOURS; hour++) await arrive(AT_13 + hour * HOUR_MS, 'a');
  context.clock.set(AT_13 + HOURS * HOUR_MS + 60_000);
  const begun = await begin();
  remembered.inside = (call) => {
    if (call === 'commit') throw new Transient('The network is down.');
  };
  await expect(send(begun, HOURS - 1)).rejects.toThrow(Transient);
  for (const run of (await runs()).slice(0, -1)) {
    await context.table.write([
      { change: keys.run(id, run.id), set: { status: 'Cancelled', records_total_count: 1, finished_at: 1 } },
    ]);
  }
  remembered.calls.length = 0;
  remembered.inside = (call) => {
    if (call === 'commit') return;
    context.clock.advance(30_000);
    throw new Transient('It did not answer.');
  };
  const input = { export: id, trigger: 'schedule' };
  const ended = { machine: 'export-run', execution: 'execution', input, status: 'ABORTED', error: null } as const;
  await executionEnded(context, ended, { findDestination });
  expect(remembered.calls).toEqual(['commit', ...Array.from({ length: 5 }, () => 'discard')]);
  expect((await runs()).at(-1)).toMatchObject({ status: 'Completed' });
  expect((await read()).plan.active).toEqual([]);
  expect(context.lines).toContainEqual(
    expect.objectContaining({
      level: 'WARNING',
      message: 'what was prepared could not be removed in time',
      fields: expect.objectContaining({ runs: 6 }),
    }),
  );
});

test('a run that took a day is not tried again: it has failed, and its people are told', async () => {
  const { context, id, begin, arrive, runs, job, findDestination } = await hourlyExport();
  await arrive(AT_13, 'a');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  await begin();
  context.clock.advance(DAY_MS);
  const input = { export: id, trigger: 'schedule' };
  const ended = { machine: 'export-run', execution: 'execution', input, status: 'TIMED_OUT', error: null } as const;
  await executionEnded(context, ended, { findDestination });
  const [run] = await runs();
  expect(run).toMatchObject({ status: 'Failed', latest_error: 'The run took longer than it may.' });
  expect(await job('notice', run?.id)).toBeDefined();
});

test('a run that failed as it began is told of, once for the run, and those of a backfill are not', async () => {
  const { context, id, arrive, runs, job, read, findDestination } = await hourlyExport();
  const limited = { ...context, settings: { ...context.settings, maxIntervalBytes: 0 } };
  await arrive(AT_13, 'more than one run can deliver');
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  const backfill = await startBackfill(context, (await read()).item, { start_at: AT_13, end_at: AT_13 + HOUR_MS });
  const triggers = { [`${backfill.id}-0`]: { backfill: backfill.id, batch: 0 }, execution: 'schedule' } as const;
  for (const [execution, trigger] of Object.entries(triggers)) {
    expect(await beginRun(limited, { export: id, trigger, execution })).toMatchObject({ do: 'deliver' });
    context.clock.advance(1_000);
    const input = { export: id, trigger };
    const ended = { machine: 'export-run', execution, input, status: 'FAILED', error: null } as const;
    await executionEnded(limited, ended, { findDestination });
  }
  const [ofBackfill, ofSchedule] = await runs();
  expect([ofBackfill?.status, ofSchedule?.status]).toEqual(['Failed', 'Failed']);
  expect(await job('notice', ofBackfill?.id)).toBeUndefined();
  const notice = await job('notice', ofSchedule?.id);
  expect(notice).toMatchObject({ due: ofSchedule?.created_at });
  expect(JSON.parse(String(notice?.['about']))).toMatchObject({
    type: 'run_failed',
    subject: ofSchedule?.id,
    reason: ofSchedule?.latest_error,
  });
});
