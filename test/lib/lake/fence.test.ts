/**
 * A model of everything that may happen at the lake's door: importers and readers whose clocks are minutes off, that
 * stall and die between any two steps, an export that is made in between. After all of it:
 *
 *   no row that arrives as live appears before an instant that somebody has read up to,
 *   once there is an export, no row at all appears between its start and that instant,
 *   no row vanishes, and every row is there exactly once when a last importer has run.
 *
 * Each of the commit's conditions is taken out in turn, and then the model must find what it is there for.
 */
import * as fc from 'fast-check';
import { DAY_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { historyEnd } from '../../../lib/lake/arrival.ts';
import { filesBetween } from '../../../lib/lake/catalog.ts';
import { fence, lowerLiveOps } from '../../../lib/lake/fence.ts';
import { ImportUnderWay, LeaseLost, underLease } from '../../../lib/lake/lease.ts';
import { finishPending } from '../../../lib/lake/pending.ts';
import { publish, type WrittenFile } from '../../../lib/lake/publish.ts';
import type { Context } from '../../../lib/ports/context.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { sqliteTable } from '../../../lib/ports/table/sqlite.ts';
import { type Op, Refused, type Table } from '../../../lib/ports/table/table.ts';
import { START, settableClock, testContext } from '../../support/context.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { seeded } from '../../support/random.ts';
import { tableWith } from '../../support/table-override.ts';

interface Row {
  readonly id: string;
  readonly timestamp: number;
  readonly arrival: number;
  readonly live: boolean;
}

/** What somebody saw who had closed the lake up to `upTo`. `start`: of the export that was there then, or null. */
interface Sight {
  readonly upTo: number;
  readonly start: number | null;
  readonly rows: ReadonlySet<string>;
}

type Mutation = 'fence' | 'live' | 'lease';

/** A commit whose condition on the fence, on `live` or on the lease is left out. */
function mutated(table: Table, projectId: number, mutation: Mutation | undefined): Table {
  if (mutation === undefined) return table;
  const loosened = (op: Op): Op => {
    if (!('check' in op) || typeof op.if !== 'object') return op;
    if (mutation === 'lease' && op.check.sk === keys.lease(projectId).sk) return { check: op.check };
    if (op.check.sk !== keys.fence(projectId).sk) return op;
    const { notAbove = {}, is = {} } = op.if;
    return { check: op.check, if: mutation === 'fence' ? { is } : { notAbove } };
  };
  return tableWith(table, { write: (ops, options) => table.write(ops.map(loosened), options) });
}

/** Files in memory; a file is its rows as JSON. */
function memoryFiles(): FileStore & { readonly files: Map<string, Buffer> } {
  const files = new Map<string, Buffer>();
  const below = (prefix: string): string[] => [...files.keys()].filter((path) => path.startsWith(prefix));
  return {
    root: '/',
    files,
    read: async (path) => files.get(path),
    write: async (path, content) => {
      files.set(path, Buffer.from(content as string));
    },
    list: async function* (prefix) {
      for (const path of below(prefix)) yield { path, size: 0, writtenAt: 0 };
    },
    move: async (from, to) => {
      const content = files.get(from);
      if (content === undefined && !files.has(to)) throw new Error(`nothing at ${from} and ${to}`);
      if (content !== undefined) files.set(to, content);
      files.delete(from);
    },
    take: () => Promise.reject(new Error('there are no local files here')),
    save: () => Promise.reject(new Error('there are no local files here')),
    local: () => Promise.reject(new Error('there are no local files here')),
    remove: async (prefix) => {
      for (const path of below(prefix)) files.delete(path);
    },
    removeFiles: async (paths) => {
      for (const path of paths) files.delete(path);
    },
    address: (path) => path,
  };
}

let projects = 0;

/** Plays one history; throws when a promise is broken. */
async function play(table: Table, seed: number, mutation?: Mutation): Promise<void> {
  const random = seeded(seed);
  const below = (n: number): number => Math.floor(random() * n);
  projects += 1;
  const projectId = projects;
  const time = settableClock(START);
  const lake = memoryFiles();
  const base = testPorts(mutated(table, projectId, mutation), lake, time);
  await table.write([{ put: { ...keys.project(projectId), id: projectId, deleted_at: null } }]);

  // Actors wait before and after each call of a port, until the play lets one go on, or never.
  let waiting: { readonly actor: number; readonly go: () => void }[] = [];
  const turn = (actor: number): Promise<void> =>
    new Promise((go) => {
      waiting.push({ actor, go });
    });
  /** The port with a wait before and after each call of these methods. */
  const slowly = <P extends object>(actor: number, port: P, methods: readonly (keyof P)[]): P => {
    const slow = { ...port };
    for (const method of methods) {
      const call = (port[method] as (...values: unknown[]) => Promise<unknown>).bind(port);
      const wrapped = async (...values: unknown[]): Promise<unknown> => {
        await turn(actor);
        const answer = await call(...values);
        await turn(actor);
        return answer;
      };
      slow[method] = wrapped as P[keyof P];
    }
    return slow;
  };
  const portsOf = (actor: number): Context => {
    const skew = (below(11) - 5) * MINUTE_MS;
    return {
      ...base,
      clock: () => time() + skew,
      table: slowly(actor, base.table, ['get', 'many', 'list', 'write']),
      lake: slowly(actor, base.lake, ['read', 'write', 'move', 'remove']),
    };
  };

  const source = Array.from({ length: 3 }, (_, n) => ({
    id: `row ${n}`,
    timestamp: START - below(2) * 40 * DAY_MS - below(90) * MINUTE_MS,
  }));
  const sights: Sight[] = [];
  const start = START - 30 * MINUTE_MS;
  let created = false;

  const actors: (() => Promise<void>)[] = [];
  const readers = 2 + below(3);
  const importers = 1 + below(3);
  for (let n = 0; n < importers; n += 1) {
    const ports = portsOf(actors.length);
    actors.push(() => importAll(ports, projectId, source));
  }
  for (let n = 0; n < readers; n += 1) {
    const ports = portsOf(actors.length);
    actors.push(async () => {
      const upTo = Math.floor((ports.clock() + below(3) * MINUTE_MS) / MINUTE_MS) * MINUTE_MS;
      const exportStart = created ? start : null;
      await fence(ports, projectId, upTo);
      const files = await filesBetween(ports.table, projectId, 'events', 0, upTo);
      const rows = rowsIn(lake, files).filter(({ arrival }) => arrival < upTo);
      sights.push({ upTo, start: exportStart, rows: new Set(rows.map(({ id }) => id)) });
    });
  }
  const exporter = portsOf(actors.length);
  actors.push(async () => {
    for (;;) {
      try {
        await exporter.table.write([
          ...(await lowerLiveOps(exporter.table, projectId, start)),
          { put: { pk: `export of ${projectId}`, sk: 'EXPORT' } },
        ]);
        created = true;
        return;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
      }
    }
  });

  const failures: unknown[] = [];
  const running = actors.map(async (act, actor) => {
    await turn(actor);
    await act();
  });
  for (const one of running) one.catch((error) => failures.push(error));
  let last: number | undefined;
  for (;;) {
    // The table commits in a turn of the event loop of its own.
    for (let turns = 0; turns < 2; turns += 1) await new Promise(setImmediate);
    // Often the same goes on: then the others stall while much happens.
    const same = waiting.find(({ actor }) => actor === last);
    const chosen = (below(8) > 0 && same) || waiting[below(waiting.length)];
    if (chosen === undefined) break;
    last = chosen.actor;
    waiting = waiting.filter((one) => one !== chosen);
    time.advance(below(20) === 0 ? below(4) * MINUTE_MS : below(200));
    if (random() >= 0.01) chosen.go();
  }
  if (failures.length > 0) throw failures[0];

  // Whoever comes last, long after, and is left in peace.
  time.advance(DAY_MS);
  await finishPending(base, projectId);
  const settled = rowsIn(lake, await filesBetween(table, projectId, 'events', 0, time() + DAY_MS));
  for (const { upTo, start: from, rows } of sights) {
    const here = new Set(settled.map(({ id }) => id));
    for (const id of rows) expect(here).toContain(id);
    const late = settled.filter(
      (row) => row.arrival < upTo && !rows.has(row.id) && (row.live || (from !== null && row.arrival >= from)),
    );
    expect(late).toEqual([]);
  }
  await importAll(base, projectId, source);
  const rows = rowsIn(lake, await filesBetween(table, projectId, 'events', 0, time() + DAY_MS));
  expect(rows.map(({ id }) => id).toSorted()).toEqual(source.map(({ id }) => id));
  expect([...lake.files.keys()].filter((path) => path.startsWith('incoming/'))).toEqual([]);
  expect((await table.list(ranges.pendingBatches(projectId), { limit: 1 })).items).toEqual([]);
}

function rowsIn(lake: ReturnType<typeof memoryFiles>, files: readonly { path: string }[]): Row[] {
  return files.flatMap(({ path }) => JSON.parse(String(lake.files.get(path))) as Row[]);
}

/** What an import does, without Parquet: drops the rows that it finds in the lake, and publishes the rest. */
async function importAll(
  ports: Context,
  projectId: number,
  source: readonly { id: string; timestamp: number }[],
): Promise<void> {
  try {
    await underLease(ports, projectId, async (lease) => {
      const files = await filesBetween(ports.table, projectId, 'events', 0, Date.UTC(9999, 0));
      const known = new Set<string>();
      for (const { path } of files)
        for (const { id } of JSON.parse(String(await ports.lake.read(path))) as Row[]) known.add(id);
      await publish(ports, lease, async (stamp, folder) => {
        const end = historyEnd('auto', stamp.live, ports.settings.historyDays);
        const rows = source
          .filter(({ id }) => !known.has(id))
          .map(({ id, timestamp }): Row => {
            const live = timestamp >= end || timestamp > stamp.at;
            return { id, timestamp, live, arrival: live ? stamp.at : timestamp };
          });
        return Promise.all(
          rows.map(async (row, n): Promise<WrittenFile> => {
            await ports.lake.write(`${folder}${n}`, JSON.stringify([row]));
            const hours = Array.from({ length: 24 }, (_, hour) => Number(hour === new Date(row.arrival).getUTCHours()));
            return {
              name: String(n),
              model: 'events',
              rows: 1,
              bytes: 1,
              min_arrival: row.arrival,
              max_arrival: row.arrival,
              min_timestamp: row.timestamp,
              max_timestamp: row.timestamp,
              hours: toJsonText(hours),
            };
          }),
        );
      });
    });
  } catch (error) {
    if (!(error instanceof ImportUnderWay) && !(error instanceof LeaseLost)) throw error;
  }
}

let ids = 0;
const testPorts = (table: Table, lake: FileStore, clock: () => number): Context => ({
  ...context,
  table,
  lake,
  clock,
  newId: () => {
    ids += 1;
    return `id-${ids}`;
  },
});

const context = testContext();
const RUNS = propertyRuns(1000);
let table: ReturnType<typeof sqliteTable>;

beforeEach(() => {
  // Leases of the dead must not be renewed by timers of this process.
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance', 'hrtime'] });
  table = sqliteTable(':memory:', { clock: () => START });
});
afterEach(() => {
  jest.useRealTimers();
  table.close();
});

test(
  'nothing appears behind a fence, nothing is lost and nothing is there twice, whoever stalls or dies',
  async () => {
    const histories = fc.asyncProperty(fc.integer(), (seed) => play(table, seed));
    await expect(
      fc.assert(histories, { numRuns: RUNS, endOnFailure: true, includeErrorInReport: true }),
    ).resolves.toBeUndefined();
  },
  60_000 + RUNS * 120,
);

test.each<Mutation>(['fence', 'live', 'lease'])(
  'a commit that does not look at the %s is caught by the same history that the whole commit passes',
  async (mutation) => {
    const breaks = async (seed: number): Promise<boolean> => {
      try {
        await play(table, seed, mutation);
        return false;
      } catch {
        return true;
      }
    };
    let seed = 0;
    while (seed < 20_000 && !(await breaks(seed))) seed += 1;
    expect(seed).toBeLessThan(20_000);
    await play(table, seed);
  },
  600_000,
);
