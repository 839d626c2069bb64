import * as fc from 'fast-check';
import { handler } from '../../../functions/steps/compact-lake.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { parquet } from '../../../lib/duckdb/database.ts';
import { allFiles, filesBetween, type LakeFile } from '../../../lib/lake/catalog.ts';
import { compact, joinsOf, waitFor } from '../../../lib/lake/compact.ts';
import { askForCompaction, compactionJob } from '../../../lib/lake/compaction-job.ts';
import { removeRetired, replaceFiles } from '../../../lib/lake/replace.ts';
import { MODELS, type Model } from '../../../lib/lake/schema.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { onAnyFile } from '../../support/any-file.ts';
import { START } from '../../support/context.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../support/imports.ts';
import { propertyRuns } from '../../support/property-runs.ts';
import { tableWith } from '../../support/table-override.ts';

type Imported = Awaited<ReturnType<typeof importContext>>;

/** Imports one batch after the other, each a second later than the one before. */
async function withBatches(count: number, context?: Imported, from = 0): Promise<Imported> {
  const made = context ?? (await importContext());
  for (let n = 0; n < count; n += 1) await add(made, from + n);
  return made;
}

async function add(context: Imported, n: number, options: Parameters<typeof run>[2] = {}) {
  context.clock.advance(1_000);
  const events = [1, 2].map((k) => ({
    event: k === 1 ? 'paid' : '$identify',
    distinct_id: `u${n % 3}`,
    timestamp: START - (n + k) * MINUTE_MS,
    properties: { n, k, ...(k === 1 ? {} : { $set: { n }, $anon_distinct_id: `anonymous-${n}` }) },
  }));
  const lines = events.map((event) => JSON.stringify(event)).join('\n');
  return run(context, fileIn(context, `${n}.jsonl`, lines), { arrived: 'now', ...options });
}

/** All rows of the files, as JSON, in the order of the files and of their rows. */
async function rowsOf(context: Imported, files: readonly Pick<LakeFile, 'path'>[]): Promise<string[]> {
  const paths = files.map(({ path }) => context.lake.address(path));
  const rows = await onAnyFile((connection) =>
    connection.runAndReadAll(`SELECT to_json(t)::VARCHAR FROM ${parquet(paths)} t`),
  );
  return rows.getRows().map(String);
}

const everything = async (context: Imported) =>
  Object.fromEntries(
    await Promise.all(
      MODELS.map(async (model) => {
        const files = await allFiles(context.table, PROJECT, model);
        return [model, files.length === 0 ? [] : (await rowsOf(context, files)).toSorted()] as const;
      }),
    ),
  ) as Record<Model, string[]>;

async function pathsIn(context: Imported): Promise<string[]> {
  const found: string[] = [];
  for await (const { path } of context.lake.list('')) found.push(path);
  return found.filter((path) => !path.startsWith('persons_state/')).toSorted();
}

describe('small files of a day', () => {
  test('are joined to one that has all their rows in order, and tells all that they told', async () => {
    const context = await withBatches(16);
    const before = await everything(context);
    const small = await allFiles(context.table, PROJECT, 'events');
    expect(small).toHaveLength(16);
    expect(await compact(context, PROJECT)).toMatchObject({ joined: 32, isCut: false });
    const [joined, ...more] = await allFiles(context.table, PROJECT, 'events');
    expect(more).toEqual([]);
    expect(joined).toMatchObject({
      rows: 32,
      min_arrival: small[0]?.min_arrival,
      max_arrival: small.at(-1)?.max_arrival,
      min_timestamp: Math.min(...small.map((file) => file.min_timestamp)),
      max_timestamp: Math.max(...small.map((file) => file.max_timestamp)),
      path: expect.stringMatching(/^events\/team_id=7\/day=2026-01-01\/gen=1\//),
    });
    expect(await everything(context)).toEqual(before);
    expect(await rowsOf(context, [joined!])).toEqual(await rowsOf(context, small));
  });

  test('stay for whoever has listed them, and are gone two days later', async () => {
    const context = await withBatches(3);
    context.clock.advance(2 * DAY_MS);
    const listed = await filesBetween(context.table, PROJECT, 'events', 0, START + DAY_MS);
    const rows = await rowsOf(context, listed);
    const { next } = await compact(context, PROJECT);
    expect(next).toBe(context.clock() + MINUTE_MS);
    context.clock.advance(2 * DAY_MS - 1);
    await compact(context, PROJECT);
    expect(await rowsOf(context, listed)).toEqual(rows);
    context.clock.advance(1);
    const report = await compact(context, PROJECT);
    expect(report).toEqual({ joined: 0, next: null, isCut: false });
    expect(await pathsIn(context)).toHaveLength(2);
    expect(await listAll(context.table, ranges.retiredFiles(PROJECT))).toEqual([]);
    expect(await rowsOf(context, await allFiles(context.table, PROJECT, 'events'))).toEqual(rows);
  });

  test('that were replaced are not read before they are due, however many wait', async () => {
    const context = await importContext();
    const about = { model: 'events', day: '2026-01-01', paths: toJsonText([]) } as const;
    const dues = Array.from({ length: 50 }, (_, n) => context.clock() + n * HOUR_MS);
    await context.table.write(
      dues.map((due, n) => ({ put: { ...keys.retiredFiles(PROJECT, due, `r${n}`), due, ...about } })),
    );
    let read = 0;
    const table = tableWith(context.table, {
      list: async (range, page) => {
        const found = await context.table.list(range, page);
        read += found.items.length;
        return found;
      },
    });
    expect(await removeRetired({ ...context, table }, PROJECT)).toBe(dues[1]);
    expect(read).toBe(2);
    expect(await listAll(context.table, ranges.retiredFiles(PROJECT))).toHaveLength(49);
  });

  test.each([
    ['one each ten seconds', 8, 10_000, 80_000],
    ['one each second', 8, 1_000, MINUTE_MS],
    ['one each hour', 8, HOUR_MS, 15 * MINUTE_MS],
    ['many in the last minute, though few before', 12, 15_000, MINUTE_MS],
    ['as many as are worth it, which could not be joined', 16, 1_000, 15 * MINUTE_MS],
  ])('are looked at again when so many as are worth it will have come: %s', (_, count, gap, wait) => {
    const file = (n: number, at: number): LakeFile => ({ path: `f/${at}-${n}.parquet`, bytes: 1_000 }) as LakeFile;
    const now = START + DAY_MS / 2;
    const files = Array.from({ length: count - 1 }, (_unused, n) => file(n, now - (n + 1) * gap));
    const early = file(count, count > 8 ? START : now - count * gap);
    expect(waitFor([...files, early], now)).toBe(wait);
  });

  test('are few: they wait for more, until an hour after the day', async () => {
    const context = await withBatches(3);
    context.clock.advance(HOUR_MS);
    expect(await compact(context, PROJECT)).toEqual({
      joined: 0,
      next: context.clock() + 15 * MINUTE_MS,
      isCut: false,
    });
    context.clock.set(Date.UTC(2026, 0, 2, 1));
    expect(await compact(context, PROJECT)).toMatchObject({ joined: 6 });
    expect(await compact(context, PROJECT)).toMatchObject({ joined: 0 });
  });

  test('of which one is damaged are left as they are, those of other days are joined', async () => {
    const context = await withBatches(2);
    context.clock.advance(DAY_MS);
    await withBatches(2, context, 2);
    context.clock.advance(2 * DAY_MS);
    const [first] = await allFiles(context.table, PROJECT, 'events');
    await context.lake.write(first?.path ?? '', 'no longer Parquet');
    expect(await compact(context, PROJECT)).toMatchObject({ joined: 6 });
    expect(context.lines.filter(({ level }) => level === 'ERROR')).toMatchObject([
      { message: 'files of the lake could not be joined' },
    ]);
    expect(await allFiles(context.table, PROJECT, 'events')).toHaveLength(3);
  });

  test('of a batch that is not published for good are left alone', async () => {
    const context = await withBatches(2);
    context.clock.advance(2 * DAY_MS);
    const [first] = await allFiles(context.table, PROJECT, 'events');
    const batch = /-(.*)-0\.parquet$/.exec(first?.path.slice(first.path.lastIndexOf('/')) ?? '')?.[1] ?? '';
    await context.table.write([{ put: { ...keys.pendingBatch(PROJECT, START, batch), batch, at: START } }]);
    expect(await compact(context, PROJECT)).toMatchObject({ joined: 0 });
  });

  test('of a project that is gone are nobody’s', async () => {
    const context = await withBatches(2);
    context.clock.advance(2 * DAY_MS);
    await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
    expect(await compact(context, PROJECT)).toEqual({ joined: 0, next: null, isCut: false });
  });

  test('of a project that is deleted while they are joined stay as they are', async () => {
    const context = await withBatches(2);
    context.clock.advance(2 * DAY_MS);
    const files = await allFiles(context.table, PROJECT, 'events');
    const replaced = await replaceFiles(context, { projectId: PROJECT, model: 'events', files }, async () => {
      await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
      return undefined;
    });
    expect(replaced).toBe(false);
    expect(await allFiles(context.table, PROJECT, 'events')).toEqual(files);
  });
});

test('two that join at once lose and double nothing', async () => {
  const context = await withBatches(3);
  context.clock.advance(2 * DAY_MS);
  const before = await everything(context);
  const reports = await Promise.all([1, 2, 3].map(() => compact(context, PROJECT)));
  expect(reports.reduce((sum, { joined }) => sum + joined, 0)).toBe(6);
  expect(await everything(context)).toEqual(before);
  context.clock.advance(3 * DAY_MS);
  await compact(context, PROJECT);
  expect(await pathsIn(context)).toHaveLength(2);
});

test('whoever lists files while some are replaced gets the ones or the others', async () => {
  const context = await withBatches(3);
  context.clock.advance(2 * DAY_MS);
  const listed = await filesBetween(context.table, PROJECT, 'events', 0, START + DAY_MS);
  let isReplaced = false;
  const table = tableWith(context.table, {
    list: async (range, page) => {
      const found = await context.table.list(range, page);
      if (!isReplaced) await compact(context, PROJECT);
      isReplaced = true;
      return found;
    },
  });
  const found = await filesBetween(table, PROJECT, 'events', 0, START + DAY_MS);
  expect(found).toHaveLength(1);
  expect(await rowsOf(context, found)).toEqual(await rowsOf(context, listed));
});

test('a death before any change loses nothing, and doubles nothing', async () => {
  let deaths = 0;
  for (let alive = false; !alive; deaths += 1) {
    const context = await withBatches(3);
    context.clock.advance(2 * DAY_MS);
    const before = await everything(context);
    const { dying, hasDied } = killableContext(context, deaths + 1);
    await compact(dying, PROJECT).catch(() => {});
    alive = !hasDied();
    expect(await everything(context)).toEqual(before);
    await compact(context, PROJECT);
    expect(await everything(context)).toEqual(before);
    expect(await allFiles(context.table, PROJECT, 'events')).toHaveLength(1);
    context.clock.advance(2 * DAY_MS);
    await compact(context, PROJECT);
    expect(await pathsIn(context)).toHaveLength(2);
  }
  expect(deaths).toBeGreaterThan(5);
});

test('persons are known, and events are known again, as if nothing had been joined', async () => {
  const [joined, plain] = [await importContext(), await importContext()];
  for (const context of [joined, plain]) {
    await withBatches(4, context);
    context.clock.advance(2 * DAY_MS);
    if (context === joined) await compact(context, PROJECT);
    await withBatches(3, context, 4);
    expect(await add(context, 2)).toMatchObject({ added: 0, known: 2 });
  }
  expect(await everything(joined)).toEqual(await everything(plain));
  expect(await allFiles(joined.table, PROJECT, 'persons')).toHaveLength(4);
});

test('what is joined is small, of at most so many files and bytes, and none twice', () => {
  const file = fc.record({ bytes: fc.nat(60_000_000), at: fc.integer({ min: 1, max: 1_000_000 }) });
  fc.assert(
    fc.property(fc.array(file, { maxLength: 400 }), fc.boolean(), (made, isClosed) => {
      const files = made.map(({ bytes, at }, n) => ({ bytes, path: `${at}-${n}` }) as LakeFile);
      const joins = joinsOf(files, isClosed);
      const all = joins.flat();
      expect(new Set(all).size).toBe(all.length);
      for (const some of joins) {
        expect(some.length).toBeGreaterThan(1);
        expect(some.length).toBeLessThanOrEqual(95);
        expect(some.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(128 * 1024 * 1024);
        expect(some.every(({ bytes }) => bytes < 32 * 1024 * 1024)).toBe(true);
      }
    }),
    { numRuns: propertyRuns(100) },
  );
});

describe('the job', () => {
  const jobOf = async (context: Imported) => context.table.get(keys.job('compaction', compactionJob(PROJECT)));
  const walk = (context: Imported) => handler(context)({ project: PROJECT, execution: 'e' });

  test('is there a minute after the first batch, and others do not put it off', async () => {
    const context = await withBatches(1);
    const first = await jobOf(context);
    expect(first?.due).toBe(context.clock() + MINUTE_MS);
    await withBatches(2, context, 1);
    expect(await jobOf(context)).toEqual(first);
  });

  test('looks again while its day goes on, and ends when nothing is left to be done', async () => {
    const context = await withBatches(2);
    expect(await walk(context)).toEqual({ do: 'nothing' });
    expect((await jobOf(context))?.due).toBe(context.clock() + MINUTE_MS);
    context.clock.advance(DAY_MS + HOUR_MS);
    await walk(context);
    context.clock.advance(MINUTE_MS);
    await walk(context);
    expect((await jobOf(context))?.due).toBe(context.clock() - MINUTE_MS + 2 * DAY_MS);
    context.clock.advance(2 * DAY_MS);
    await walk(context);
    expect(await jobOf(context)).toBeUndefined();
  });

  test('is there again for what was replaced while it ended: files of persons who were deleted go in time', async () => {
    const context = await withBatches(1);
    const due = context.clock() + 2 * DAY_MS;
    const about = { due, model: 'events', day: '2026-01-01', paths: toJsonText(['a.parquet']) } as const;
    const compactor = {
      compact: async () => {
        // A deletion that ends now: what was there before is to be removed, and the job that would is there already.
        await context.table.write([{ put: { ...keys.retiredFiles(PROJECT, due, 'old'), ...about } }]);
        await askForCompaction(context, PROJECT);
        return { joined: 0, next: null, isCut: false };
      },
    };
    expect(await handler({ ...context, compactor })({ project: PROJECT, execution: 'e' })).toEqual({ do: 'nothing' });
    expect((await jobOf(context))?.due).toBe(context.clock() + MINUTE_MS);
  });

  test('goes on at once when its time was over', async () => {
    const context = await withBatches(2);
    const compactor = { compact: async () => ({ joined: 1, next: null, isCut: true }) };
    const walked = await handler({ ...context, compactor })({ project: PROJECT, execution: 'e' });
    expect(walked).toEqual({ do: 'more' });
    expect((await jobOf(context))?.due).toBe(context.clock() + HOUR_MS);
  });
});
