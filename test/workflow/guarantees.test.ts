/** What each destination promises, held by whole exports to real servers: killed on the way, run again, in trouble. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import {
  type DestinationServer,
  httpDestination,
  postgresDestination,
  s3Destination,
} from '../support/destination-servers.ts';
import type { Death } from '../support/engine-world.ts';
import { type ExportWorld, type ExportWorldOptions, exportWorld } from '../support/export-world.ts';
import { describeOnPostgres } from '../support/postgres.ts';

const at = (text: string): number => Date.parse(`2026-01-${text}Z`);
const NOW = at('07T13:20:00');

let target: DestinationServer;
const worlds: ExportWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
  await target.empty();
});

/** A process with an hourly export that delivers to the target. */
async function hourly(options: Partial<ExportWorldOptions> = {}) {
  const world = await exportWorld({ now: NOW, destination: target.destination, ...options });
  worlds.push(world);
  const tenant = await world.tenant();
  const process = world.boot();
  const item = await world.createExport(process.context, tenant);
  const arrive = (...instants: number[]) => world.arrive(tenant.project.id, instants);
  const statuses = async () => (await world.runs(item.id)).map(({ status }) => status);
  const messages = () => world.messages(item.id);
  return { world, arrive, item, statuses, messages, ...process };
}

/** The state of a world whose export has an hour of so many rows, which is about to end. */
async function prepared(count: number): Promise<{ from: string; id: string }> {
  const { world, engine, arrive, item } = await hourly();
  await arrive(...Array.from({ length: count }, (_, n) => NOW - n));
  await engine.close();
  worlds.pop();
  return { from: await world.save(), id: item.id };
}

/** The hour is exported by a process that may die, and then by another one; what there is in the end. */
async function story({ from, id }: { from: string; id: string }, death?: Death) {
  const world = await exportWorld({ now: at('07T13:59:00'), from });
  const first = world.boot(death);
  const survived = await first.run(at('07T14:10:00'));
  let last = first;
  if (!survived) {
    last = world.boot();
    await last.engine.resume();
    await last.run(at('07T14:50:00'));
  }
  const runs = (await world.runs(id)).map(({ status, records_completed }) => [status, records_completed]);
  const { active, claimed } = await world.plan(id);
  const state = { runs, active, claimed, leftovers: [...world.leftovers(), ...(await target.leftovers())] };
  await last.engine.close();
  await world.close();
  return { survived, trace: first.trace, state };
}

/**
 * The process dies before each act (which is after the one before) from the delivery on until the run is completed. What
 * comes before and after is the same for every destination.
 */
async function atEachAct(count: number, check: () => Promise<void>): Promise<string[]> {
  const start = await prepared(count);
  const calm = await story(start);
  await check();
  expect(calm.survived).toBe(true);
  expect(calm.state).toEqual({ runs: [['Completed', count]], active: [], claimed: [], leftovers: [] });
  const first = calm.trace.indexOf('deliver');
  const completed = calm.trace.findIndex((act, n) => act.startsWith('write') && n > calm.trace.indexOf('commit'));
  const acts = calm.trace.slice(first, completed + 2);
  for (const [n, what] of acts.entries()) {
    await target.empty();
    try {
      const { survived, state } = await story(start, { at: first + n + 1, when: 'before' });
      expect(survived).toBe(false);
      expect(state).toEqual(calm.state);
      await check();
    } catch (error) {
      throw new Error(`killed before act ${n}: ${what}`, { cause: error });
    }
  }
  return acts;
}

/** The schedule takes what came hours late in the hour of its arrival; a backfill then runs the same hours again. */
async function lateAndAgain() {
  const { world, arrive, run, item, context } = await hourly();
  await arrive(NOW, NOW);
  await run(at('07T14:10:00'));
  const early = await target.rows();
  await arrive(at('07T08:00:00'), at('07T13:30:00'), at('07T14:10:00'));
  await run(at('07T16:10:00'));
  const scheduled = await target.rows();
  await startBackfill(context, item, { start_at: at('07T13:00:00'), end_at: at('07T16:00:00') });
  await run();
  expect((await world.backfills(item.id)).map(({ status }) => status)).toEqual(['Completed']);
  return { early, scheduled, again: await target.rows() };
}

const distinct = (uuids: readonly string[]): string[] => [...new Set(uuids)];

/** For destinations that hold each row exactly once. */
function exactlyOnce(count: number): void {
  test('a kill before any act of a delivery loses nothing and delivers nothing twice', async () => {
    const seen: string[][] = [];
    const acts = await atEachAct(count, async () => void seen.push(await target.rows()));
    expect(acts).toContain('commit');
    expect(seen).toHaveLength(acts.length + 1);
    expect(distinct(seen[0] ?? [])).toHaveLength(count);
    expect(seen.every((rows) => JSON.stringify(rows) === JSON.stringify(seen[0]))).toBe(true);
  });

  test('rows that arrive hours late are exported once, and a backfill over hours that were run adds nothing', async () => {
    const { early, scheduled, again } = await lateAndAgain();
    expect(early).toHaveLength(2);
    expect(scheduled).toHaveLength(5);
    expect(distinct(scheduled)).toHaveLength(5);
    expect(again).toEqual(scheduled);
  });
}

/** A server that hangs up on the first so many who call, and then passes them on to another. */
async function flaky(port: number, calls: number) {
  let left = calls;
  const server = createServer((caller) => {
    left -= 1;
    if (left >= 0) {
      caller.destroy();
      return;
    }
    const onward = connect(port, '127.0.0.1');
    caller.pipe(onward).pipe(caller);
    for (const one of [caller, onward]) one.on('error', () => {});
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

const leadingTo = (changes: object): DestinationServer['destination'] => ({
  ...target.destination,
  config: { ...target.destination.config, ...changes },
});

/** For servers that can be away: what they refuse at once is left to the next attempt of the run. */
function triedAgain(server: {
  /** The call of the destination that meets it first. */
  readonly call: 'deliver' | 'commit';
  /** Connections that one attempt tries. */
  readonly connections: number;
  readonly port: () => number;
  /** The keys of the config that lead to another port. */
  readonly at: (port: number) => object;
}): void {
  test('a server that is away is tried again, later each time, and the log says so', async () => {
    const door = await flaky(server.port(), 3 * server.connections);
    const attempts: number[] = [];
    const { world, arrive, run, statuses, messages } = await hourly({
      destination: leadingTo(server.at(door.port)),
      intrude: async (call) => void (call === server.call && attempts.push(world.time.clock())),
    });
    await arrive(NOW);
    await run(at('07T14:30:00'));
    door.close();
    expect(await statuses()).toEqual(['Completed']);
    expect(await target.rows()).toHaveLength(1);
    const waits = attempts.slice(1).map((instant, n) => instant - (attempts[n] ?? 0));
    expect(waits).toHaveLength(3);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits[0]).toBeGreaterThan(1000);
    expect((await messages()).filter((message) => message.includes('will be tried again'))).toHaveLength(3);
  });
}

/** For servers that refuse what they are sent. */
function triedOnce(refusal: {
  readonly destination: () => DestinationServer['destination'];
  readonly message: RegExp;
}): void {
  test('a server that refuses is not tried again, and the run says what to mend', async () => {
    let attempts = 0;
    const { world, arrive, run, statuses, messages, item } = await hourly({
      destination: refusal.destination(),
      intrude: async (call) => void (call === 'deliver' && (attempts += 1)),
    });
    await arrive(NOW);
    await run(at('07T16:30:00'));
    expect(attempts).toBe(1);
    expect(await statuses()).toEqual(['Failed', 'Completed', 'Completed']);
    expect((await world.runs(item.id))[0]?.latest_error).toMatch(refusal.message);
    expect((await messages()).filter((message) => message.includes('non-recoverable'))).toHaveLength(1);
  });
}

/** Starts the target of the tests of a block. */
function about<P extends DestinationServer>(start: () => Promise<P>): { readonly target: P } {
  let started: P;
  beforeAll(async () => {
    target = started = await start();
  });
  afterAll(() => started.close());
  return {
    get target() {
      return started;
    },
  };
}

const portOf = (url: unknown): number => Number(new URL(String(url)).port);

describe('S3', () => {
  about(s3Destination);
  exactlyOnce(3);
  triedAgain({
    call: 'deliver',
    // Three to look what is there, three to remove what an earlier attempt may have left.
    connections: 6,
    port: () => portOf(target.destination.config['endpoint_url']),
    at: (port) => ({ endpoint_url: `http://127.0.0.1:${port}` }),
  });
  triedOnce({
    destination: () => leadingTo({ bucket_name: 'nobody-made-it' }),
    message: /nobody-made-it/,
  });
});

describeOnPostgres('Postgres', () => {
  about(postgresDestination);
  exactlyOnce(3);
  triedAgain({
    call: 'deliver',
    connections: 1,
    port: () => Number(target.destination.config['port']),
    at: (port) => ({ port }),
  });
  triedOnce({ destination: () => leadingTo({ password: 'wrong' }), message: /password/ });
});

describe('HTTP', () => {
  const http = about(httpDestination);

  test('a kill before any act of a delivery loses nothing, and at most the batch on its way comes again', async () => {
    // Three batches.
    const count = 10_001;
    const repeated: number[] = [];
    const acts = await atEachAct(count, async () => {
      const { received } = http.target.receiver;
      const batches = received.map(({ headers }) => Number(String(headers['idempotency-key']).split('-').at(-1)));
      expect(distinct(await target.rows())).toHaveLength(count);
      expect(new Set(received.map(({ headers }) => headers['idempotency-key'])).size).toBe(3);
      expect(new Set(received.map(({ body }) => body)).size).toBe(3);
      expect(batches).toEqual(batches.toSorted((a, b) => a - b));
      expect(batches.length).toBeLessThanOrEqual(4);
      repeated.push(...batches.filter((batch, n) => batch === batches[n - 1]));
    });
    expect(acts.filter((act) => act === 'request POST')).toHaveLength(3);
    // Dead between the answer and the note.
    expect(repeated).toEqual([0, 1, 2]);
  });

  test('rows that arrive hours late are sent once; a backfill sends the same uuids again', async () => {
    const { early, scheduled, again } = await lateAndAgain();
    expect(early).toHaveLength(2);
    expect(scheduled).toHaveLength(5);
    expect(distinct(scheduled)).toHaveLength(5);
    expect(again).toEqual(scheduled.flatMap((uuid) => [uuid, uuid]));
  });

  test('another address, set while a run is under way, is sent all of its rows', async () => {
    const start = await prepared(5001);
    const { trace } = await story(start);
    const second = trace.lastIndexOf('request POST') + 1;
    http.target.receiver.reset();
    const world = await exportWorld({ now: at('07T13:59:00'), from: start.from });
    worlds.push(world);
    expect(await world.boot({ at: second, when: 'before' }).run(at('07T14:10:00'))).toBe(false);
    const next = world.boot();
    const config = { url: `${http.target.receiver.url}/moved/`, token: 'secret-of-the-test' };
    await world.patch(next.context, start.id, { destination: { type: 'HTTP', config } });
    await next.engine.resume();
    await next.run(at('07T14:50:00'));
    const sizes = http.target.receiver.received.map(({ path, body }) => [path, JSON.parse(body).batch.length]);
    expect(sizes).toEqual([
      ['/batch/', 5000],
      ['/moved/', 5000],
      ['/moved/', 1],
    ]);
    expect((await world.runs(start.id)).map(({ records_completed }) => records_completed)).toEqual([5001]);
    expect(await world.messages(start.id)).toContainEqual(expect.stringContaining('sent to it from the beginning'));
  });

  test('a receiver that is busy is waited for, and the run and the log say so', async () => {
    const { world, item, arrive, run, statuses, messages } = await hourly();
    const waiting: Promise<unknown>[] = [];
    const errors = async () => (await world.runs(item.id)).map(({ latest_error }) => latest_error);
    http.target.receiver.answer = (_request, n) => {
      if (n === 1) return { status: 429, headers: { 'retry-after': '1' }, body: 'Slow down.' };
      waiting.push(errors());
      return { status: 200 };
    };
    await arrive(NOW);
    await run(at('07T14:30:00'));
    expect(await Promise.all(waiting)).toEqual([[`${http.target.receiver.url}/batch/ answered 429: Slow down.`]]);
    expect(await statuses()).toEqual(['Completed']);
    expect(await errors()).toEqual([null]);
    expect(http.target.receiver.received).toHaveLength(2);
    expect(await messages()).toContain(
      `${http.target.receiver.url}/batch/ answered 429: Slow down. Trying again in 1 s.`,
    );
  });

  triedOnce({
    destination: () => {
      http.target.receiver.answer = () => ({ status: 401, body: 'Unknown token.' });
      return target.destination;
    },
    message: /answered 401: Unknown token\. Check url and token\.$/,
  });
});
