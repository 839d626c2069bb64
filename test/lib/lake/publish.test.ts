import { spawnSync } from 'node:child_process';
import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { allFiles, filesBetween, isTouched, type LakeFile } from '../../../lib/lake/catalog.ts';
import { fence, lowerLiveOps } from '../../../lib/lake/fence.ts';
import { ImportUnderWay, LeaseLost, underLease } from '../../../lib/lake/lease.ts';
import { finishPending } from '../../../lib/lake/pending.ts';
import { ProjectGone, publish, type Stamp, type WrittenFile } from '../../../lib/lake/publish.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { type Item, Refused } from '../../../lib/ports/table/table.ts';
import { START, testContext } from '../../support/context.ts';

const PROJECT = 7;

async function lakeContext() {
  const context = testContext();
  await context.table.write([{ put: { ...keys.project(PROJECT), id: PROJECT, deleted_at: null } }]);
  return context;
}

/** A file with one row, that arrives at `arrival`. */
async function oneRow(context: Context, folder: string, arrival: number, name = 'a'): Promise<WrittenFile> {
  await context.lake.write(`${folder}${name}`, 'rows');
  const hours = Array.from({ length: 24 }, (_, hour) => Number(hour === new Date(arrival).getUTCHours()));
  return {
    name,
    model: 'events',
    rows: 1,
    bytes: 4,
    min_arrival: arrival,
    max_arrival: arrival,
    min_timestamp: arrival,
    max_timestamp: arrival,
    hours: toJsonText(hours),
  };
}

const pathsIn = async (context: Context, prefix: string): Promise<string[]> => {
  const paths: string[] = [];
  for await (const { path } of context.lake.list(prefix)) paths.push(path);
  return paths;
};

describe('publish', () => {
  test('puts files where the arrival day says, and a FILE item for each', async () => {
    const context = await lakeContext();
    const files = await underLease(context, PROJECT, (lease) =>
      publish(context, lease, async ({ at }, folder) => [
        await oneRow(context, folder, at - DAY_MS, 'yesterday'),
        await oneRow(context, folder, at, 'today'),
      ]),
    );
    expect(files.map(({ path }) => path.replace(/-[0-9a-f-]{36}-/, '-batch-'))).toEqual([
      `events/team_id=7/day=2025-12-31/gen=0/${START}-batch-0.parquet`,
      `events/team_id=7/day=2026-01-01/gen=0/${START}-batch-1.parquet`,
    ]);
    expect(await pathsIn(context, '')).toEqual(files.map(({ path }) => path));
    expect(await filesBetween(context.table, PROJECT, 'events', 0, START + DAY_MS)).toMatchObject(
      files.map(({ path, hours }) => ({ path, hours })),
    );
    expect(await filesBetween(context.table, PROJECT, 'persons', 0, START + DAY_MS)).toEqual([]);
    expect(await filesBetween(context.table, 8, 'events', 0, START + DAY_MS)).toEqual([]);
  });

  test('stamps again, and writes again, when somebody has read up to a later time meanwhile', async () => {
    const context = await lakeContext();
    const stamps: Stamp[] = [];
    await underLease(context, PROJECT, (lease) =>
      publish(context, lease, async (stamp, folder) => {
        stamps.push(stamp);
        if (stamps.length === 1) await fence(context, PROJECT, START + 5 * HOUR_MS);
        return [await oneRow(context, folder, stamp.at)];
      }),
    );
    expect(stamps.map(({ at }) => at)).toEqual([START, START + 5 * HOUR_MS]);
    expect(await filesBetween(context.table, PROJECT, 'events', 0, START + 5 * HOUR_MS)).toEqual([]);
    expect(await filesBetween(context.table, PROJECT, 'events', START + 5 * HOUR_MS, START + DAY_MS)).toHaveLength(1);
    expect(await pathsIn(context, 'incoming/')).toEqual([]);
  });

  test('stamps again when the first export was made meanwhile', async () => {
    const context = await lakeContext();
    const stamps: Stamp[] = [];
    await underLease(context, PROJECT, (lease) =>
      publish(context, lease, async (stamp, folder) => {
        stamps.push(stamp);
        if (stamps.length === 1) await context.table.write(await lowerLiveOps(context.table, PROJECT, START - HOUR_MS));
        return [await oneRow(context, folder, stamp.at)];
      }),
    );
    expect(stamps.map(({ live }) => live)).toEqual([null, START - HOUR_MS]);
  });

  test('publishes nothing when there is nothing to write', async () => {
    const context = await lakeContext();
    expect(await underLease(context, PROJECT, (lease) => publish(context, lease, async () => []))).toEqual([]);
    expect(await pathsIn(context, '')).toEqual([]);
  });

  test('publishes nothing into a project that was deleted meanwhile', async () => {
    const context = await lakeContext();
    const work = underLease(context, PROJECT, (lease) =>
      publish(context, lease, async ({ at }, folder) => {
        await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: at } }]);
        return [await oneRow(context, folder, at)];
      }),
    );
    await expect(work).rejects.toThrow(ProjectGone);
    expect(await pathsIn(context, '')).toEqual([]);
  });

  test('puts more files than one transaction holds', async () => {
    const context = await lakeContext();
    await underLease(context, PROJECT, (lease) =>
      publish(context, lease, async ({ at }, folder) =>
        Promise.all(Array.from({ length: 230 }, (_, n) => oneRow(context, folder, at - n * DAY_MS, String(n)))),
      ),
    );
    expect(await filesBetween(context.table, PROJECT, 'events', 0, START + DAY_MS)).toHaveLength(230);
    expect((await context.table.list(ranges.pendingBatches(PROJECT), { limit: 1 })).items).toEqual([]);
  });
});

test('who comes back late to a batch that others finished, and whose files were joined since, adds no file', async () => {
  const context = await lakeContext();
  const { table, lake } = context;
  const dying = { ...lake, move: () => Promise.reject(new Error('the process dies here')) };
  const publishing = underLease({ ...context, lake: dying }, PROJECT, (lease) =>
    publish({ ...context, lake: dying }, lease, async ({ at }, folder) => [await oneRow(context, folder, at)]),
  );
  await expect(publishing).rejects.toThrow('dies here');
  let isFinished = false;
  const late: typeof lake = {
    ...lake,
    move: async (from, to) => {
      await lake.move(from, to);
      if (isFinished) return;
      isFinished = true;
      await finishPending(context, PROJECT);
      const files = await allFiles(table, PROJECT, 'events');
      expect(files).toHaveLength(1);
      await table.write(files.map(({ pk, sk }) => ({ remove: { pk, sk } })));
    },
  };
  await finishPending({ table, lake: late }, PROJECT);
  expect(isFinished).toBe(true);
  expect(await allFiles(table, PROJECT, 'events')).toEqual([]);
});

describe('the import lease', () => {
  test('holds off a second importer, and says since when', async () => {
    const context = await lakeContext();
    await underLease(context, PROJECT, async () => {
      context.clock.advance(30_000);
      await expect(underLease(context, PROJECT, async () => 1)).rejects.toThrow(
        'Another import into project 7 is under way since 2026-01-01T00:00:00.000Z. ' +
          'If it has died, the next one may start at 2026-01-01T00:01:00.000Z.',
      );
      await expect(underLease(context, PROJECT, async () => 1)).rejects.toThrow(ImportUnderWay);
      await expect(underLease({ ...context }, 8, async () => 'another project')).resolves.toBe('another project');
    });
    await expect(underLease(context, PROJECT, async () => 'then')).resolves.toBe('then');
  });

  test('is taken at once from a process of this machine that has ended, and from no other', async () => {
    const context = await lakeContext();
    const { pid } = spawnSync(process.execPath, ['--version']);
    const held = async (changes: Readonly<Record<string, string | number>>) => {
      await underLease(context, PROJECT, async () => {
        const lease = (await context.table.get(keys.lease(PROJECT))) as Item;
        await context.table.write([{ put: { ...lease, ...keys.lease(7), holder: 'another', ...changes } }]);
      });
      return underLease(context, PROJECT, async () => 'taken').catch((error: Error) => error.name);
    };
    expect(await held({ pid, processes: 'another machine' })).toBe('ImportUnderWay');
    context.clock.advance(60_000);
    expect(await held({})).toBe('ImportUnderWay');
    context.clock.advance(60_000);
    expect(await held({ pid })).toBe('taken');
  });

  test('lets one of two in that come at once', async () => {
    const context = await lakeContext();
    const both = await Promise.allSettled([1, 2].map((n) => underLease(context, PROJECT, async () => n)));
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('is renewed every 20 seconds, and expires a minute after the last time', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
    const context = await lakeContext();
    const until = async () => (await context.table.get(keys.lease(PROJECT)))?.['until'];
    await underLease(context, PROJECT, async () => {
      expect(await until()).toBe(START + 60_000);
      context.clock.advance(20_000);
      await jest.advanceTimersByTimeAsync(20_000);
      expect(await until()).toBe(START + 80_000);
    });
    jest.useRealTimers();
  });

  test('ends the work of a holder that was taken for dead, and keeps it from publishing', async () => {
    const context = await lakeContext();
    const stalled = underLease(context, PROJECT, (lease) =>
      publish(context, lease, async ({ at }, folder) => {
        context.clock.advance(60_000);
        await underLease(context, PROJECT, async () => {});
        return [await oneRow(context, folder, at)];
      }),
    );
    await expect(stalled).rejects.toThrow(LeaseLost);
    expect(await pathsIn(context, '')).toEqual([]);
    expect(await filesBetween(context.table, PROJECT, 'events', 0, START + DAY_MS)).toEqual([]);
  });
});

describe('lowerLiveOps', () => {
  test('lowers `live`, and never raises it', async () => {
    const { table } = await lakeContext();
    const live = async () => (await table.get(keys.fence(PROJECT)))?.['live'];
    for (const [start, expected] of [
      [START, START],
      [START + HOUR_MS, START],
      [START - HOUR_MS, START - HOUR_MS],
    ] as const) {
      const ops = await lowerLiveOps(table, PROJECT, start);
      if (ops.length > 0) await table.write(ops);
      expect(await live()).toBe(expected);
    }
  });

  test('is refused when somebody lowered it at the same moment', async () => {
    const { table } = await lakeContext();
    const ops = await lowerLiveOps(table, PROJECT, START);
    await table.write(await lowerLiveOps(table, PROJECT, START - HOUR_MS));
    await expect(table.write(ops)).rejects.toThrow(Refused);
  });
});

test('the fence never goes back', async () => {
  const context = await lakeContext();
  await fence(context, PROJECT, START);
  await fence(context, PROJECT, START - HOUR_MS);
  expect((await context.table.get(keys.fence(PROJECT)))?.['at']).toBe(START);
});

describe('isTouched', () => {
  const hours = Array.from({ length: 24 }, (_, hour) => (hour === 3 || hour === 20 ? 5 : 0));
  const midnight = Date.UTC(2026, 0, 1);
  const file: LakeFile = {
    path: '',
    rows: 10,
    bytes: 1,
    min_arrival: midnight + 3.5 * HOUR_MS,
    max_arrival: midnight + 20.25 * HOUR_MS,
    min_timestamp: 0,
    max_timestamp: 0,
    hours: toJsonText(hours),
  };

  test.each([
    ['an interval before the first row', 0, 3.5, false],
    ['an interval that ends right after the first row', 0, 3.5 + 1 / HOUR_MS, true],
    ['hours without rows between', 4, 20, false],
    ['the rest of an hour with rows', 3.9, 4, true],
    ['an interval from the last row on', 20.25, 24, true],
    ['an interval after the last row', 20.25 + 1 / HOUR_MS, 24, false],
    ['the whole day', 0, 24, true],
    ['the next day', 24, 48, false],
  ])('%s', (_what, from, to, expected) => {
    expect(isTouched(file, midnight + from * HOUR_MS, midnight + to * HOUR_MS)).toBe(expected);
  });
});
