/** Whenever the process dies, the next one brings every execution to the end that it would have had. */
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { keys } from '../../lib/ports/table/keys.ts';
import type { Op } from '../../lib/ports/table/table.ts';
import { MACHINES } from '../../lib/workflow/definitions/index.ts';
import type { Definition } from '../../lib/workflow/states-language.ts';
import type { Json } from '../../lib/workflow/workflow.ts';
import { type Death, named, type Process, type Task, type World, world } from '../support/engine-world.ts';

const BACKFILL = { export: 'e', backfill: 'b' };

/**
 * A backfill of three batches, two at a time: the first has three intervals, of which one is sent at the second try and one
 * never; the second is held once; the third has nothing to do.
 */
function backfillWorld(slow = false): World {
  const tried = new Set<string>();
  const isFirst = (what: string): boolean => !tried.has(what) && tried.add(what) !== undefined;
  const tasks: Record<string, Task> = {
    'prepare-backfill': () => ({ batches: [0, 1, 2], concurrency: 2 }),
    'begin-run': (input) => {
      const { execution } = input as { execution: string };
      if (execution === 'b-2') return { do: 'nothing' };
      if (execution === 'b-1' && isFirst('hold')) return { do: 'hold', seconds: 5 };
      return { do: 'deliver', attempt: execution, intervals: execution === 'b-0' ? [0, 1, 2] : [0], concurrency: 2 };
    },
    'send-interval': (input) => {
      const { attempt, interval } = input as { attempt: string; interval: number };
      if (attempt === 'b-0' && interval === 1 && isFirst('send')) throw named('Transient');
      if (attempt === 'b-0' && interval === 2) throw named('Permanent');
      return { interval, status: 'Completed' };
    },
    'finish-run': () => ({ completed: 1, failed: 0, cancelled: 0 }),
    'close-backfill': () => ({ status: 'Completed' }),
  };
  const { backfill, 'export-run': run } = MACHINES;
  return world({ machines: { backfill, 'export-run': run }, tasks, slow });
}

const start = (process: Process): Promise<boolean> => process.call((engine) => engine.start('backfill', 'b', BACKFILL));

/** The next process: it goes on, and the backfill's job starts it again, which must change nothing. */
async function restart(it: World, onWrite?: (count: number, ops: readonly Op[]) => void): Promise<void> {
  const process = it.boot(onWrite === undefined ? {} : { onWrite });
  expect(await process.call((engine) => engine.resume())).toBe(true);
  expect(await start(process)).toBe(true);
  expect(await process.run()).toBe(true);
}

const distinct = (calls: World['calls']): string[] =>
  [...new Set(calls.map(({ task, input }) => `${task} ${JSON.stringify(input)}`))].toSorted();

async function undisturbed(): Promise<{ it: World; writes: number }> {
  const it = backfillWorld();
  const process = it.boot();
  await start(process);
  await process.run();
  return { it, writes: it.writes() };
}

/** Every death that a process of so many writes can die. */
const deaths = (writes: number): Death[] =>
  Array.from({ length: writes }, (_, index) => index + 1).flatMap((at) => [
    { at, when: 'before' as const },
    { at, when: 'after' as const },
  ]);

async function endOf(it: World, name: string): Promise<Record<'status' | 'output' | 'error', unknown>> {
  const items = await it.items(name);
  expect(items.map(({ sk }) => sk)).toEqual(['EXECUTION']);
  return { status: items[0]?.['status'], output: items[0]?.['output'], error: items[0]?.['error'] };
}

const NAMES = ['b', 'b-0', 'b-1', 'b-2'];

test('a process killed before or after any of its writes costs at most tasks run again whose end was not written', async () => {
  const { it: model, writes } = await undisturbed();
  const ends = await Promise.all(NAMES.map((name) => endOf(model, name)));
  expect(ends[0]).toEqual({ status: 'SUCCEEDED', output: '{"status":"Completed"}', error: null });
  expect(writes).toBeGreaterThan(20);
  for (const death of deaths(writes)) {
    const it = backfillWorld();
    const finished = new Map<string, number>();
    // From the write on that finishes an item of Deliver, its interval must not be sent again.
    const onWrite = (_: number, ops: readonly Op[]): void => {
      for (const op of ops) {
        if ('put' in op && op.put.sk.startsWith('ITEM#Deliver') && op.put['output'] !== undefined) {
          const interval = Number(op.put.sk.slice(-15));
          finished.set(`${op.put.pk.slice(2)} ${interval}`, it.calls.length);
        }
      }
    };
    const first = it.boot({ death, onWrite });
    expect((await start(first)) && (await first.run())).toBe(false);
    await restart(it, onWrite);
    expect(await Promise.all(NAMES.map((name) => endOf(it, name)))).toEqual(ends);
    expect(await it.unfinished()).toEqual([]);
    expect(distinct(it.calls)).toEqual(distinct(model.calls));
    expect(it.calls.length).toBeLessThanOrEqual(model.calls.length + 3);
    expect(finished.size).toBe(4);
    const again = it.calls.filter(({ task, input }, index) => {
      const { attempt, interval } = input as { attempt: string; interval: number };
      return task === 'send-interval' && index >= (finished.get(`${attempt} ${interval}`) ?? Number.POSITIVE_INFINITY);
    });
    expect(again).toEqual([]);
  }
});

test.each([
  ['', false],
  [', also when the table answers late', true],
])(
  'an execution can be stopped wherever it is, with all its children, and the end is told once%s',
  async (_, slow) => {
    const { writes } = await undisturbed();
    let stopped = 0;
    for (let at = 1; at <= writes; at += 1) {
      const it = backfillWorld(slow);
      const stopping = Promise.withResolvers<void>();
      const process = it.boot({
        onWrite: (count) => {
          if (count === at) stopping.resolve(process.engine.stop('backfill', 'b', 'because'));
        },
      });
      await start(process);
      const ran = process.run();
      await stopping.promise;
      await process.engine.idle();
      const calls = it.calls.length;
      await ran;
      const status = await process.engine.status('backfill', 'b');
      expect(await it.unfinished()).toEqual([]);
      expect(it.time.pending()).toBe(0);
      const told = it.ended.map(({ execution }) => execution);
      expect(told).toEqual([...new Set(told)]);
      expect(['ABORTED', 'SUCCEEDED']).toContain(status);
      if (status === 'SUCCEEDED') continue;
      stopped += 1;
      // Nothing was begun after the stop, and the execution itself was told.
      expect([it.calls.length, told.includes('b')]).toEqual([calls, true]);
    }
    expect(stopped).toBeGreaterThan(writes * 0.7);
  },
  60_000,
);

test('a process killed while it stops an execution leaves the rest of that to the next', async () => {
  const { writes } = await undisturbed();
  for (let at = 4; at <= writes; at += 3) {
    for (const when of ['before', 'after'] as const) {
      for (let later = 1; later <= 4; later += 1) {
        const it = backfillWorld();
        const process = it.boot({
          death: { at: at + later, when },
          onWrite: (count) => {
            if (count === at) void process.engine.stop('backfill', 'b', 'because');
          },
        });
        if (await start(process)) await process.run();
        const before = await statuses(it);
        await restart(it);
        expect(await it.unfinished()).toEqual([]);
        const after = await statuses(it);
        const stopped = before[0] === 'ABORTED';
        const expected = before.map((status) => (status === 'RUNNING' ? 'ABORTED' : status));
        expect(after).toEqual(stopped ? expected : NAMES.map(() => 'SUCCEEDED'));
        const told = new Set(it.ended.map(({ execution }) => execution));
        expect(NAMES.filter((name, index) => after[index] === 'ABORTED' && !told.has(name))).toEqual([]);
      }
    }
  }
});

async function statuses(it: World): Promise<unknown[]> {
  const items = await it.table.many(NAMES.map((name) => keys.execution(name)));
  return items.map((item) => item?.['status']);
}

test('a Map that is visited again takes nothing from the visit before, whenever the process dies', async () => {
  const loop = {
    QueryLanguage: 'JSONata',
    StartAt: 'M',
    States: {
      M: {
        Type: 'Map',
        Items: '{% [0, 1] %}',
        ItemSelector: '{% $states.input.round * 10 + $states.context.Map.Item.Value %}',
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: 'W',
          States: { W: { Type: 'Pass', End: true } },
        },
        Output: {
          round: '{% $states.input.round + 1 %}',
          all: '{% $append($states.input.all, $states.result) %}',
        },
        Next: 'C',
      },
      C: { Type: 'Choice', Choices: [{ Condition: '{% $states.input.round < 3 %}', Next: 'M' }], Default: 'D' },
      D: { Type: 'Succeed' },
    },
  } satisfies Definition;
  const begin = (process: Process) => process.call((engine) => engine.start('loop', 'x', { round: 0, all: [] }));
  let lived = false;
  for (let at = 1; !lived; at += 1) {
    const it = world({ machines: { loop }, tasks: {} });
    const first = it.boot({ death: { at, when: 'after' } });
    lived = (await begin(first)) && (await first.run());
    const second = it.boot();
    await second.engine.resume();
    await begin(second);
    await second.run();
    expect(await endOf(it, 'x')).toMatchObject({ output: '{"round":3,"all":[0,1,10,11,20,21]}' });
  }
});

/** What a random machine is made of; `v` is a number that every state changes in its way. */
type Part =
  | { readonly kind: 'pass' | 'task' | 'skip-if-even' | 'child'; readonly n: number }
  | { readonly kind: 'wait'; readonly n: number }
  | { readonly kind: 'flaky'; readonly n: number; readonly failures: number }
  | { readonly kind: 'broken'; readonly n: number; readonly caught: boolean }
  | { readonly kind: 'map'; readonly n: number; readonly lanes: number; readonly parts: readonly Part[] };

const n = fc.integer({ min: 0, max: 5 });
const simple: fc.Arbitrary<Part>[] = [
  fc.record({ kind: fc.constantFrom('pass' as const, 'task' as const, 'skip-if-even' as const, 'child' as const), n }),
  fc.record({ kind: fc.constant('wait' as const), n }),
  fc.record({ kind: fc.constant('flaky' as const), n, failures: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ kind: fc.constant('broken' as const), n, caught: fc.boolean() }),
];
const itemParts = fc.array(fc.oneof(...simple), { minLength: 1, maxLength: 3 });
const map = fc.record({
  kind: fc.constant('map' as const),
  n,
  lanes: fc.integer({ min: 0, max: 3 }),
  parts: itemParts,
});
const program: fc.Arbitrary<readonly Part[]> = fc.array(fc.oneof(map, ...simple), { minLength: 1, maxLength: 6 });

const LEAVES = { v: '{% $states.result.Payload.v %}', at: '{% $states.input.at %}' };

/** The states of a program. `prefix` makes their names unique; `at` in the data makes children's names so. */
function statesOf(parts: readonly Part[], prefix: string): Record<string, Json> {
  const states: Record<string, Json> = {};
  const name = (index: number): string => `${prefix}${Math.min(index, parts.length)}`;
  for (const [index, part] of parts.entries()) {
    const Next = name(index + 1);
    const calls = (payload: Record<string, Json>): Record<string, Json> => ({
      Type: 'Task',
      Resource: 'arn:aws:states:::lambda:invoke',
      Arguments: {
        FunctionName: '${work}',
        Payload: {
          v: '{% $states.input.v %}',
          n: part.n,
          by: `{% $states.context.Execution.Name & "${name(index)}" & $string($states.input.at) %}`,
          ...payload,
        },
      },
      Output: LEAVES,
      Next,
    });
    const states_: Record<Part['kind'], () => Json> = {
      pass: () => ({
        Type: 'Pass',
        Output: { v: `{% $states.input.v + ${part.n} %}`, at: '{% $states.input.at %}' },
        Next,
      }),
      task: () => calls({}),
      wait: () => ({ Type: 'Wait', Seconds: part.n, Next }),
      'skip-if-even': () => ({
        Type: 'Choice',
        Choices: [{ Condition: '{% $states.input.v % 2 = 0 %}', Next: name(index + 2) }],
        Default: Next,
      }),
      flaky: () => ({
        ...calls({ failures: part.kind === 'flaky' ? part.failures : 0 }),
        Retry: [{ ErrorEquals: ['Transient'], MaxAttempts: 3, IntervalSeconds: 2, JitterStrategy: 'FULL' }],
      }),
      broken: () => ({
        ...calls({ broken: true }),
        ...(part.kind === 'broken' && part.caught
          ? {
              Catch: [
                {
                  ErrorEquals: ['States.ALL'],
                  Output: { v: '{% $states.input.v + 1 %}', at: '{% $states.input.at %}' },
                  Next,
                },
              ],
            }
          : {}),
      }),
      child: () => ({
        Type: 'Task',
        Resource: 'arn:aws:states:::states:startExecution.sync:2',
        Arguments: {
          StateMachineArn: '${kid}',
          Name: `{% $states.context.Execution.Name & "-${name(index)}-" & $string($states.input.at) %}`,
          Input: { v: '{% $states.input.v %}', at: 0 },
        },
        Output: { v: '{% $states.result.Output.v %}', at: '{% $states.input.at %}' },
        Next,
      }),
      map: () => ({
        Type: 'Map',
        Items: `{% [${Array.from({ length: part.n }, (_, item) => item).join(', ')}] %}`,
        ItemSelector: {
          v: '{% $states.input.v + $states.context.Map.Item.Value %}',
          at: '{% $states.context.Map.Item.Value %}',
        },
        MaxConcurrency: part.kind === 'map' ? part.lanes : 0,
        ItemProcessor: {
          ProcessorConfig: { Mode: 'INLINE' },
          StartAt: `${name(index)}I0`,
          States: statesOf(part.kind === 'map' ? part.parts : [], `${name(index)}I`),
        },
        Output: { v: '{% $sum($states.result.v) %}', at: '{% $states.input.at %}' },
        Next,
      }),
    };
    states[name(index)] = states_[part.kind]();
  }
  states[name(parts.length)] = { Type: 'Succeed' };
  return states;
}

const machineOf = (parts: readonly Part[]): Definition => {
  const States = statesOf(parts, 'S');
  // A state that every way skips is not reached, and would be refused.
  return { QueryLanguage: 'JSONata', StartAt: 'S0', States } as unknown as Definition;
};

/** The kid's own program must not call a kid, or it would never end. */
const kid = (parts: readonly Part[]): readonly Part[] =>
  parts.map((part) => {
    if (part.kind === 'child') return { kind: 'task', n: part.n };
    return part.kind === 'map' ? { ...part, parts: kid(part.parts) } : part;
  });

function randomWorld(main: readonly Part[], other: readonly Part[]): World {
  const failures = new Map<string, number>();
  const work: Task = (input) => {
    const {
      v,
      n: add,
      by,
      failures: most = 0,
      broken,
    } = input as { v: number; n: number; by: string; failures?: number; broken?: boolean };
    if (broken) throw named('Permanent');
    const failed = failures.get(by) ?? 0;
    failures.set(by, failed + 1);
    if (failed < most) throw named('Transient');
    return { v: (v * 2 + add) % 1009 };
  };
  return world({ machines: { main: machineOf(main), kid: machineOf(kid(other)) }, tasks: { work }, concurrency: 3 });
}

/** `at`: at which of the writes that an undisturbed process makes, counted from 0 and over again. */
const death = fc.record({ at: fc.nat(), when: fc.constantFrom('before' as const, 'after' as const) });

test('random machines end as they would have, however often they are killed', async () => {
  const begin = (process: Process) => process.call((engine) => engine.start('main', 'x', { v: 1, at: 0 }));
  let killed = 0;
  await fc.assert(
    fc.asyncProperty(program, program, fc.array(death, { minLength: 1, maxLength: 5 }), async (main, other, all) => {
      const model = randomWorld(main, other);
      const calm = model.boot();
      await begin(calm);
      await calm.run();
      const writes = model.writes();
      const it = randomWorld(main, other);
      const before = killed;
      for (const { at, when } of all) {
        const process = it.boot({ death: { at: (at % writes) + 1, when } });
        if ((await process.call((engine) => engine.resume())) && (await begin(process)) && (await process.run())) {
          await process.engine.close();
        } else {
          killed += 1;
        }
      }
      // The first process makes the writes of the undisturbed one, so it is killed at one of them.
      expect(killed).toBeGreaterThan(before);
      const last = it.boot();
      await last.engine.resume();
      await begin(last);
      await last.run();
      const { status, output } = await endOf(model, 'x');
      expect(await endOf(it, 'x')).toMatchObject({ status, output });
      expect(await it.unfinished()).toEqual([]);
      expect(it.ended.some(({ execution }) => execution === 'x')).toBe(status === 'FAILED');
      // Where an item fails, which of the others had begun is a matter of time.
      const same = status === 'FAILED' || isDeepStrictEqual(distinct(it.calls), distinct(model.calls));
      expect(same).toBe(true);
    }),
    { numRuns: 150 },
  );
  expect(killed).toBeGreaterThan(100);
});
