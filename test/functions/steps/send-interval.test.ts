import type { RunItem } from '../../../lib/exports/records/model.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { cancelBackfill } from '../../../lib/exports/runs/cancel.ts';
import { finishRun } from '../../../lib/exports/runs/finish.ts';
import { cancelOpenRun } from '../../../lib/exports/runs/outcome.ts';
import { Permanent, Transient } from '../../../lib/ports/errors.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { HOUR_MS } from '../../../lib/ports/units.ts';
import type { Deliverable } from '../../../lib/workflow/messages.ts';
import { hourlyExport } from '../../support/hourly-export.ts';

const AT_13 = Date.UTC(2026, 0, 7, 13);

/** An export with one interval of two rows, begun. */
async function begun() {
  const world = await hourlyExport();
  await world.arrive(AT_13, 'a', 'b');
  world.context.clock.set(AT_13 + HOUR_MS + 60_000);
  const answer = await world.begin();
  const run = async () => ((await world.runs()) as [RunItem])[0];
  return { ...world, answer, attempt: (answer as Deliverable).attempt, run };
}

test('counts, delivers, commits, and says what it did', async () => {
  const { answer, send, remembered, run } = await begun();
  const seen: unknown[] = [];
  remembered.inside = async (call) => {
    const { status, phase, records_total_count } = await run();
    seen.push([call, status, phase, records_total_count]);
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Completed' });
  expect(seen).toEqual([
    ['deliver', 'Running', null, 2],
    ['commit', 'Running', 'committing', 2],
  ]);
  expect(remembered.shown).toEqual(new Map([[AT_13, 'a\nb\n']]));
  expect(await run()).toMatchObject({
    status: 'Completed',
    phase: null,
    records_completed: 2,
    bytes_exported: 4,
    latest_error: null,
    finished_at: AT_13 + HOUR_MS + 60_000,
  });
});

test('rows that the lake lists and nobody can read fail the run before anything is delivered', async () => {
  const { answer, send, remembered, run, context } = await begun();
  context.warehouse.count = async () => 1;
  expect(await send(answer)).toEqual({ interval: 0, status: 'Failed' });
  expect((await run()).latest_error).toContain('has at least 2 rows, but only 1 could be read');
  expect(remembered.calls).toEqual(['discard']);
});

test('sent again, it does nothing more', async () => {
  const { answer, send, remembered } = await begun();
  await send(answer);
  expect(await send(answer)).toEqual({ interval: 0, status: 'Completed' });
  expect(remembered.calls).toEqual(['deliver', 'commit']);
});

test('sent by two at once, it is shown once and completed once', async () => {
  const { answer, send, remembered, runs } = await begun();
  const both = await Promise.all([send(answer), send(answer)]);
  expect(both).toEqual([
    { interval: 0, status: 'Completed' },
    { interval: 0, status: 'Completed' },
  ]);
  expect(remembered.shown).toEqual(new Map([[AT_13, 'a\nb\n']]));
  expect(await runs()).toHaveLength(1);
});

test('a commit that was interrupted is finished with its receipt, not redone', async () => {
  const { answer, send, remembered, run } = await begun();
  remembered.inside = (call) => {
    if (call === 'commit') throw new Transient('The network is down.');
  };
  await expect(send(answer)).rejects.toThrow(Transient);
  expect(await run()).toMatchObject({ status: 'Running', phase: 'committing', latest_error: 'The network is down.' });
  remembered.inside = () => {};
  expect(await send(answer)).toEqual({ interval: 0, status: 'Completed' });
  expect(remembered.calls).toEqual(['deliver', 'commit', 'commit']);
});

test('a last commit that the end of the process cuts off ends no run: the next start tries it again', async () => {
  const { answer, send, remembered, run, context, id, attempt, findDestination } = await begun();
  remembered.inside = (call) => {
    if (call === 'commit') throw new Transient('The network is down.');
  };
  await expect(send(answer)).rejects.toThrow(Transient);
  const stop = new AbortController();
  remembered.inside = async (call, signal) => {
    if (call === 'commit') setImmediate(() => stop.abort(new Error('the process ends')));
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const skipped = [{ interval: 0, error: { Error: 'Transient', Cause: 'The network is down.' } }];
  const input = { export: id, trigger: 'schedule' as const, execution: 'execution', attempt, skipped, error: null };
  await expect(finishRun(context, input, findDestination, stop.signal)).rejects.toThrow('the process ends');
  expect(await run()).toMatchObject({ status: 'Running', phase: 'committing' });
  remembered.inside = () => {};
  expect(await finishRun(context, input, findDestination)).toEqual({ completed: 1, failed: 0, cancelled: 0 });
});

test('what was prepared before a failure that may pass is removed, and prepared anew', async () => {
  const { answer, send, remembered, run, context, attempt } = await begun();
  let failures = 1;
  const { table } = context;
  const write = table.write.bind(table);
  table.write = async (ops, options) => {
    const isCommitting = JSON.stringify(ops).includes('"phase":"committing"');
    if (isCommitting && failures-- > 0) throw new Transient('The table is down.');
    return write(ops, options);
  };
  await expect(send(answer)).rejects.toThrow(Transient);
  expect(remembered.calls).toEqual(['deliver', 'discard receipt']);
  expect(await context.runFiles.read(`${attempt}/receipt-0.json`)).toBeUndefined();
  expect(await run()).toMatchObject({ status: 'Running', phase: null });
  expect(await send(answer)).toEqual({ interval: 0, status: 'Completed' });
});

test('what only the user can mend ends the run, with its words', async () => {
  const { answer, send, remembered, run } = await begun();
  remembered.inside = (call) => {
    if (call === 'deliver') throw new Permanent("Bucket 'b' does not exist. Create it.");
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Failed' });
  expect(await run()).toMatchObject({ status: 'Failed', latest_error: "Bucket 'b' does not exist. Create it." });
  expect(remembered.calls).toEqual(['deliver', 'discard']);
});

test('an unknown error is thrown, and the run is left to the end of its batch, which names no secrets', async () => {
  const { answer, send, remembered, run, context, id, findDestination, attempt } = await begun();
  remembered.inside = (call) => {
    if (call === 'deliver') throw new TypeError('secret is undefined');
  };
  await expect(send(answer)).rejects.toThrow(TypeError);
  expect(await run()).toMatchObject({ status: 'Running', latest_error: null });
  const skipped = [{ interval: 0, error: { Error: 'TypeError', Cause: 'secret is undefined' } }];
  const input = { export: id, trigger: 'schedule' as const, execution: 'execution', attempt, skipped, error: null };
  expect(await finishRun(context, input, findDestination)).toEqual({ completed: 0, failed: 1, cancelled: 0 });
  expect(await run()).toMatchObject({ status: 'Failed', latest_error: 'An unexpected error has occurred' });
});

test('rows that the query does not let through end the run without the destination', async () => {
  const { send, remembered, arrive, begin, context, id, runs } = await hourlyExport();
  await arrive(AT_13);
  const destination_config = JSON.stringify({ path: context.folder, include_events: ['paid'] });
  await context.table.write([{ change: keys.batchExport(id), set: { destination_config } }]);
  const file = (await context.table.list({ partition: `W#1`, prefix: 'FILE' }, { limit: 1 })).items[0];
  expect(file).toBeDefined();
  await context.table.write([
    {
      change: { pk: String(file?.pk), sk: String(file?.sk) },
      set: { rows: 1, hours: JSON.stringify(Array(24).fill(1)) },
    },
  ]);
  context.clock.set(AT_13 + HOUR_MS + 60_000);
  expect(await send(await begin())).toEqual({ interval: 0, status: 'Completed' });
  expect(remembered.calls).toEqual([]);
  expect(await runs()).toMatchObject([{ records_total_count: 0, records_completed: 0, bytes_exported: 0 }]);
});

test('a worker that does not hear of the cancel sees it by itself, and rolls back', async () => {
  const { answer, send, remembered, run, context } = await begun();
  remembered.inside = async (call, signal) => {
    if (call !== 'deliver') return;
    await cancelOpenRun(context, await run());
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(remembered.calls).toEqual(['deliver', 'discard']);
  expect(remembered.shown.size).toBe(0);
});

test('a run that is cancelled just before its commit is not committed', async () => {
  const { answer, send, remembered, run, context, attempt } = await begun();
  const { runFiles } = context;
  const write = runFiles.write.bind(runFiles);
  runFiles.write = async (path, content) => {
    await write(path, content);
    if (path === `${attempt}/receipt-0.json`) await cancelOpenRun(context, await run());
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(remembered.calls).toEqual(['deliver', 'discard receipt']);
});

test('a run of a backfill that was cancelled just before its commit is not committed', async () => {
  const { begin, send, arrive, remembered, context, read, runs } = await hourlyExport();
  const start = AT_13 - 24 * HOUR_MS;
  await arrive(start, 'a');
  const { item } = await read();
  const { id } = await startBackfill(context, item, { start_at: start, end_at: start + HOUR_MS });
  const answer = await begin({ execution: `${id}-0`, trigger: { backfill: id, batch: 0 } });
  remembered.inside = async (call) => {
    // Only the backfill's own status, as a cancel that dies after its first write leaves it.
    if (call === 'deliver') {
      await context.table.write([{ change: keys.backfill(item.id, id), set: { status: 'Cancelled' } }]);
    }
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(await runs()).toMatchObject([{ status: 'Cancelled' }]);
  expect(remembered.shown.size).toBe(0);
  await expect(cancelBackfill(context, item, id)).rejects.toMatchObject({ status: 400 });
});

test('a worker that comes after its batch was settled does nothing', async () => {
  const { answer, send, remembered, context, id, findDestination, attempt } = await begun();
  const input = { export: id, trigger: 'schedule' as const, execution: 'execution', attempt, skipped: [], error: null };
  await finishRun(context, input, findDestination);
  remembered.calls.length = 0;
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(remembered.calls).toEqual([]);
});

test('a stop in the middle leaves the run as it is, to go on from', async () => {
  const { answer, send, remembered, run } = await begun();
  const stop = new AbortController();
  remembered.inside = (call, signal) => {
    if (call !== 'deliver') return;
    stop.abort(new Error('the service is closing'));
    signal.throwIfAborted();
  };
  await expect(send(answer, 0, stop.signal)).rejects.toThrow('the service is closing');
  expect(await run()).toMatchObject({ status: 'Running' });
  remembered.inside = () => {};
  expect(await send(answer)).toEqual({ interval: 0, status: 'Completed' });
});
