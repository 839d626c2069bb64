import { HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { folder } from '../../../lib/exports/destinations/folder.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import { changeBatchExport } from '../../../lib/exports/resource/change.ts';
import { waitsUntil } from '../../../lib/exports/runs/back-off.ts';
import { cancelBackfill } from '../../../lib/exports/runs/cancel.ts';
import { finishRun } from '../../../lib/exports/runs/finish.ts';
import { cancelOpenRun } from '../../../lib/exports/runs/outcome.ts';
import { sendInterval } from '../../../lib/exports/runs/send.ts';
import { orTransient } from '../../../lib/ports/aws-failures.ts';
import { Permanent, Transient } from '../../../lib/ports/errors.ts';
import { fromJsonText, toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import type { Deliverable } from '../../../lib/workflow/messages.ts';
import { hourlyExport } from '../../support/hourly-export.ts';
import { actBefore } from '../../support/table-override.ts';

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

/** A run of a backfill that is cancelled while it delivers. */
async function cancelledMeanwhile() {
  const world = await hourlyExport();
  const { begin, arrive, remembered, context, read } = world;
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
  return { ...world, answer, item, id };
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

test('a folder outside the roots, chosen before there were any, fails the run in a sentence', async () => {
  const { context, id, answer, attempt, organization, run } = await begun();
  const settings = { ...context.settings, folderRoots: ['/srv/exports'] };
  const input = { export: id, execution: 'execution', attempt, interval: 0, unloaded: null };
  await sendInterval({ ...context, settings }, input, new AbortController().signal, () => folder);
  expect(answer).toMatchObject({ attempt });
  expect(await run()).toMatchObject({
    status: 'Failed',
    latest_error: `'${context.folder}' is outside the folders that exports may write to: /srv/exports/${organization.id}.`,
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

test.each([
  ['in the run, from the write on with which the commit begins', 1, false],
  ['in a file, where it is too large for the run', 10_000, true],
])('a receipt is kept %s, until the commit is done', async (_, length, isInFile) => {
  const { answer, remembered, run, context, id, attempt, findDestination } = await begun();
  const known = findDestination();
  const padded: typeof known = {
    ...known,
    deliver: async (delivery) => ({
      receipt: { ...(await known.deliver(delivery)).receipt, more: 'x'.repeat(length) },
    }),
  };
  const send = () => {
    const input = { export: id, execution: 'execution', attempt, interval: 0, unloaded: null };
    expect(answer).toMatchObject({ attempt });
    return sendInterval(context, input, new AbortController().signal, () => padded);
  };
  const file = async () => (await context.runFiles.read(`${attempt}/receipt-0.json`)) !== undefined;
  remembered.inside = (call) => {
    if (call === 'commit') throw new Transient('The network is down.');
  };
  await expect(send()).rejects.toThrow(Transient);
  expect(await run()).toMatchObject({ phase: 'committing' });
  expect([(await run()).receipt === undefined, await file()]).toEqual([isInFile, isInFile]);
  remembered.inside = () => {};
  expect(await send()).toEqual({ interval: 0, status: 'Completed' });
  expect(remembered.calls).toEqual(['deliver', 'commit', 'commit']);
  expect((await run()).receipt).toBeUndefined();
});

test('a receipt of what can never be committed is forgotten before that is removed', async () => {
  const { answer, send, remembered, run } = await begun();
  const kept: unknown[] = [];
  remembered.inside = async (call) => {
    kept.push((await run()).receipt === undefined);
    if (call === 'commit') throw new Permanent('The bucket is gone.');
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Failed' });
  expect(remembered.calls).toEqual(['deliver', 'commit', 'discard receipt']);
  expect(kept).toEqual([true, false, true]);
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
  await expect(finishRun(context, input, { findDestination, signal: stop.signal })).rejects.toThrow('the process ends');
  expect(await run()).toMatchObject({ status: 'Running', phase: 'committing' });
  remembered.inside = () => {};
  expect(await finishRun(context, input, { findDestination })).toEqual({ completed: 1, failed: 0, cancelled: 0 });
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
  expect(await finishRun(context, input, { findDestination })).toEqual({ completed: 0, failed: 1, cancelled: 0 });
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
  const { answer, send, remembered, run, context } = await begun();
  const { table } = context;
  const write = table.write.bind(table);
  table.write = async (ops, options) => {
    if (JSON.stringify(ops).includes('"phase":"committing"')) {
      table.write = write;
      await cancelOpenRun(context, await run());
    }
    return write(ops, options);
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(remembered.calls).toEqual(['deliver', 'discard receipt']);
});

test('a run of a backfill that was cancelled just before its commit is not committed', async () => {
  const { answer, send, remembered, context, runs, item, id } = await cancelledMeanwhile();
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(await runs()).toMatchObject([{ status: 'Cancelled' }]);
  expect(remembered.shown.size).toBe(0);
  await expect(cancelBackfill(context, item, id)).rejects.toMatchObject({ status: 400 });
});

test('a run that the cancel of its backfill ends a moment before its worker does is no error of the worker', async () => {
  const { answer, send, context, runs } = await cancelledMeanwhile();
  const { table } = context;
  const write = table.write.bind(table);
  table.write = async (ops, options) => {
    if (JSON.stringify(ops).includes('was cancelled')) {
      table.write = write;
      const [run] = await runs();
      await cancelOpenRun(context, run as RunItem);
    }
    return write(ops, options);
  };
  expect(await send(answer)).toEqual({ interval: 0, status: 'Cancelled' });
  expect(await runs()).toMatchObject([{ status: 'Cancelled' }]);
});

describe('a worker whose run has got another attempt meanwhile', () => {
  const FAILURES = { permanent: new Permanent('The bucket is gone.'), transient: new Transient('The bucket is down.') };

  test.each([
    ['says that it runs', '"status":"Running"', [], undefined],
    ['marks it as committing', '"phase":"committing"', ['deliver'], undefined],
    ['completes it', '"status":"Completed"', ['deliver', 'commit'], undefined],
    ['fails it', '"status":"Failed"', ['deliver'], 'permanent'],
    ['tells what is in its way', '"latest_error":"The bucket is down."', ['deliver'], 'transient'],
  ] as const)('does not do so when it %s', async (_, written, calls, failure) => {
    const { answer, send, remembered, run, context, id } = await begun();
    let taken: RunItem | undefined;
    const isSuch = (ops: readonly Op[]) => JSON.stringify(ops).includes(written);
    actBefore(context.table, isSuch, async () => {
      await context.table.write([{ change: keys.run(id, (await run()).id), set: { attempt: 'of another' } }]);
      taken = await run();
    });
    remembered.inside = (call) => {
      if (call === 'deliver' && failure !== undefined) throw FAILURES[failure];
    };
    await Promise.allSettled([send(answer)]);
    expect(await run()).toEqual(taken);
    expect(remembered.calls.filter((call) => !call.startsWith('discard'))).toEqual(calls);
  });
});

test('a commit that was begun is not finished once the export is of another model', async () => {
  const { answer, send, remembered, run, context, id, attempt, findDestination } = await begun();
  remembered.inside = (call) => {
    if (call === 'commit') throw new Transient('The network is down.');
  };
  await expect(send(answer)).rejects.toThrow(Transient);
  expect(await run()).toMatchObject({ phase: 'committing' });
  await context.table.write([{ change: keys.batchExport(id), set: { model: 'persons' } }]);
  remembered.inside = () => {};
  remembered.calls.length = 0;
  const input = { export: id, trigger: 'schedule' as const, execution: 'execution', attempt, skipped: [], error: null };
  expect(await finishRun(context, input, { findDestination })).toEqual({ completed: 0, failed: 1, cancelled: 0 });
  expect(remembered.calls).toEqual(['discard receipt']);
  expect(remembered.shown.size).toBe(0);
});

test('a worker that comes after its batch was settled does nothing', async () => {
  const { answer, send, remembered, context, id, findDestination, attempt } = await begun();
  const input = { export: id, trigger: 'schedule' as const, execution: 'execution', attempt, skipped: [], error: null };
  await finishRun(context, input, { findDestination });
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

describe('an export whose destination has failed alike twice', () => {
  const HOURS = 4;

  /** An export with four intervals that are begun, and a destination that fails until it is mended. */
  async function failing(reason: (n: number) => string = (n) => `Request ${n}a7 was not answered.`, isPartial = false) {
    const world = await hourlyExport();
    for (let hour = 0; hour < HOURS; hour++) await world.arrive(AT_13 + hour * HOUR_MS, 'a');
    world.context.clock.set(AT_13 + HOURS * HOUR_MS + MINUTE_MS);
    const answer = await world.begin();
    const { remembered, context, send, read, id } = world;
    let isDown = true;
    const tries = (): number => remembered.calls.filter((call) => call === 'deliver').length;
    remembered.inside = (call) => {
      if (call === 'deliver' && isDown) throw new Transient(reason(tries()), { isPartial });
    };
    const attempts = (...intervals: number[]) =>
      Promise.allSettled(intervals.map((interval) => send(answer, interval))).then((all) =>
        all.map((one) => (one.status === 'fulfilled' ? one.value.status : (one.reason as Error).name)),
      );
    /** Lets the export wait as if it had been tried in vain just now. */
    const failAgain = async (): Promise<void> => {
      const trouble = { reason: 'x', failures: 2, until: context.clock() + MINUTE_MS };
      await context.table.write([{ change: keys.batchExport(id), set: { trouble: toJsonText(trouble) } }]);
    };
    const until = async () => waitsUntil((await read()).item, context.clock());
    const log = async () => {
      const items = await listAll(context.table, ranges.logLines(id));
      return items.flatMap((item) => fromJsonText(item.lines)).map(([, level, message]) => `${level} ${message}`);
    };
    return { ...world, answer, tries, attempts, failAgain, until, log, mend: () => void (isDown = false) };
  }

  test('waits as a whole: other intervals do not reach for it, their runs say why, and so does its log', async () => {
    const { attempts, tries, until, context, runs, log } = await failing();
    expect(await attempts(0)).toEqual(['Transient']);
    expect(await until()).toBeNull();
    expect(await attempts(1)).toEqual(['Transient']);
    expect(await until()).toBe(context.clock() + MINUTE_MS);
    expect(await attempts(0, 1, 2, 3)).toEqual(['Transient', 'Transient', 'Transient', 'Transient']);
    expect(tries()).toBe(2);
    expect((await runs()).map(({ latest_error }) => latest_error)).toEqual(
      Array.from({ length: HOURS }, () =>
        expect.stringMatching(/^The batch export waits for its destination, .*answered\.$/),
      ),
    );
    expect(await log()).toContainEqual(
      expect.stringMatching(
        /^WARNING Batch export waits for 1 min, as its destination failed 2 times in a row: Request/,
      ),
    );
    expect(context.lines.filter(({ fields }) => fields['BackOffs'] === 1)).toHaveLength(1);
  });

  test('does not wait for one that takes a part in each delivery, and one that has counts no failure of before', async () => {
    const { attempts, failAgain, tries, until, context } = await failing(undefined, true);
    expect(await attempts(0, 1, 2, 3)).toEqual(['Transient', 'Transient', 'Transient', 'Transient']);
    expect([tries(), await until()]).toEqual([4, null]);
    await failAgain();
    context.clock.advance(MINUTE_MS);
    await attempts(0);
    expect(await attempts(0, 1)).toEqual(['Transient', 'Transient']);
    expect([tries(), await until()]).toEqual([7, null]);
  });

  test('is tried by one delivery at a time, after waits that double up to an hour', async () => {
    const { attempts, tries, until, context } = await failing();
    await attempts(0);
    await attempts(1);
    const waits: number[] = [];
    for (let n = 0; n < 8; n++) {
      const wait = ((await until()) ?? 0) - context.clock();
      waits.push(wait / MINUTE_MS);
      context.clock.advance(wait);
      const before = tries();
      await attempts(0, 1, 2, 3);
      expect(tries() - before).toBe(1);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  test('goes on with all of it as soon as the one that tries has reached it', async () => {
    const { attempts, context, mend, until } = await failing();
    await attempts(0);
    await attempts(1);
    mend();
    expect(await attempts(2)).toEqual(['Transient']);
    context.clock.advance(MINUTE_MS);
    expect(await attempts(0)).toEqual(['Completed']);
    expect(await until()).toBeNull();
    expect(await attempts(1, 2, 3)).toEqual(['Completed', 'Completed', 'Completed']);
  });

  test('is tried by another one when the one that tried it has died', async () => {
    const { attempts, context, mend, remembered, tries } = await failing();
    await attempts(0);
    await attempts(1);
    context.clock.advance(MINUTE_MS);
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    const { inside } = remembered;
    remembered.inside = () => (resolve(), new Promise<void>(() => {}));
    void attempts(0);
    await reached;
    remembered.inside = inside;
    mend();
    expect(await attempts(1)).toEqual(['Transient']);
    expect(tries()).toBe(3);
    context.clock.advance(16 * MINUTE_MS);
    expect(await attempts(1)).toEqual(['Completed']);
  });

  test('is not lengthened by deliveries that were under way before', async () => {
    const { attempts, until, context } = await failing();
    await attempts(0, 1, 2, 3);
    expect(await until()).toBe(context.clock() + MINUTE_MS);
  });

  test('does not wait after failures that are not alike, or with a success between them', async () => {
    const unlike = await failing((n) => (n % 2 === 0 ? 'The connection was reset.' : 'No answer.'));
    for (const interval of [0, 1, 2, 3]) await unlike.attempts(interval);
    expect(unlike.tries()).toBe(4);
    expect(await unlike.until()).toBeNull();

    const between = await failing();
    const { inside } = between.remembered;
    await between.attempts(0);
    between.remembered.inside = () => {};
    expect(await between.attempts(1)).toEqual(['Completed']);
    between.remembered.inside = inside;
    await between.attempts(2);
    expect(await between.until()).toBeNull();
  });

  test('does not wait for what the service itself runs on: rows that S3 does not give are no trouble of it', async () => {
    const { attempts, tries, until, remembered, log } = await failing();
    const brokenOff = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    remembered.inside = async (call) => {
      if (call === 'deliver') await orTransient('S3', Promise.reject(brokenOff));
    };
    for (const interval of [0, 1, 2]) expect(await attempts(interval)).toEqual(['Transient']);
    expect(tries()).toBe(3);
    expect(await until()).toBeNull();
    expect((await log()).join()).not.toContain('its destination failed');
  });

  test('is tried at once after a change of the export, and after the begin of a backfill, once', async () => {
    const { attempts, until, tries, context, id, read, job } = await failing();
    await attempts(0);
    await attempts(1);
    expect(await until()).not.toBeNull();
    await changeBatchExport(context, await read(), { name: 'mended' }, undefined, () => []);
    expect(await until()).toBeNull();
    expect((await job('export'))?.due).toBeLessThan(context.clock() + HOUR_MS);
    await attempts(0, 1, 2, 3);
    expect(tries()).toBe(3);
    expect(await until()).not.toBeNull();
    await startBackfill(context, { id }, { start_at: AT_13 - HOUR_MS, end_at: AT_13 });
    await attempts(0, 1, 2, 3);
    expect(tries()).toBe(4);
  });

  test('begins nothing by the schedule, and no retry, until it is tried', async () => {
    const { attempts, failAgain, until, context, begin, runs, job, arrive, answer, id, findDestination } =
      await failing();
    await attempts(0);
    await attempts(1);
    const error = { Error: 'Transient', Cause: 'x' };
    const skipped = [0, 1, 2, 3].map((interval) => ({ interval, error }));
    const { attempt } = answer as Deliverable;
    await finishRun(
      context,
      { export: id, trigger: 'schedule', execution: 'execution', attempt, skipped, error: null },
      { findDestination },
    );
    const [failed] = await runs();
    await arrive(AT_13 + HOURS * HOUR_MS, 'a');
    context.clock.set(AT_13 + (HOURS + 1) * HOUR_MS + MINUTE_MS);
    await failAgain();
    expect(await begin({ execution: 'second' })).toEqual({ do: 'nothing' });
    expect(await job('export')).toMatchObject({ due: await until() });
    const retry = failed?.id ?? '';
    expect(await begin({ execution: 'third', trigger: { retry } })).toEqual({ do: 'nothing' });
    expect(await job('retry', retry)).toMatchObject({ due: await until() });
    expect(await runs()).toHaveLength(HOURS);
    context.clock.advance(MINUTE_MS);
    expect(await begin({ execution: 'fourth' })).toMatchObject({ do: 'deliver' });
  });

  /** Lets the time of a delivery pass once `reached` is. Returns how the delivery ends. */
  const lateOnce = async (reached: Promise<void>, send: () => Promise<string[]>): Promise<string[]> => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'setInterval', 'queueMicrotask', 'Date', 'performance'],
    });
    const sending = send();
    await reached;
    jest.advanceTimersByTime(14 * MINUTE_MS);
    jest.useRealTimers();
    return sending;
  };

  /** What never ends but by its signal; `begun` is told when it begins. */
  const hanging = (signal: AbortSignal, begun: () => void): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      begun();
    });

  test('counts a delivery that would take longer than its function has', async () => {
    const { attempts, remembered, read } = await failing();
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    remembered.inside = (call, signal) => (call === 'deliver' ? hanging(signal, resolve) : undefined);
    expect(await lateOnce(reached, () => attempts(0))).toEqual(['Transient']);
    expect((await read()).item.trouble).toContain('The delivery took longer than 14 minutes.');
  });

  // Other deliveries have the workers that select rows: that says nothing of this one's destination.
  test.each(['count', 'read'] as const)(
    'does not count one that waited for its rows until it was late: %s',
    async (until) => {
      const { attempts, remembered, read, runs, context } = await failing();
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      const waiting = (signal: AbortSignal) => hanging(signal, () => (context.clock.advance(8 * MINUTE_MS), resolve()));
      remembered.inside = () => {};
      if (until === 'count') context.warehouse.count = (_plan, _interval, signal) => waiting(signal);
      else
        context.warehouse.read = async function* (_plan, _interval, _form, signal) {
          yield await waiting(signal);
        };
      expect(await lateOnce(reached, () => attempts(0))).toEqual(['Transient']);
      expect((await read()).item.trouble ?? null).toBeNull();
      expect((await runs())[0]?.latest_error).toBe(
        'The delivery took longer than 14 minutes, 8 of which it waited for its rows.',
      );
    },
  );

  test('does not count one that had its rows too late', async () => {
    const { attempts, remembered, read, context } = await failing();
    const { promise: reached, resolve } = Promise.withResolvers<void>();
    const count = context.warehouse.count.bind(context.warehouse);
    context.warehouse.count = async (...asked) => {
      context.clock.advance(8 * MINUTE_MS);
      return count(...asked);
    };
    remembered.inside = (call, signal) => (call === 'deliver' ? hanging(signal, resolve) : undefined);
    expect(await lateOnce(reached, () => attempts(0))).toEqual(['Transient']);
    expect((await read()).item.trouble ?? null).toBeNull();
  });
});
