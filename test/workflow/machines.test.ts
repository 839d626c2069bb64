/** Each state machine, run by the embedded engine to each of its endings. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import aslValidator from 'asl-validator';
import { MINUTE_MS, SECOND_MS } from '../../lib/basics/units.ts';
import { BACKGROUND_MS } from '../../lib/insights/answering/pooled-answerer.ts';
import { MACHINES } from '../../lib/workflow/definitions/index.ts';
import type { Skipped } from '../../lib/workflow/messages.ts';
import { readDefinition, type Task as TaskState } from '../../lib/workflow/states-language.ts';
import { STEPS, type StepRow } from '../../lib/workflow/steps.ts';
import type { ExecutionStatus, Json, MachineName } from '../../lib/workflow/workflow.ts';
import { named, type Task, world } from '../support/engine-world.ts';

describe.each(Object.entries(MACHINES))('the definition of %s', (name, definition) => {
  const text = JSON.stringify(definition);
  const references = [...text.matchAll(/\$\{([^}]*)\}/g)].map((match) => match[1] as string);

  test('is within the subset', () => {
    expect(() => readDefinition(name, definition)).not.toThrow();
  });

  test('is valid Amazon States Language', () => {
    const arn = 'arn:aws:lambda:eu-central-1:123456789012:function:$1';
    const checked = aslValidator(JSON.parse(text.replaceAll(/\$\{([^}]*)\}/g, arn)));
    expect([checked.isValid, checked.errorsText()]).toEqual([true, '']);
  });

  test('has a limit of time that holds the longest wait of each of its tasks, tries and pauses included', () => {
    const { TimeoutSeconds = 0, States } = readDefinition(name, definition);
    const waits = Object.values(States).map((state) => (state.Type === 'Task' ? longest(state) : 0));
    expect(Math.max(...waits)).toBeLessThanOrEqual(TimeoutSeconds);
  });

  test('names only steps and machines that there are', () => {
    for (const reference of references) expect([...Object.keys(STEPS), ...Object.keys(MACHINES)]).toContain(reference);
  });
});

/** How long a task may keep its machine when every try runs out of time and every pause is as long as it may be. */
function longest({ TimeoutSeconds = 0, Retry = [] }: TaskState): number {
  const pauses = Retry.flatMap(
    ({ MaxAttempts = 3, IntervalSeconds = 1, BackoffRate = 2, MaxDelaySeconds = Number.POSITIVE_INFINITY }) =>
      Array.from({ length: MaxAttempts }, (_, n) => Math.min(IntervalSeconds * BackoffRate ** n, MaxDelaySeconds)),
  );
  return pauses.reduce((sum, pause) => sum + pause + TimeoutSeconds, TimeoutSeconds);
}

test('every step has its function, and is called by a machine, or at the end of one', () => {
  const folder = join(import.meta.dirname, '../../functions/steps');
  const files = readdirSync(folder).map((file) => file.replace(/\.ts$/, ''));
  const called = Object.keys(STEPS).filter((step) => JSON.stringify(MACHINES).includes(`\${${step}}`));
  expect([...called, 'execution-ended'].toSorted()).toEqual(Object.keys(STEPS).toSorted());
  expect(files.toSorted()).toEqual(Object.keys(STEPS).toSorted());
});

test('a step that waits for an answer outlives the longest one, and so hears that the query takes too long', () => {
  const waiting = Object.entries<StepRow>(STEPS).filter(([, { needs }]) => needs.includes('answers'));
  expect(waiting.map(([name]) => name)).toEqual(['check-alert', 'compose-subscription']);
  for (const [name, { timeout }] of waiting) {
    // What it does before and after, and the start of its function.
    const isEnough = timeout * SECOND_MS >= BACKGROUND_MS + MINUTE_MS;
    expect({ name, isEnough }).toEqual({ name, isEnough: true });
  }
});

/** Runs one execution over the tasks to its end. */
async function runToEnd(machine: MachineName, input: Json, tasks: Record<string, Task>) {
  const it = world({ machines: MACHINES, tasks });
  const { engine, run } = it.boot();
  const begin = it.time.clock();
  await engine.start(machine, 'execution', input);
  await run();
  const item = (await it.items('execution'))[0];
  const of = (task: string): Json[] => it.calls.filter((call) => call.task === task).map((call) => call.input);
  return {
    status: item?.['status'] as ExecutionStatus,
    output: JSON.parse(String(item?.['output'] ?? 'null')) as Json,
    error: JSON.parse(String(item?.['error'] ?? 'null')) as Json,
    seconds: (Number(item?.['ended_at']) - begin) / 1000,
    steps: it.calls.map((call) => call.task),
    ended: it.ended,
    of,
    left: await it.unfinished(),
  };
}

const sent: Task = (input) => ({ interval: (input as { interval: number }).interval, status: 'Completed' });
const finished: Task = () => ({ completed: 1, failed: 0, cancelled: 0 });
const fails =
  (name: string, message?: string): Task =>
  () =>
    Promise.reject(named(name, message));
const deliver = { do: 'deliver', attempt: 'e-7', intervals: [0, 2], concurrency: 2 };

describe('export-run', () => {
  const input = { export: 'e', trigger: 'schedule' };

  test('ends at once when nothing is due', async () => {
    const { status, steps, of, seconds } = await runToEnd('export-run', input, {
      'begin-run': () => ({ do: 'nothing' }),
    });
    expect([status, steps, seconds]).toEqual(['SUCCEEDED', ['begin-run'], 0]);
    expect(of('begin-run')).toEqual([{ ...input, execution: 'execution' }]);
  });

  test('sends each interval and finishes', async () => {
    const { status, output, of } = await runToEnd('export-run', input, {
      'begin-run': () => deliver,
      'send-interval': sent,
      'finish-run': finished,
    });
    expect([status, output]).toEqual(['SUCCEEDED', { completed: 1, failed: 0, cancelled: 0 }]);
    const common = { export: 'e', execution: 'execution', attempt: 'e-7', unloaded: null };
    expect(of('send-interval')).toEqual([
      { ...common, interval: 0 },
      { ...common, interval: 2 },
    ]);
    expect(of('finish-run')).toEqual([{ ...input, execution: 'execution', attempt: 'e-7', skipped: [], error: null }]);
  });

  test('unloads first where the warehouse wants it, and says which attempt to read', async () => {
    const unload = { QueryString: "UNLOAD ... 's3://runFiles/e-7/{try}/'", Database: 'lake', WorkGroup: 'exports' };
    const { status, of } = await runToEnd('export-run', input, {
      'begin-run': () => ({ ...deliver, do: 'unload', unload }),
      'send-interval': sent,
      'finish-run': finished,
    });
    expect(status).toBe('SUCCEEDED');
    expect(of('send-interval')).toMatchObject([{ unloaded: 0 }, { unloaded: 0 }]);
  });

  test('holds as long as begin says and asks again', async () => {
    const answers = [{ do: 'hold', seconds: 5 }, { do: 'hold', seconds: 60 }, { do: 'nothing' }];
    const { status, seconds, of } = await runToEnd(
      'export-run',
      { export: 'e', trigger: { backfill: 'b', batch: 3 } },
      {
        'begin-run': () => answers.shift() as Json,
      },
    );
    expect([status, seconds]).toEqual(['SUCCEEDED', 65]);
    expect(of('begin-run')).toEqual(
      Array.from({ length: 3 }, () => ({ export: 'e', trigger: { backfill: 'b', batch: 3 }, execution: 'execution' })),
    );
  });

  test('gives up after two hours of holding', async () => {
    const { status, seconds, error, of, ended } = await runToEnd('export-run', input, {
      'begin-run': () => ({ do: 'hold', seconds: 60 }),
      'finish-run': finished,
    });
    expect([status, seconds]).toEqual(['FAILED', 7200]);
    expect(error).toMatchObject({ Error: 'Held' });
    expect(of('finish-run')).toEqual([{ ...input, execution: 'execution', attempt: null, skipped: [], error }]);
    expect(ended).toMatchObject([{ machine: 'export-run', execution: 'execution', status: 'FAILED', input }]);
  });

  test('does not give up for waiting among the batches of its organization', async () => {
    let asked = 0;
    const { status, seconds } = await runToEnd('export-run', input, {
      'begin-run': () => ((asked += 1) <= 200 ? { do: 'hold', seconds: 60, queued: true } : { do: 'nothing' }),
    });
    expect([status, seconds]).toEqual(['SUCCEEDED', 12_000]);
  });

  test('gives up at once when begin fails for good', async () => {
    const { status, error, of } = await runToEnd('export-run', input, {
      'begin-run': fails('Permanent', 'The interval is too big.'),
      'finish-run': finished,
    });
    expect([status, error, of('begin-run').length]).toEqual([
      'FAILED',
      expect.objectContaining({ Error: 'Permanent' }),
      1,
    ]);
    expect(of('finish-run')).toMatchObject([{ attempt: null, skipped: [], error: { Error: 'Permanent' } }]);
  });

  test('tries what may pass 12 times, in about 15 minutes with the middle of the jitter', async () => {
    const { status, seconds, of } = await runToEnd('export-run', input, {
      'begin-run': fails('Transient'),
      'finish-run': finished,
    });
    expect([status, of('begin-run').length, seconds]).toEqual(['FAILED', 12, 1815 / 2]);
  });

  test('skips an interval that cannot be sent; the others go on, and finish knows why', async () => {
    const { status, of } = await runToEnd('export-run', input, {
      'begin-run': () => ({ ...deliver, intervals: [0, 1, 2, 3] }),
      'send-interval': (each) => {
        const { interval } = each as { interval: number };
        if (interval === 1) throw named('Transient', 'the bucket is down');
        if (interval === 2) throw named('TypeError', 'x'.repeat(5000));
        return { interval, status: interval === 3 ? 'Failed' : 'Completed' };
      },
      'finish-run': finished,
    });
    expect(status).toBe('SUCCEEDED');
    const [finish] = of('finish-run') as unknown as { skipped: Skipped[]; error: null }[];
    expect(finish?.skipped.map(({ interval, error }) => [interval, error.Error, error.Cause?.length])).toEqual([
      [1, 'Transient', expect.any(Number)],
      [2, 'TypeError', 500],
    ]);
    expect(finish?.skipped[0]?.error.Cause).toContain('the bucket is down');
    const tries = (interval: number) =>
      of('send-interval').filter((each) => (each as { interval: number }).interval === interval).length;
    expect([0, 1, 2, 3].map(tries)).toEqual([1, 12, 1, 1]);
  });

  test('tries an interval whose worker dies three times, then skips it', async () => {
    const { status, of, seconds } = await runToEnd('export-run', input, {
      'begin-run': () => ({ ...deliver, intervals: [4] }),
      'send-interval': fails('Sandbox.Timedout'),
      'finish-run': finished,
    });
    expect([status, of('send-interval').length, seconds]).toEqual(['SUCCEEDED', 3, (5 + 10) / 2]);
    expect(of('finish-run')).toMatchObject([{ skipped: [{ interval: 4, error: { Error: 'Sandbox.Timedout' } }] }]);
  });

  test('tries an interval that runs out of time three times, then skips it alone: a time-out has no cause', async () => {
    const it = world({
      machines: MACHINES,
      tasks: {
        'begin-run': () => ({ ...deliver, intervals: [4, 5] }),
        'send-interval': (each, signal) => {
          const { interval } = each as { interval: number };
          if (interval === 4) while (!signal.aborted) it.time.ring();
          return { interval, status: 'Completed' };
        },
        'finish-run': finished,
      },
    });
    const { engine, run } = it.boot();
    await engine.start('export-run', 'execution', input);
    await run();
    expect(it.calls.filter(({ task }) => task === 'send-interval').length).toBe(4);
    const skipped = [{ interval: 4, error: { Error: 'States.Timeout', Cause: '' } }];
    expect(it.calls.at(-1)).toMatchObject({ task: 'finish-run', input: { skipped, error: null } });
  });

  test('gives up when begin answers nonsense', async () => {
    const { status, of } = await runToEnd('export-run', input, {
      'begin-run': () => ({ ...deliver, intervals: 'all' }),
      'finish-run': finished,
    });
    expect([status, of('send-interval')]).toEqual(['FAILED', []]);
    expect(of('finish-run')).toMatchObject([{ attempt: 'e-7', error: { Error: 'States.QueryEvaluationError' } }]);
    const unknown = await runToEnd('export-run', input, { 'begin-run': () => ({ do: 'dance' }) });
    expect([unknown.status, unknown.error]).toEqual([
      'FAILED',
      expect.objectContaining({ Error: 'States.NoChoiceMatched' }),
    ]);
  });

  test.each([
    ['finish-run', deliver],
    ['finish-run', { do: 'hold', seconds: 7200 }],
  ])('fails when %s cannot be done, and that is told', async (step, begun) => {
    const { status, ended, left } = await runToEnd('export-run', input, {
      'begin-run': () => begun,
      'send-interval': sent,
      [step]: fails('Bug'),
    });
    expect([status, left]).toEqual(['FAILED', []]);
    expect(ended).toMatchObject([{ execution: 'execution', status: 'FAILED', error: { Error: 'Bug' } }]);
  });

  test('is timed out after a day, and tries nothing after it', async () => {
    const { status, seconds, ended, of, left } = await runToEnd('export-run', input, {
      'begin-run': () => ({
        ...deliver,
        intervals: Array.from({ length: 96 }, (_, interval) => interval),
        concurrency: 1,
      }),
      'send-interval': fails('Transient'),
    });
    // 12 tries of an interval take 907.5 s with the middle of the jitter: 95 of the 96 are skipped within the day.
    expect([status, seconds, left]).toEqual(['TIMED_OUT', 86_400, []]);
    expect(new Set(of('send-interval').map((each) => (each as { interval: number }).interval)).size).toBe(96);
    expect(of('finish-run')).toEqual([]);
    expect(ended).toMatchObject([{ execution: 'execution', status: 'TIMED_OUT', error: { Error: 'States.Timeout' } }]);
  });
});

describe('backfill', () => {
  const input = { export: 'e', backfill: 'b' };
  const nothing: Task = () => ({ do: 'nothing' });

  test('without batches is closed at once', async () => {
    const { status, output, steps, of } = await runToEnd('backfill', input, {
      'prepare-backfill': () => ({ batches: [], concurrency: 2 }),
      'close-backfill': () => ({ status: 'Completed' }),
    });
    expect([status, output, steps]).toEqual([
      'SUCCEEDED',
      { status: 'Completed' },
      ['prepare-backfill', 'close-backfill'],
    ]);
    expect(of('prepare-backfill')).toEqual([{ ...input, execution: 'execution' }]);
    expect(of('close-backfill')).toEqual([{ ...input, execution: 'execution', error: null }]);
  });

  test('runs each batch as an execution named after it, and closes after the last', async () => {
    const { status, steps, of } = await runToEnd('backfill', input, {
      'prepare-backfill': () => ({ batches: [0, 1, 4], concurrency: 2 }),
      'begin-run': nothing,
      'close-backfill': () => ({ status: 'Completed' }),
    });
    expect([status, steps.at(-1)]).toEqual(['SUCCEEDED', 'close-backfill']);
    expect(of('begin-run')).toEqual(
      [0, 1, 4].map((batch) => ({ export: 'e', trigger: { backfill: 'b', batch }, execution: `b-${batch}` })),
    );
  });

  test('goes on when a batch fails', async () => {
    const { status, steps, ended } = await runToEnd('backfill', input, {
      'prepare-backfill': () => ({ batches: [0, 1, 2], concurrency: 1 }),
      'begin-run': (each) => {
        if ((each as { execution: string }).execution === 'b-1') throw named('Permanent');
        return { do: 'nothing' };
      },
      'finish-run': finished,
      'close-backfill': () => ({ status: 'Failed' }),
    });
    expect(status).toBe('SUCCEEDED');
    expect(steps).toEqual(['prepare-backfill', 'begin-run', 'begin-run', 'finish-run', 'begin-run', 'close-backfill']);
    expect(ended).toMatchObject([{ machine: 'export-run', execution: 'b-1', status: 'FAILED' }]);
  });

  test('runs as many batches as 200,000 intervals need', async () => {
    const batches = Array.from({ length: 2084 }, (_, batch) => batch);
    const { status, of, left } = await runToEnd('backfill', input, {
      'prepare-backfill': () => ({ batches, concurrency: 2 }),
      'begin-run': nothing,
      'close-backfill': () => ({ status: 'Completed' }),
    });
    expect([status, of('begin-run').length, left]).toEqual(['SUCCEEDED', 2084, []]);
  });

  test('is closed as failed when it has waited half an hour for runs that nobody settles', async () => {
    const { status, seconds, of } = await runToEnd('backfill', input, {
      'prepare-backfill': () => ({ batches: [0], concurrency: 2 }),
      'begin-run': nothing,
      'close-backfill': (closed) => {
        if ((closed as { error: Json }).error === null) throw named('Transient', 'not settled');
        return { status: 'Failed' };
      },
    });
    expect(status).toBe('FAILED');
    expect(seconds).toBeLessThanOrEqual(1_815);
    expect(of('close-backfill')).toHaveLength(13);
    expect(of('close-backfill').at(-1)).toMatchObject({
      ...input,
      error: { Error: 'Transient' },
    });
  });

  test('is given up when it cannot be prepared', async () => {
    const { status, error, of } = await runToEnd('backfill', input, {
      'prepare-backfill': fails('Permanent', 'no'),
      'close-backfill': () => ({ status: 'Failed' }),
    });
    expect([status, error]).toEqual(['FAILED', expect.objectContaining({ Error: 'Permanent' })]);
    expect(of('close-backfill')).toMatchObject([{ ...input, error: { Error: 'Permanent' } }]);
  });

  test.each([
    ['after its batches', () => ({ batches: [0], concurrency: 2 })],
    ['after a failure', fails('Permanent')],
  ])('fails when it cannot be closed %s, and that is told', async (_, prepare) => {
    const { status, ended } = await runToEnd('backfill', input, {
      'prepare-backfill': prepare,
      'begin-run': nothing,
      'close-backfill': fails('Bug'),
    });
    expect(status).toBe('FAILED');
    expect(ended).toMatchObject([{ machine: 'backfill', execution: 'execution', status: 'FAILED', input }]);
  });
});

describe('purge', () => {
  const input = { kind: 'organization', id: 'o' };

  test('walks on while there is more, rests 15 minutes after a find, and ends when nothing is found', async () => {
    const answers = ['more', 'more', 'rest', 'nothing'];
    const { status, seconds, of } = await runToEnd('purge', input, {
      purge: () => ({ do: answers.shift() as string }),
    });
    expect([status, seconds]).toEqual(['SUCCEEDED', 900]);
    expect(of('purge')).toEqual(Array.from({ length: 4 }, () => ({ ...input, execution: 'execution' })));
  });

  test('tries what may pass again', async () => {
    let failures = 3;
    const walk: Task = () => {
      failures -= 1;
      if (failures >= 0) throw named('Transient');
      return { do: 'nothing' };
    };
    expect(await runToEnd('purge', input, { purge: walk })).toMatchObject({ status: 'SUCCEEDED', seconds: 35 / 2 });
  });

  test('fails when a walk fails for good, and that is told', async () => {
    const { status, ended } = await runToEnd('purge', input, { purge: fails('Bug') });
    expect(status).toBe('FAILED');
    expect(ended).toMatchObject([{ machine: 'purge', input, error: { Error: 'Bug' } }]);
  });
});
