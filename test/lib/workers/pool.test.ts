import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { constants, getPriority } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Permanent } from '../../../lib/ports/errors.ts';
import { type PoolOptions, type WorkerPool, workerPool } from '../../../lib/workers/pool.ts';
import { temporaryFolder } from '../../support/context.ts';

const pools: WorkerPool[] = [];

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

function poolWith(options: Partial<PoolOptions> = {}): WorkerPool {
  const pool = workerPool({
    program: join(import.meta.dirname, '../../support/worker-program.ts'),
    options: { some: 'words' },
    what: 'The work',
    turns: { atOnce: 2, each: 2 },
    memory: { each: 400, all: 800 },
    silenceMs: 60_000,
    folder: temporaryFolder(),
    log: { warning: () => {} },
    ...options,
  });
  pools.push(pool);
  return pool;
}

/** Runs until the signal says that the process is gone. */
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** From now on the watcher looks when the timers of the test are advanced by a second. */
const holdWatcher = (): void =>
  void jest.useFakeTimers({
    doNotFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'nextTick', 'queueMicrotask', 'Date'],
  });

const owner = 'an organization';

test('a worker is told how it was started, given tasks one after another, and nothing of the environment', async () => {
  const pool = poolWith();
  expect(await pool.run({ name: 'tells', input: null, owner })).toEqual({ some: 'words' });
  const first = await pool.run({ name: 'answers', input: { n: 1 }, owner });
  const second = await pool.run({ name: 'answers', input: { n: 2 }, owner });
  expect(first).toMatchObject({ input: { n: 1 } });
  expect(second).toEqual({ ...(first as object), input: { n: 2 } });
  expect(
    (first as { environment: string[] }).environment.filter((name) => !['PWD', 'SHLVL', '_'].includes(name)),
  ).toEqual([]);
});

test('a worker stands back with all of its threads', async () => {
  for (const { options, niceness } of [
    { options: {}, niceness: 5 },
    { options: { niceness: 15 }, niceness: 15 },
  ]) {
    const threads = (await poolWith(options).run({ name: 'stands', input: null, owner })) as number[];
    expect(threads.length > 4).toBe(process.platform === 'linux');
    expect(new Set(threads)).toEqual(new Set(threads.length === 0 ? [] : [niceness]));
  }
});

test('where the system has no memory left, it takes that of a worker before that of the service', async () => {
  const { pid } = (await poolWith().run({ name: 'answers', input: null, owner })) as { readonly pid: number };
  const hasScores = process.platform === 'linux';
  const scoreOf = (id: number | 'self'): number =>
    hasScores ? Number(readFileSync(`/proc/${id}/oom_score_adj`, 'latin1')) : 500;
  expect(scoreOf(pid)).toBe(Math.max(500, scoreOf('self')));
});

test('a worker of a service that stands back further stands there too', () => {
  const [pool, program] = ['lib/workers/pool.ts', 'test/support/worker-program.ts'].map((file) =>
    join(import.meta.dirname, '../../..', file),
  );
  const service = join(temporaryFolder(), 'service.ts');
  writeFileSync(
    service,
    `import { workerPool } from ${JSON.stringify(pathToFileURL(String(pool)))};
    const pool = workerPool({
      program: ${JSON.stringify(program)}, options: null, what: 'The work', turns: { atOnce: 1, each: 1 },
      memory: { each: 400, all: 400 }, silenceMs: 60_000, log: { warning: () => {} },
    });
    const threads = await pool.run({ name: 'stands', input: null, owner: 'an organization' });
    process.stdout.write(JSON.stringify(threads), () => process.exit());`,
  );
  const threads = execFileSync('nice', ['-n', '10', process.execPath, ...process.execArgv, service]).toString();
  const further = Math.min(getPriority() + 10, constants.priority.PRIORITY_LOW);
  expect(new Set(JSON.parse(threads))).toEqual(new Set(process.platform === 'linux' ? [further] : []));
});

test('bytes come as they were given, an empty piece too, however slowly they are read', async () => {
  const parts: Buffer[] = [];
  for await (const part of poolWith().stream({ name: 'gives', input: 20, owner })) {
    parts.push(part);
    await new Promise(setImmediate);
  }
  const expected = Buffer.concat(Array.from({ length: 20 }, (_, n) => Buffer.alloc(1024 * 1024, n)));
  expect(Buffer.concat(parts).equals(expected)).toBe(true);
  expect(parts.map(({ length }) => length === 0)).toEqual([...parts.slice(1).map(() => false), true]);
});

test('a pool is busy while a task is under way', async () => {
  const pool = poolWith();
  expect(pool.isBusy).toBe(false);
  for await (const _ of pool.stream({ name: 'gives', input: 3, owner })) expect(pool.isBusy).toBe(true);
  expect(pool.isBusy).toBe(false);
});

test('what is handed over is there until the next is asked for, and not a moment sooner is that begun', async () => {
  const folder = temporaryFolder();
  const seen: unknown[] = [];
  for await (const handed of poolWith().stream({ name: 'hands', input: { folder, count: 3 }, owner })) {
    // The worker has time to go on, would it not wait.
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    seen.push([JSON.parse(String(handed)), readdirSync(folder)]);
  }
  expect(seen).toEqual([0, 1, 2].map((n) => [{ name: `${n}` }, [`${n}`]]));
  expect(readdirSync(folder)).toEqual([]);
});

test('a program is kept compiled where that is asked for, for workers that start later', async () => {
  const compiled = join(temporaryFolder(), 'compiled');
  await poolWith({ compiled }).run({ name: 'tells', input: null, owner });
  expect(readdirSync(compiled, { recursive: true }).length).toBeGreaterThan(0);
});

test('an error of a task keeps its name, and the worker goes on', async () => {
  const pool = poolWith();
  const failed = pool.run({ name: 'fails', input: { name: 'Permanent', message: 'what to change' }, owner });
  await expect(failed).rejects.toBeInstanceOf(Permanent);
  await expect(failed).rejects.toThrow('what to change');
  await expect(pool.run({ name: 'no such task', input: null, owner })).rejects.toThrow('there is no task no such task');
  expect(await pool.run({ name: 'tells', input: null, owner })).toEqual({ some: 'words' });
});

test('a worker that takes more memory than it may is killed, and the others go on', async () => {
  const pool = poolWith();
  const bystander = pool.run({ name: 'takes', input: 100, owner });
  await expect(pool.run({ name: 'takes', input: 4_000, owner })).rejects.toMatchObject({
    loss: 'memory',
    message: 'The work needs more than 400 MB of memory.',
  });
  expect(await bystander).toBe(100);
});

test('workers that take too much together lose the largest, which may be tried again', async () => {
  const pool = poolWith({ memory: { each: 4_000, all: 400 } });
  await expect(pool.run({ name: 'takes', input: 1_000, owner })).rejects.toMatchObject({
    name: 'Transient',
    message: 'The work has to wait: too much is being done at this moment for the memory that there is.',
  });
});

test('a worker that is left with much garbage gives it back, and goes on', async () => {
  const pool = poolWith();
  const { pid } = (await pool.run({ name: 'answers', input: null, owner })) as { pid: number };
  holdWatcher();
  try {
    const steps = pool.stream({ name: 'holds', input: 300, owner });
    await steps.next();
    // The watcher looks while it works.
    jest.advanceTimersByTime(1_000);
    await new Promise(setImmediate);
    expect(await steps.next()).toEqual({ done: true, value: 300 });
  } finally {
    jest.useRealTimers();
  }
  expect(await pool.run({ name: 'answers', input: null, owner })).toMatchObject({ pid });
});

test('a worker that is left with much memory is replaced before the next task comes', async () => {
  const folder = temporaryFolder();
  const pool = poolWith({ folder });
  const { pid } = (await pool.run({ name: 'answers', input: null, owner })) as { pid: number };
  const [first] = readdirSync(folder);
  await pool.run({ name: 'takes', input: 300, owner });
  const others = () => readdirSync(folder).filter((name) => name !== first);
  holdWatcher();
  try {
    // Until the watcher has looked while it worked.
    while (others().length === 0) {
      const steps = pool.stream({ name: 'takes', input: 0, owner });
      await steps.next();
      jest.advanceTimersByTime(1_000);
      await steps.next();
    }
  } finally {
    jest.useRealTimers();
  }
  const [second] = others();
  expect(((await pool.run({ name: 'answers', input: null, owner })) as { pid: number }).pid).not.toBe(pid);
  expect(others()).toEqual([second]);
});

test('a replacement that cannot be started harms no task', async () => {
  const folder = join(temporaryFolder(), 'workers');
  const pool = poolWith({ folder });
  holdWatcher();
  try {
    await pool.run({ name: 'takes', input: 300, owner });
    renameSync(folder, `${folder} of before`);
    writeFileSync(folder, 'no folder');
    const steps = pool.stream({ name: 'takes', input: 0, owner });
    await steps.next();
    jest.advanceTimersByTime(1_000);
    expect(await steps.next()).toEqual({ done: true, value: 300 });
  } finally {
    jest.useRealTimers();
  }
});

test('a worker that is silent for too long is killed, also when it keeps its thread busy', async () => {
  const lost = poolWith({ silenceMs: 2_000 }).run({ name: 'turns', input: null, owner });
  await expect(lost).rejects.toMatchObject({ loss: 'silence', message: 'The work takes longer than 2 s.' });
});

describe('a worker whose process takes long to start, as on a busy machine,', () => {
  /** Returns what is done while it starts, and what lets it be ready; timers go on when those of the test are advanced. */
  function starting() {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'setInterval', 'clearInterval', 'nextTick', 'queueMicrotask'] });
    const waitsFor = join(temporaryFolder(), 'ready');
    const warnings: unknown[] = [];
    const log = { warning: (...line: unknown[]) => void warnings.push(line) };
    const pool = poolWith({ options: { waitsFor }, silenceMs: 2_000, log });
    return {
      done: pool.run({ name: 'answers', input: 1, owner }),
      beReady: () => writeFileSync(waitsFor, ''),
      warnings,
    };
  }
  const given = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  afterEach(() => void jest.useRealTimers());

  test('is not taken for one that is silent', async () => {
    const { done, beReady } = starting();
    await given();
    jest.advanceTimersByTime(50_000);
    beReady();
    expect(await done).toMatchObject({ input: 1 });
  });

  test('is killed after a minute, and its task is told that it may pass', async () => {
    const { done, warnings } = starting();
    const told = done.catch((error: unknown) => error);
    await given();
    jest.advanceTimersByTime(60_000);
    expect(await told).toMatchObject({
      name: 'Transient',
      isOwn: true,
      message: 'The work has to wait: its process was not ready after 60 s.',
    });
    expect(warnings).toMatchObject([['a worker process was lost', { reason: 'unstarted' }]]);
  });
});

test('a worker that dies is told of in the log, with its last words', async () => {
  const told: unknown[] = [];
  const pool = poolWith({ log: { warning: (...line) => void told.push(line) } });
  await expect(pool.run({ name: 'dies', input: null, owner })).rejects.toMatchObject({ loss: 'died' });
  expect(told).toEqual([
    ['a worker process was lost', { worker: expect.any(Number), reason: 'died', said: 'the last words' }],
  ]);
});

test('an abort kills the worker at once, and its turn goes to the next', async () => {
  const folder = temporaryFolder();
  const pool = poolWith({ turns: { atOnce: 1, each: 1 }, folder });
  const { pid } = (await pool.run({ name: 'answers', input: null, owner })) as { pid: number };
  const leaving = new AbortController();
  const aborted = pool.run({ name: 'turns', input: null, owner, signal: leaving.signal });
  const next = pool.run({ name: 'answers', input: null, owner: 'another' });
  setImmediate(() => leaving.abort(new Error('cancelled')));
  await expect(aborted).rejects.toThrow('cancelled');
  expect(((await next) as { pid: number }).pid).not.toBe(pid);
  expect(isAlive(pid)).toBe(false);
  await pool.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('a reader who stops early ends the worker', async () => {
  const pool = poolWith();
  const { pid } = (await pool.run({ name: 'answers', input: null, owner })) as { pid: number };
  for await (const piece of pool.stream({ name: 'gives', input: 1_000, owner })) if (piece.length > 0) break;
  expect(((await pool.run({ name: 'answers', input: null, owner })) as { pid: number }).pid).not.toBe(pid);
});

describe('work that takes its process down three times', () => {
  const subject = 'an interval';

  test('is refused at the third time', async () => {
    const pool = poolWith();
    const once = () => pool.run({ name: 'dies', input: null, owner, subject });
    await expect(once()).rejects.toMatchObject({ loss: 'died' });
    await expect(once()).rejects.toMatchObject({ loss: 'died' });
    await expect(once()).rejects.toBeInstanceOf(Permanent);
  });

  test('is tried again when the whole service went down with it as often, and refused at ten times, without blame', async () => {
    const deaths = temporaryFolder();
    const killed = async (times: number): Promise<void> => {
      for (let time = 1; time <= times; time += 1) {
        // A service that is killed closes nothing: nobody reads on.
        const bytes = poolWith({ deaths }).stream({ name: 'gives', input: 5, owner, subject });
        await bytes.next();
      }
    };
    await killed(9);
    const pool = poolWith({ deaths });
    const answer = () => pool.run({ name: 'answers', input: 1, owner, subject });
    expect(await answer()).toMatchObject({ input: 1 });
    await killed(1);
    await expect(answer()).rejects.toThrow(
      'The work was under way each of the 10 times that the service itself ended, so it is not tried again by itself.',
    );
    expect(await pool.run({ name: 'answers', input: 1, owner, subject: 'another' })).toMatchObject({ input: 1 });
  });

  test('is refused at once where one time is too often, also with the whole service', async () => {
    const deaths = temporaryFolder();
    const task = { name: 'gives', input: 5, owner, subject, mostDeaths: 1 };
    await poolWith({ deaths }).stream(task).next();
    await expect(poolWith({ deaths }).run(task)).rejects.toBeInstanceOf(Permanent);
  });

  test('is refused also when other work on the same ended in order between', async () => {
    const pool = poolWith({ deaths: temporaryFolder() });
    for (const expected of ['Runtime.ExitError', 'Runtime.ExitError', 'Permanent']) {
      await pool.run({ name: 'answers', input: null, owner, subject });
      await expect(pool.run({ name: 'dies', input: null, owner, subject })).rejects.toMatchObject({ name: expected });
    }
  });

  test('does not count what ended in order', async () => {
    const deaths = temporaryFolder();
    const pool = poolWith({ deaths });
    for (let time = 1; time <= 4; time += 1)
      await expect(
        pool.run({ name: 'fails', input: { name: 'Transient', message: 'no' }, owner, subject }),
      ).rejects.toThrow('no');
    for (let time = 1; time <= 4; time += 1) {
      for await (const _ of pool.stream({ name: 'gives', input: 5, owner, subject })) break;
    }
    expect(await pool.run({ name: 'answers', input: 1, owner, subject })).toMatchObject({ input: 1 });
    expect(existsSync(deaths) && readdirSync(deaths)).toEqual([]);
  });
});

test('a worker that has just been let go, after a pause in which the process was frozen, is given no task', async () => {
  jest.useFakeTimers({
    doNotFake: ['setImmediate', 'setInterval', 'clearInterval', 'nextTick', 'queueMicrotask', 'performance', 'Date'],
  });
  try {
    const pool = poolWith();
    expect(await pool.run({ name: 'answers', input: 1, owner })).toMatchObject({ input: 1 });
    jest.advanceTimersByTime(60_000);
    expect(await pool.run({ name: 'answers', input: 2, owner })).toMatchObject({ input: 2 });
  } finally {
    jest.useRealTimers();
  }
});

test('while the system starts no process, tasks are told that it may pass, and it does', async () => {
  const program = `
    import { closeSync, openSync } from 'node:fs';
    import { workerPool } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../../lib/workers/pool.ts')))};
    const warnings = [];
    const pool = workerPool({
      program: ${JSON.stringify(join(import.meta.dirname, '../../support/worker-program.ts'))},
      options: {}, what: 'The work', turns: { atOnce: 1, each: 1 }, memory: { each: 400, all: 400 }, silenceMs: 60_000,
      folder: ${JSON.stringify(temporaryFolder())}, log: { warning: (message) => warnings.push(message) },
    });
    const task = { name: 'answers', input: 1, owner: 'an organization', subject: 'the task', mostDeaths: 1 };
    const open = [];
    try { for (;;) open.push(openSync('/dev/null')); } catch {}
    const told = await pool.run(task).catch((error) => ({ name: error.name, isOwn: error.isOwn, message: error.message }));
    await new Promise(setImmediate);
    for (const file of open) closeSync(file);
    const answered = await pool.run(task);
    console.log(JSON.stringify({ told, input: answered.input, warnings }));
    void pool.close();`;
  const file = join(temporaryFolder(), 'service.mjs');
  writeFileSync(file, program);
  const words = ['-c', 'ulimit -n 60; exec "$@"', 'sh', process.execPath, file];
  expect(JSON.parse(execFileSync('/bin/sh', words, { encoding: 'utf8' }))).toEqual({
    told: {
      name: 'Transient',
      isOwn: true,
      message: 'The work has to wait: the system starts no process at this moment.',
    },
    input: 1,
    warnings: ['a worker process could not be started'],
  });
});
