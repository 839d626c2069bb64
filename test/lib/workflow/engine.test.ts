import { DAY_MS } from '../../../lib/basics/units.ts';
import type { Item } from '../../../lib/ports/table/table.ts';
import { StateError } from '../../../lib/workflow/state-error.ts';
import type { Definition } from '../../../lib/workflow/states-language.ts';
import type { Json } from '../../../lib/workflow/workflow.ts';
import { named, never, type Process, type Task, until, world } from '../../support/engine-world.ts';

const task = (name: string, more: object = {}) => ({
  Type: 'Task' as const,
  Resource: 'arn:aws:states:::lambda:invoke' as const,
  Arguments: { FunctionName: `\${${name}}`, Payload: '{% $states.input %}' },
  Output: '{% $states.result.Payload %}',
  ...more,
});

const machine = (States: object, more: object = {}): Definition =>
  ({ QueryLanguage: 'JSONata', StartAt: Object.keys(States)[0], States, ...more }) as Definition;

const child = (name: string, more: object = {}) => ({
  Type: 'Task' as const,
  Resource: 'arn:aws:states:::states:startExecution.sync:2' as const,
  Arguments: {
    StateMachineArn: `\${${name}}`,
    Name: '{% $states.context.Execution.Name & "-child" %}',
    Input: '{% $states.input %}',
  },
  ...more,
});

/** Runs one execution of one machine to its end. */
async function runOne(definition: Definition, tasks: Record<string, Task> = {}, input: Json = {}) {
  const it = world({ machines: { m: definition }, tasks });
  const { engine, run } = it.boot();
  await engine.start('m', 'one', input);
  await run();
  const item = (await it.items('one')).find(({ sk }) => sk === 'EXECUTION') as Item;
  const parsed = (field: string): Json => JSON.parse(String(item[field] ?? 'null')) as Json;
  return { ...it, item, status: item['status'], output: parsed('output'), error: parsed('error') };
}

const double: Task = (input) => ({ n: (input as { n: number }).n * 2 });

describe('states', () => {
  test('pass data on through Task, Pass, Choice, Wait and Succeed', async () => {
    const definition = machine({
      A: task('double', { Next: 'B' }),
      B: {
        Type: 'Pass',
        Output: { n: '{% $states.input.n + 1 %}', name: '{% $states.context.Execution.Name %}' },
        Next: 'C',
      },
      C: {
        Type: 'Choice',
        Choices: [
          { Condition: '{% $states.input.n > 100 %}', Next: 'E' },
          {
            Condition: '{% $states.input.n > 4 %}',
            Next: 'D',
            Output: '{% $merge([$states.input, { "way": "rule" }]) %}',
          },
        ],
        Default: 'E',
        Output: '{% $merge([$states.input, { "way": "default" }]) %}',
      },
      D: { Type: 'Wait', Seconds: '{% $states.input.n %}', Next: 'E' },
      E: { Type: 'Succeed' },
    });
    const five = await runOne(definition, { double }, { n: 2 });
    expect([five.status, five.output]).toEqual(['SUCCEEDED', { n: 5, name: 'one', way: 'rule' }]);
    expect(five.item['ended_at']).toBe(Number(five.item['started_at']) + 5000);
    const three = await runOne(definition, { double }, { n: 1 });
    expect(three.output).toEqual({ n: 3, name: 'one', way: 'default' });
    expect(three.item['ended_at']).toBe(three.item['started_at']);
  });

  test('data that looks like an expression is data', async () => {
    const sly = { text: '{% $states.context.Execution.Name %}', list: ['{% 1 %}'] };
    const { output } = await runOne(
      machine({ A: task('echo', { Output: undefined, Next: 'B' }), B: { Type: 'Pass', End: true } }),
      { echo: (input) => input },
      sly,
    );
    expect(output).toEqual({ StatusCode: 200, Payload: sly });
  });

  test('an expression that yields nothing is States.QueryEvaluationError, and can be caught', async () => {
    const broken = machine({ A: { Type: 'Pass', Output: '{% $states.input.missing %}', End: true } });
    expect((await runOne(broken)).error).toEqual({
      Error: 'States.QueryEvaluationError',
      Cause: 'The expression $states.input.missing yields nothing.',
    });
    const caught = machine({
      A: task('echo', {
        Output: '{% $states.result.Payload.missing %}',
        End: true,
        Catch: [{ ErrorEquals: ['States.QueryEvaluationError'], Next: 'B' }],
      }),
      B: { Type: 'Pass', Output: '{% $states.input.Error %}', End: true },
    });
    expect((await runOne(caught, { echo: (input) => input })).output).toBe('States.QueryEvaluationError');
  });

  test('a condition that is not true or false, a negative wait and Items that are no list fail', async () => {
    const choice = { Type: 'Choice', Choices: [{ Condition: '{% 1 %}', Next: 'B' }] };
    const end = { Type: 'Succeed' };
    const map = {
      Type: 'Map',
      Items: '{% "x" %}',
      ItemProcessor: { ProcessorConfig: { Mode: 'INLINE' }, StartAt: 'I', States: { I: end } },
      Next: 'B',
    };
    for (const A of [choice, { Type: 'Wait', Seconds: '{% -1 %}', Next: 'B' }, map]) {
      const { status, error } = await runOne(machine({ A, B: end }));
      expect([status, error]).toEqual(['FAILED', expect.objectContaining({ Error: 'States.QueryEvaluationError' })]);
    }
  });

  test('a Choice without a rule that matches is States.NoChoiceMatched', async () => {
    const definition = machine({
      A: { Type: 'Choice', Choices: [{ Condition: '{% false %}', Next: 'B' }] },
      B: { Type: 'Succeed' },
    });
    expect((await runOne(definition)).error).toMatchObject({ Error: 'States.NoChoiceMatched' });
  });

  test('more than 256 KiB is States.DataLimitExceeded, which nothing catches', async () => {
    const definition = machine({
      A: task('big', { End: true, Catch: [{ ErrorEquals: ['States.ALL'], Next: 'B' }] }),
      B: { Type: 'Succeed' },
    });
    const fits = await runOne(definition, { big: () => 'x'.repeat(262_100) });
    expect(fits.status).toBe('SUCCEEDED');
    const tooBig = await runOne(definition, { big: () => 'é'.repeat(131_100) });
    expect([tooBig.status, tooBig.error]).toEqual([
      'FAILED',
      expect.objectContaining({ Error: 'States.DataLimitExceeded' }),
    ]);
  });

  test('Fail takes its error and cause from the data', async () => {
    const definition = machine({ A: { Type: 'Fail', Error: '{% $states.input.e %}', Cause: 'why' } });
    expect((await runOne(definition, {}, { e: 'Mine' })).error).toEqual({ Error: 'Mine', Cause: 'why' });
  });

  test('a query of Athena is answered at once', async () => {
    const definition = machine({
      A: {
        Type: 'Task',
        Resource: 'arn:aws:states:::athena:startQueryExecution.sync',
        Arguments: { QueryString: 'UNLOAD', QueryExecutionContext: { Database: 'd' }, WorkGroup: 'w' },
        Output: '{% $states.result.QueryExecution.Status.State %}',
        End: true,
      },
    });
    expect((await runOne(definition)).output).toBe('SUCCEEDED');
  });
});

const retry = (more: object = {}) => [
  { ErrorEquals: ['Transient'], IntervalSeconds: 5, MaxAttempts: 4, MaxDelaySeconds: 15, ...more },
];

describe('retries', () => {
  test('wait longer each time, up to the longest, and then the catcher has it', async () => {
    const definition = machine({
      A: task('fail', {
        Retry: retry(),
        Catch: [
          {
            ErrorEquals: ['States.ALL'],
            Output: '{% $merge([$states.errorOutput, { "n": $states.context.State.RetryCount }]) %}',
            Next: 'B',
          },
        ],
        End: true,
      }),
      B: { Type: 'Pass', End: true },
    });
    const { calls, output } = await runOne(definition, { fail: () => Promise.reject(named('Transient', 'no luck')) });
    const at = calls.map((call) => (call.at - (calls[0]?.at ?? 0)) / 1000);
    expect(at).toEqual([0, 5, 15, 30, 45]);
    expect(output).toMatchObject({ Error: 'Transient', n: 4 });
    const cause = JSON.parse((output as { Cause: string }).Cause) as Json;
    expect(cause).toMatchObject({ errorType: 'Transient', errorMessage: 'no luck', trace: expect.any(Array) });
  });

  test('with full jitter wait a random part of that', async () => {
    const parts = [0, 0.5, 0.25, 0.999];
    const it = world({
      machines: { m: machine({ A: task('fail', { Retry: retry({ JitterStrategy: 'FULL' }), End: true }) }) },
      tasks: { fail: () => Promise.reject(named('Transient')) },
      random: () => parts.shift() ?? 1,
    });
    const { engine, run } = it.boot();
    await engine.start('m', 'one', {});
    await run();
    const at = it.calls.map((call) => call.at - (it.calls[0]?.at ?? 0));
    expect(at).toEqual([0, 0, 5000, 8750, 23_735]);
    expect(await engine.status('m', 'one')).toBe('FAILED');
  });

  test('count each retrier by itself, and begin anew in the next state', async () => {
    const errors = ['X', 'Y', 'X', 'Y', 'X'];
    const once = [
      { ErrorEquals: ['X'], MaxAttempts: 2 },
      { ErrorEquals: ['Y'], MaxAttempts: 2 },
    ];
    const definition = machine({
      A: task('fail', { Retry: once, Catch: [{ ErrorEquals: ['X'], Output: {}, Next: 'B' }], End: true }),
      B: task('say', {
        Arguments: { FunctionName: '${say}', Payload: '{% $states.context.State.RetryCount %}' },
        End: true,
      }),
    });
    const { calls, output } = await runOne(definition, {
      fail: () => Promise.reject(named(errors.shift() ?? 'none')),
      say: (n) => n,
    });
    expect(calls.map((call) => call.task)).toEqual(['fail', 'fail', 'fail', 'fail', 'fail', 'say']);
    expect(output).toBe(0);
  });

  test('match names as AWS does: TaskFailed is anything but a time-out, and unknown names are not retried', async () => {
    const definition = machine({
      A: task('fail', {
        Retry: [{ ErrorEquals: ['Other'] }],
        Catch: [
          { ErrorEquals: ['States.Timeout'], Output: 'late', Next: 'B' },
          { ErrorEquals: ['States.TaskFailed'], Output: 'failed', Next: 'B' },
        ],
        TimeoutSeconds: 10,
        End: true,
      }),
      B: { Type: 'Pass', End: true },
    });
    const failed = await runOne(definition, { fail: () => Promise.reject(named('Permanent')) });
    expect([failed.output, failed.calls.length]).toEqual(['failed', 1]);
  });

  test('are caught with the cause of a function, or with that of the service which a task stands for', async () => {
    const definition = machine({
      A: task('fail', {
        Catch: [{ ErrorEquals: ['States.ALL'], Output: '{% $states.errorOutput %}', Next: 'B' }],
        End: true,
      }),
      B: { Type: 'Pass', End: true },
    });
    const caught = async (error: Error) => (await runOne(definition, { fail: () => Promise.reject(error) })).output;
    const { Error: name, Cause } = (await caught(named('Mine', 'why'))) as { Error: string; Cause: string };
    expect([name, JSON.parse(Cause)]).toMatchObject(['Mine', { errorType: 'Mine', errorMessage: 'why' }]);
    const other = { Error: 'States.TaskFailed', Cause: '{"QueryExecution":{}}' };
    expect(await caught(new StateError(other.Error, other.Cause))).toEqual(other);
  });
});

describe('time limits', () => {
  test('past its TimeoutSeconds a task is aborted, and has ended before it is tried again', async () => {
    const events: string[] = [];
    const it = world({
      machines: {
        m: machine({
          A: task('slow', {
            TimeoutSeconds: 10,
            Retry: [{ ErrorEquals: ['States.Timeout'], MaxAttempts: 1 }],
            End: true,
          }),
        }),
      },
      tasks: {
        slow: async (_, signal) => {
          events.push('begins');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          await Promise.resolve();
          events.push('ends');
          return 'too late';
        },
      },
    });
    const { engine } = it.boot();
    await engine.start('m', 'one', {});
    const begin = it.time.clock();
    await until(() => events.length === 1);
    expect(it.time.ring()).toBe(true);
    expect(it.time.clock()).toBe(begin + 10_000);
    await engine.idle();
    expect(events).toEqual(['begins', 'ends']);
    it.time.ring();
    await until(() => events.length === 3);
    expect(it.time.clock()).toBe(begin + 11_000);
    it.time.ring();
    await engine.idle();
    expect(events).toEqual(['begins', 'ends', 'begins', 'ends']);
    expect(await engine.status('m', 'one')).toBe('FAILED');
    expect(it.ended).toMatchObject([{ status: 'FAILED', error: { Error: 'States.Timeout' } }]);
  });

  test('a task that does not heed its signal is given up after 30 s more', async () => {
    const it = world({
      machines: { m: machine({ A: task('deaf', { TimeoutSeconds: 10, End: true }) }) },
      tasks: { deaf: never },
    });
    const { engine } = it.boot();
    await engine.start('m', 'one', {});
    await until(() => it.calls.length === 1);
    const begin = it.time.clock();
    it.time.ring();
    it.time.ring();
    expect(it.time.clock()).toBe(begin + 40_000);
    await engine.idle();
    expect(await engine.status('m', 'one')).toBe('FAILED');
  });

  test('past the TimeoutSeconds of its machine an execution is TIMED_OUT, wherever it is', async () => {
    const it = world({
      machines: {
        m: machine({ A: { Type: 'Wait', Seconds: 100, Next: 'B' }, B: { Type: 'Succeed' } }, { TimeoutSeconds: 60 }),
      },
      tasks: {},
    });
    const { engine, run } = it.boot();
    const begin = it.time.clock();
    await engine.start('m', 'one', {});
    await run();
    expect(it.time.clock()).toBe(begin + 60_000);
    expect(await engine.status('m', 'one')).toBe('TIMED_OUT');
    expect(it.ended).toMatchObject([{ execution: 'one', status: 'TIMED_OUT', error: { Error: 'States.Timeout' } }]);
    expect(it.time.pending()).toBe(0);
  });

  test('what is not running does not run too long: the TimeoutSeconds begin anew when a process goes on', async () => {
    const it = world({
      machines: { m: machine({ A: task('work', { End: true }) }, { TimeoutSeconds: 60 }) },
      tasks: { work: () => 'done' },
    });
    // The definition is written first, then the start.
    const first = it.boot({ death: { at: 2, when: 'after' } });
    expect(await first.call((engine) => engine.start('m', 'one', {}))).toBe(false);
    it.time.clock.advance(3 * DAY_MS);
    const second = it.boot();
    await second.engine.resume();
    await second.run();
    expect(await second.engine.status('m', 'one')).toBe('SUCCEEDED');
    expect(it.ended).toEqual([]);
  });

  test('a wait of a year rings after a year', async () => {
    const year = 365 * 24 * 3600;
    const definition = machine({ A: { Type: 'Wait', Seconds: year, Next: 'B' }, B: { Type: 'Succeed' } });
    const { item, status } = await runOne(definition);
    expect(status).toBe('SUCCEEDED');
    expect(Number(item['ended_at']) - Number(item['started_at'])).toBe(year * 1000);
  });
});

const mapOver = (concurrency: number | string, States: object, more: object = {}): Definition =>
  machine({
    M: {
      Type: 'Map',
      Items: '{% $states.input.items %}',
      MaxConcurrency: concurrency,
      ItemProcessor: { ProcessorConfig: { Mode: 'INLINE' }, StartAt: Object.keys(States)[0], States },
      End: true,
      ...more,
    },
  });

const tensAndRound: Task = (input) => {
  const { round, item } = input as { round: number; item: number };
  return item * 10 + round;
};

describe('a Map', () => {
  const items = [0, 1, 2, 3, 4, 5, 6, 7];

  test('gives the outputs in the order of the items, no more than MaxConcurrency at a time', async () => {
    let now = 0;
    let most = 0;
    const tasks: Record<string, Task> = {
      work: async (item) => {
        now += 1;
        most = Math.max(most, now);
        for (let turn = Number(item) % 3; turn >= 0; turn -= 1) await new Promise(setImmediate);
        now -= 1;
        return Number(item) * 10;
      },
    };
    const { output } = await runOne(mapOver('{% $states.input.n %}', { W: task('work', { End: true }) }), tasks, {
      items,
      n: 3,
    });
    expect(output).toEqual([0, 10, 20, 30, 40, 50, 60, 70]);
    expect(most).toBe(3);
    const empty = await runOne(mapOver(3, { W: task('work', { End: true }) }), tasks, { items: [] });
    expect(empty.output).toEqual([]);
  });

  test('leaves nothing but the execution in the table, for seven days', async () => {
    const it = world({
      machines: { m: mapOver(2, { W: task('work', { End: true }) }) },
      tasks: { work: (item) => item },
    });
    const { engine, run } = it.boot();
    await engine.start('m', 'one', { items });
    await run();
    expect((await it.items('one')).map(({ sk }) => sk)).toEqual(['EXECUTION']);
    expect(await it.unfinished()).toEqual([]);
    it.time.clock.advance(7 * DAY_MS + 1000);
    expect(await it.items('one')).toEqual([]);
    expect(await engine.status('m', 'one')).toBeUndefined();
  });

  test('when an item fails the others are stopped and no other is begun', async () => {
    const stopped: Json[] = [];
    const third = Promise.withResolvers<void>();
    const tasks: Record<string, Task> = {
      work: async (item, signal) => {
        if (item === 3) third.resolve();
        if (item === 1) return 'done';
        if (item === 2) {
          await third.promise;
          throw named('Permanent', 'no');
        }
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        stopped.push(item);
        throw signal.reason;
      },
    };
    const { status, error, calls } = await runOne(mapOver(3, { W: task('work', { End: true }) }), tasks, { items });
    expect([status, error]).toEqual(['FAILED', expect.objectContaining({ Error: 'Permanent' })]);
    expect(stopped).toEqual([0, 3]);
    expect(calls.map((call) => call.input)).toEqual([0, 1, 2, 3]);
  });

  test('an item may retry, wait, catch and choose by itself', async () => {
    const failed = new Set<Json>();
    const tasks: Record<string, Task> = {
      work: (item) => {
        if (item === 1 && !failed.has(item)) {
          failed.add(item);
          throw named('Transient');
        }
        if (item === 2) throw named('Permanent', 'no');
        return Number(item) * 10;
      },
    };
    const States = {
      W: task('work', {
        Retry: [{ ErrorEquals: ['Transient'], IntervalSeconds: 7 }],
        Catch: [{ ErrorEquals: ['Permanent'], Output: 'skipped', Next: 'S' }],
        Next: 'V',
      }),
      V: { Type: 'Wait', Seconds: 3, End: true },
      S: { Type: 'Pass', End: true },
    };
    const { output, item } = await runOne(mapOver(0, States), tasks, { items: [0, 1, 2] });
    expect(output).toEqual([0, 10, 'skipped']);
    expect(Number(item['ended_at']) - Number(item['started_at'])).toBe(10_000);
  });

  test('visited twice in one execution runs its items twice', async () => {
    const definition = machine({
      M: {
        Type: 'Map',
        Items: '{% $states.input.items %}',
        ItemSelector: { round: '{% $states.input.round %}', item: '{% $states.context.Map.Item.Value %}' },
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'W',
          States: { W: task('work', { End: true }) },
        },
        Output: { items: '{% $states.result %}', round: '{% $states.input.round + 1 %}' },
        Next: 'C',
      },
      C: { Type: 'Choice', Choices: [{ Condition: '{% $states.input.round < 3 %}', Next: 'M' }], Default: 'D' },
      D: { Type: 'Succeed' },
    });
    const { output, calls } = await runOne(definition, { work: tensAndRound }, { items: [1, 2], round: 0 });
    expect(output).toEqual({ items: [1012, 2012], round: 3 });
    expect(calls).toHaveLength(6);
  });
});

describe('children', () => {
  const machines = {
    parent: machine({
      A: child('kid', {
        Output: '{% $states.result.Output %}',
        Catch: [{ ErrorEquals: ['States.TaskFailed'], Next: 'B' }],
        End: true,
      }),
      B: { Type: 'Pass', End: true },
    }),
    kid: machine({ A: task('work', { End: true }) }),
  };

  test('the parent waits for the child and has its output', async () => {
    const it = world({ machines, tasks: { work: () => ({ made: 1 }) } });
    const { engine, run } = it.boot();
    await engine.start('parent', 'p', { x: 1 });
    await run();
    expect(await engine.status('parent', 'p')).toBe('SUCCEEDED');
    expect(await engine.status('kid', 'p-child')).toBe('SUCCEEDED');
    expect((await it.items('p'))[0]).toMatchObject({ output: '{"made":1}' });
    expect((await it.items('p-child'))[0]).toMatchObject({ parent: 'p', input: '{"x":1}' });
  });

  test("a child's failure is States.TaskFailed, with the child's error in the cause", async () => {
    const it = world({ machines, tasks: { work: () => Promise.reject(named('Permanent', 'no')) } });
    const { engine, run } = it.boot();
    await engine.start('parent', 'p', {});
    await run();
    const output = JSON.parse(String((await it.items('p'))[0]?.['output'])) as { Error: string; Cause: string };
    expect(output.Error).toBe('States.TaskFailed');
    expect(JSON.parse(output.Cause)).toMatchObject({ Name: 'p-child', Status: 'FAILED', Error: 'Permanent' });
    expect(it.ended.map(({ execution }) => execution)).toEqual(['p-child']);
  });

  test('a child that was started before is joined, running or ended', async () => {
    const it = world({ machines, tasks: { work: (input) => input } });
    const { engine, run } = it.boot();
    await engine.start('kid', 'p-child', { first: true });
    await engine.start('parent', 'p', {});
    await run();
    await engine.start('kid', 'q-child', { second: true });
    await run();
    await engine.start('parent', 'q', {});
    await run();
    expect((await it.items('p'))[0]).toMatchObject({ output: '{"first":true}' });
    expect((await it.items('q'))[0]).toMatchObject({ output: '{"second":true}' });
    expect(it.calls).toHaveLength(2);
  });

  test('a child name that cannot be is an error of the state', async () => {
    const it = world({ machines, tasks: {} });
    const { engine, run } = it.boot();
    const name = 'n'.repeat(78);
    await engine.start('parent', name, {});
    await run();
    expect((await it.items(name))[0]?.['output']).toContain('StepFunctions.InvalidNameException');
  });
});

describe('starting', () => {
  const machines = { m: machine({ A: task('work', { End: true }) }) };

  test('a name that is known starts nothing, running or ended', async () => {
    const it = world({ machines, tasks: { work: (input) => input } });
    const { engine, run } = it.boot();
    await Promise.all([engine.start('m', 'one', { n: 1 }), engine.start('m', 'one', { n: 2 })]);
    await run();
    await engine.start('m', 'one', { n: 3 });
    await run();
    expect(it.calls.map(({ input }) => input)).toEqual([{ n: 1 }]);
    expect(await engine.status('m', 'one')).toBe('SUCCEEDED');
    expect(await engine.status('m', 'two')).toBeUndefined();
  });

  test('names, machines and inputs that no home takes are refused', async () => {
    const { engine } = world({ machines, tasks: {} }).boot();
    for (const name of ['', 'a b', 'a#b', 'é', 'n'.repeat(81)]) {
      await expect(engine.start('m', name, {})).rejects.toThrow('cannot be named');
    }
    await expect(engine.start('purge', 'one', {})).rejects.toThrow('There is no state machine purge');
    await expect(engine.start('m', 'one', 'x'.repeat(131_072))).rejects.toThrow('too large');
    expect(await engine.status('m', '__proto__')).toBeUndefined();
  });

  test('what has ended is forgotten by how its name begins, what has not stays', async () => {
    const wait = { W: { Type: 'Wait', Seconds: 60, Next: 'E' }, E: { Type: 'Succeed' } };
    const it = world({ machines: { ...machines, slow: machine(wait) }, tasks: { work: (input) => input } });
    const { engine, run } = it.boot();
    for (const name of ['3-1', '3-2', '31-1']) await engine.start('m', name, {});
    await engine.idle();
    await engine.start('slow', '3-3', {});
    await engine.idle();
    expect([await engine.forget('3-'), await engine.forget('3-')]).toEqual([true, false]);
    expect(await Promise.all(['3-1', '3-2', '31-1'].map((name) => engine.status('m', name)))).toEqual([
      undefined,
      undefined,
      'SUCCEEDED',
    ]);
    await run();
    expect(await engine.status('slow', '3-3')).toBe('SUCCEEDED');
  });

  test('a thousand executions run no more tasks at a time than there are places', async () => {
    let now = 0;
    let most = 0;
    const it = world({
      machines,
      concurrency: 5,
      tasks: {
        work: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise(setImmediate);
          now -= 1;
          return null;
        },
      },
    });
    const { engine, run } = it.boot();
    await Promise.all(Array.from({ length: 1000 }, (_, n) => engine.start('m', `e-${n}`, {})));
    await run();
    expect([it.calls.length, most]).toEqual([1000, 5]);
    expect(await it.unfinished()).toEqual([]);
  });
});

describe('stopping', () => {
  const machines = {
    parent: machine({ A: child('kid', { End: true }) }),
    kid: machine({ A: task('work', { End: true }) }),
    waiting: machine({ A: { Type: 'Wait', Seconds: 60, Next: 'B' }, B: task('work', { End: true }) }),
  };

  test('aborts the task and its children, marks ABORTED and tells, each once', async () => {
    const reasons: unknown[] = [];
    const it = world({
      machines,
      tasks: {
        work: async (_, signal) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          reasons.push(signal.reason);
          return 'done all the same';
        },
      },
    });
    const { engine } = it.boot();
    await engine.start('parent', 'p', { x: 1 });
    await until(() => it.calls.length === 1);
    await engine.stop('parent', 'p', 'because');
    expect(await engine.status('parent', 'p')).toBe('ABORTED');
    await engine.idle();
    expect(await engine.status('kid', 'p-child')).toBe('ABORTED');
    expect(reasons).toHaveLength(1);
    expect(it.ended.toSorted((a, b) => (a.execution < b.execution ? -1 : 1))).toEqual([
      {
        machine: 'parent',
        execution: 'p',
        status: 'ABORTED',
        input: { x: 1 },
        error: { Error: 'Stopped', Cause: 'because' },
      },
      expect.objectContaining({ machine: 'kid', execution: 'p-child', status: 'ABORTED' }),
    ]);
    expect(await it.unfinished()).toEqual([]);
    await engine.stop('parent', 'p', 'again');
    await engine.idle();
    expect(it.ended).toHaveLength(2);
  });

  test('an execution that waits never goes on', async () => {
    const it = world({ machines, tasks: { work: (input) => input } });
    const { engine, run } = it.boot();
    await engine.start('waiting', 'w', {});
    await engine.idle();
    await engine.stop('waiting', 'w', 'because');
    await run();
    expect([it.calls, it.time.pending(), await engine.status('waiting', 'w')]).toEqual([[], 0, 'ABORTED']);
  });

  test('what has ended, was never started, or is of another machine is left alone', async () => {
    const it = world({ machines, tasks: { work: (input) => input } });
    const { engine, run } = it.boot();
    await engine.start('kid', 'k', {});
    await engine.stop('parent', 'k', 'not a parent');
    await run();
    await engine.stop('kid', 'k', 'too late');
    await engine.stop('kid', 'nobody', 'who');
    await run();
    expect([await engine.status('kid', 'k'), it.ended]).toEqual(['SUCCEEDED', []]);
  });

  test('an end that comes after the stop, before that is answered, does not count', async () => {
    const it = world({
      machines,
      slow: true,
      tasks: {
        work: () => {
          void engine.stop('kid', 'k', 'because');
          return 'done';
        },
      },
    });
    const { engine, run } = it.boot();
    await engine.start('kid', 'k', {});
    await run();
    expect([await engine.status('kid', 'k'), it.ended.length, await it.unfinished()]).toEqual(['ABORTED', 1, []]);
    expect(it.lines.filter(({ level }) => level === 'ERROR')).toEqual([]);
  });

  test('one that stands in line for a place leaves the line', async () => {
    const gate = Promise.withResolvers<Json>();
    const it = world({ machines, concurrency: 1, tasks: { work: () => gate.promise } });
    const { engine } = it.boot();
    await engine.start('kid', 'a', {});
    await engine.start('kid', 'b', {});
    await until(() => it.calls.length === 1);
    await engine.stop('kid', 'b', 'because');
    await until(() => it.ended.length === 1);
    gate.resolve(null);
    await engine.idle();
    expect([await engine.status('kid', 'a'), await engine.status('kid', 'b'), it.calls.length]).toEqual([
      'SUCCEEDED',
      'ABORTED',
      1,
    ]);
  });
});

test('tasks take turns by their owners, and nobody has more than half of the places', async () => {
  const gate = Promise.withResolvers<Json>();
  const it = world({
    machines: { kid: machine({ A: task('work', { End: true }) }) },
    concurrency: 4,
    ownerOf: async (input) => (input as { owner: string }).owner,
    tasks: { work: () => gate.promise },
  });
  const { engine } = it.boot();
  for (const n of [1, 2, 3, 4, 5]) await engine.start('kid', `many-${n}`, { owner: 'many' });
  await engine.start('kid', 'one', { owner: 'few' });
  await until(() => it.calls.length === 3);
  expect(it.calls.map(({ input }) => input)).toEqual([{ owner: 'many' }, { owner: 'many' }, { owner: 'few' }]);
  gate.resolve(null);
  await engine.idle();
  expect(it.calls).toHaveLength(6);
});

test('no part of an owner’s has more than half of the owner’s places', async () => {
  const gate = Promise.withResolvers<Json>();
  const it = world({
    machines: { kid: machine({ A: task('work', { End: true }) }) },
    concurrency: 8,
    ownerOf: async () => 'one',
    partOf: (name, input) => (name === 'work' ? (input as { part?: string }).part : undefined),
    tasks: { work: () => gate.promise },
  });
  const { engine } = it.boot();
  for (const n of [1, 2, 3]) await engine.start('kid', `silent-${n}`, { part: 'silent' });
  await engine.start('kid', 'other', { part: 'other' });
  await engine.start('kid', 'whole', {});
  await until(() => it.calls.length === 4);
  expect(it.calls.map(({ input }) => input)).toEqual([{ part: 'silent' }, { part: 'silent' }, { part: 'other' }, {}]);
  gate.resolve(null);
  await engine.idle();
  expect(it.calls).toHaveLength(5);
});

test('tasks of a line take turns among themselves, and hold up none of another line', async () => {
  const gate = Promise.withResolvers<Json>();
  const it = world({
    machines: {
      long: machine({ A: task('deliver', { End: true }) }),
      short: machine({ A: task('work', { End: true }) }),
    },
    concurrency: 4,
    ownerOf: async () => 'one',
    lineNameOf: (name) => (name === 'deliver' ? 'long' : ''),
    tasks: { deliver: () => gate.promise, work: () => gate.promise },
  });
  const { engine } = it.boot();
  for (const n of [1, 2, 3]) await engine.start('long', `long-${n}`, {});
  for (const n of [1, 2, 3]) await engine.start('short', `short-${n}`, {});
  await until(() => it.calls.length === 4);
  expect(it.calls.map(({ task: name }) => name).toSorted()).toEqual(['deliver', 'deliver', 'work', 'work']);
  gate.resolve(null);
  await engine.idle();
  expect(it.calls).toHaveLength(6);
});

describe('telling an end', () => {
  test('is tried again with pauses, and then given up', async () => {
    let tellings = 0;
    const it = world({
      machines: { m: machine({ A: { Type: 'Fail', Error: 'E' } }) },
      tasks: {},
      onEnded: () => {
        tellings += 1;
        return Promise.reject(new Error('not now'));
      },
    });
    const { engine, run } = it.boot();
    await engine.start('m', 'one', {});
    await engine.idle();
    expect([tellings, await it.unfinished()]).toEqual([1, ['one']]);
    await run();
    expect([tellings, await it.unfinished(), await engine.status('m', 'one')]).toEqual([12, [], 'FAILED']);
    expect(it.lines.filter(({ level }) => level === 'ERROR')).toHaveLength(12);
  });
});

describe('closing', () => {
  test('aborts what runs; the next process goes on from there', async () => {
    const definition = machine({ A: task('first', { Next: 'B' }), B: task('second', { End: true }) });
    let attempts = 0;
    const it = world({
      machines: { m: definition },
      tasks: {
        first: (input) => input,
        second: async (_, signal) => {
          attempts += 1;
          if (attempts > 1) return 'made';
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          throw new Error('stopped');
        },
      },
    });
    const before = it.boot();
    await before.engine.start('m', 'one', {});
    await until(() => attempts === 1);
    await before.engine.close();
    await before.engine.start('m', 'two', {});
    expect(await before.engine.status('m', 'one')).toBe('RUNNING');
    expect(it.ended).toEqual([]);
    const after = it.boot();
    await after.engine.resume();
    await after.run();
    expect(it.calls.map((call) => call.task)).toEqual(['first', 'second', 'second', 'first', 'second']);
    expect((await it.items('one'))[0]).toMatchObject({ status: 'SUCCEEDED', output: '"made"' });
    expect(await after.engine.status('m', 'two')).toBe('SUCCEEDED');
  });

  test('neither begins a pause anew nor gives more tries: the next process counts on', async () => {
    const it = world({
      machines: { m: machine({ A: task('fail', { Retry: retry(), End: true }) }) },
      tasks: { fail: () => Promise.reject(named('Transient')) },
    });
    const begin = it.time.clock();
    for (const seconds of [6, 16, 20, 46]) {
      const { engine, run } = it.boot();
      await engine.resume();
      await engine.start('m', 'one', {});
      await run(begin + seconds * 1000);
      await engine.close();
    }
    expect(it.calls.map((call) => (call.at - begin) / 1000)).toEqual([0, 5, 15, 30, 45]);
    expect(it.ended).toMatchObject([{ execution: 'one', status: 'FAILED' }]);
  });
});

describe('an upgrade', () => {
  const before = { m: machine({ A: { Type: 'Wait', Seconds: 60, Next: 'B' }, B: task('old', { End: true }) }) };
  const after = { m: machine({ Z: task('new', { End: true }) }) };

  test('leaves what runs on its own definition, and forgets that when nobody needs it', async () => {
    const it = world({ machines: before, tasks: { old: () => 'old', new: () => 'new' } });
    const first: Process = it.boot();
    await first.engine.start('m', 'a', {});
    await first.engine.idle();
    await first.engine.close();
    const second = it.boot({ machines: after });
    await second.engine.resume();
    await second.engine.start('m', 'b', {});
    await second.run();
    expect((await it.items('a'))[0]).toMatchObject({ status: 'SUCCEEDED', output: '"old"' });
    expect((await it.items('b'))[0]).toMatchObject({ status: 'SUCCEEDED', output: '"new"' });
    await second.engine.close();
    expect((await it.table.list({ partition: 'DEFINITIONS' }, { limit: 10 })).items).toHaveLength(2);
    await it.boot({ machines: after }).engine.resume();
    expect((await it.table.list({ partition: 'DEFINITIONS' }, { limit: 10 })).items).toHaveLength(1);
  });

  test('a definition that is lost, or that this version refuses, ends its executions, to be begun again', async () => {
    const it = world({ machines: before, tasks: {} });
    const first = it.boot();
    await first.engine.start('m', 'a', {});
    await first.engine.idle();
    await first.engine.close();
    const [item] = (await it.table.list({ partition: 'DEFINITIONS' }, { limit: 1 })).items;
    await it.table.write([{ put: { ...(item as Item), definition: '{}' } }]);
    const second = it.boot({ machines: after });
    await second.engine.resume();
    await second.run();
    expect(await second.engine.status('m', 'a')).toBe('FAILED');
    const Cause = 'An earlier version of the service began it, and this version cannot go on with it.';
    expect(it.ended).toMatchObject([{ execution: 'a', error: { Error: 'Transient', Cause } }]);
  });

  test('an execution whose position cannot be read fails, and is told of', async () => {
    const it = world({ machines: before, tasks: {} });
    const first = it.boot();
    await first.engine.start('m', 'a', {});
    await first.engine.idle();
    await first.engine.close();
    const [{ retries: _, ...item }] = (await it.items('a')) as [Item];
    await it.table.write([{ put: { ...item, attempt: 0 } }]);
    const second = it.boot();
    await second.engine.resume();
    await second.run();
    expect(await second.engine.status('m', 'a')).toBe('FAILED');
    expect(it.ended).toMatchObject([{ execution: 'a', error: { Error: 'States.Runtime' } }]);
    expect(await it.unfinished()).toEqual([]);
  });
});

describe('trouble with the table', () => {
  test('a write that fails is written again, until it is done', async () => {
    const it = world({
      machines: { m: machine({ A: task('work', { Next: 'B' }), B: task('work', { End: true }) }) },
      tasks: { work: (input) => input },
    });
    let failures = 3;
    const write = it.table.write.bind(it.table);
    it.table.write = async (ops, options) => {
      if (it.calls.length === 1 && failures > 0) {
        failures -= 1;
        throw new Error('the disk is full');
      }
      return write(ops, options);
    };
    const { engine, run } = it.boot();
    const begin = it.time.clock();
    await engine.start('m', 'one', {});
    await run();
    expect([await engine.status('m', 'one'), it.time.clock() - begin, it.calls.length]).toEqual(['SUCCEEDED', 7000, 2]);
  });

  test('whose turn a task takes is looked up again, until it is known', async () => {
    let failures = 3;
    const it = world({
      machines: { m: machine({ A: task('work', { End: true }) }) },
      ownerOf: async () => {
        if (failures === 0) return 'somebody';
        failures -= 1;
        throw new Error('the disk cannot be read');
      },
      tasks: { work: (input) => input },
    });
    const { engine, run } = it.boot();
    await engine.start('m', 'one', {});
    await run();
    expect([await engine.status('m', 'one'), it.calls.length]).toEqual(['SUCCEEDED', 1]);
  });

  test('what is kept of the items of a Map is looked up again, until it is known', async () => {
    const it = world({
      machines: { m: mapOver(0, { A: task('work', { Next: 'B' }), B: task('wait', { End: true }) }) },
      tasks: {
        work: (input) => input,
        wait: (input, signal) =>
          it.calls.length > 4
            ? input
            : new Promise((_, reject) => signal.addEventListener('abort', () => reject(named('Stopped')))),
      },
    });
    const before = it.boot();
    await before.engine.start('m', 'one', { items: [1, 2] });
    await until(() => it.calls.length === 4);
    await before.engine.close();
    let failures = 3;
    const list = it.table.list.bind(it.table);
    it.table.list = async (range, page) => {
      if (range.partition === 'X#one' && failures > 0) {
        failures -= 1;
        throw new Error('the disk cannot be read');
      }
      return list(range, page);
    };
    const { engine, run } = it.boot();
    await engine.resume();
    await run();
    expect([await engine.status('m', 'one'), failures]).toEqual(['SUCCEEDED', 0]);
    expect(it.calls.map((call) => call.task)).toEqual(['work', 'work', 'wait', 'wait', 'wait', 'wait']);
  });
});
