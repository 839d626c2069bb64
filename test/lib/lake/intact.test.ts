import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { allFiles, type LakeFile, rowsWithin } from '../../../lib/lake/catalog.ts';
import { digestOf, intactCopies, intactFiles } from '../../../lib/lake/intact.ts';
import { Damaged } from '../../../lib/ports/errors.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { START, settableClock, temporaryFolder } from '../../support/context.ts';
import { fileIn, importContext, PROJECT, run } from '../../support/imports.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const CONTENT = Buffer.from('what was written, and nothing else');

async function written(content = CONTENT) {
  const local = join(temporaryFolder(), 'file');
  writeFileSync(local, content);
  return { path: 'events/file', local, bytes: content.length, sha256: await digestOf(local) };
}

describe('a file', () => {
  test('is intact when it is what was written', async () => {
    await expect(intactFiles()(await written())).resolves.toBeUndefined();
  });

  test('is not intact with any bit changed', async () => {
    const file = await written();
    const isIntact = intactFiles();
    await fc.assert(
      fc.asyncProperty(fc.nat(CONTENT.length * 8 - 1), async (bit) => {
        const content = Buffer.from(CONTENT);
        content[bit >> 3] = (content[bit >> 3] as number) ^ (1 << (bit & 7));
        writeFileSync(file.local, content);
        await expect(isIntact(file)).rejects.toThrow("file 'events/file' is damaged: it is not what was written");
        writeFileSync(file.local, CONTENT);
        await isIntact(file);
      }),
      { numRuns: propertyRuns(20) },
    );
  });

  test('is not intact when it is cut off, or gone', async () => {
    const file = await written();
    writeFileSync(file.local, CONTENT.subarray(0, 5));
    await expect(intactFiles()(file)).rejects.toThrow('it has 5 bytes, and 34 were written');
    rmSync(file.local);
    await expect(intactFiles()(file)).rejects.toThrow('it is not there');
    await expect(intactFiles()(file)).rejects.toThrow(Damaged);
  });

  test('that is older than digests is known by its size alone', async () => {
    const { sha256: _, ...file } = await written();
    writeFileSync(file.local, Buffer.alloc(CONTENT.length));
    await expect(intactFiles()(file)).resolves.toBeUndefined();
    writeFileSync(file.local, 'short');
    await expect(intactFiles()(file)).rejects.toThrow(Damaged);
  });

  test('that nobody touches is compared once in ten minutes, also by several at once', async () => {
    const clock = settableClock();
    const reads = jest.fn(digestOf);
    const isIntact = intactFiles(clock, reads);
    const file = await written();
    await Promise.all([isIntact(file), isIntact(file)]);
    clock.advance(599_999);
    await isIntact(file);
    expect(reads).toHaveBeenCalledTimes(1);
    clock.advance(1);
    await isIntact(file);
    expect(reads).toHaveBeenCalledTimes(2);
    writeFileSync(file.local, CONTENT);
    await isIntact(file);
    expect(reads).toHaveBeenCalledTimes(3);
  });

  test('that the disk cannot read is damaged', async () => {
    const broken = async () => Promise.reject(Object.assign(new Error('EIO: read'), { code: 'EIO' }));
    await expect(intactFiles(settableClock(), broken)(await written())).rejects.toThrow('the disk cannot read it');
  });

  test('is compared by the next one when the first was stopped', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const isIntact = intactFiles(settableClock(), async (local, signal) => {
      begun.resolve();
      await gate.promise;
      return digestOf(local, signal);
    });
    const file = await written();
    const first = isIntact(file, AbortSignal.abort(new Error('stopped')));
    await begun.promise;
    const second = isIntact(file);
    gate.resolve();
    const both = await Promise.allSettled([first, second]);
    expect(both).toEqual([
      { status: 'rejected', reason: expect.anything() },
      { status: 'fulfilled', value: undefined },
    ]);
  });
});

describe('an import', () => {
  const line = (n: number): string =>
    `${JSON.stringify({ event: 'e', distinct_id: 'd', timestamp: '2026-01-01T10:00:00Z', properties: { n, $set: { n } } })}\n`;

  test('writes the digest of each file into its row', async () => {
    const context = await importContext();
    await run(context, fileIn(context, 'a.jsonl', line(1)));
    for (const model of ['events', 'persons'] as const) {
      const [file] = await allFiles(context.table, PROJECT, model);
      const local = context.lake.address(file?.path ?? '');
      expect(file).toMatchObject({ bytes: statSync(local).size, sha256: await digestOf(local) });
    }
  });

  test.each(['events', 'persons'] as const)('ends when a file of %s that it must read is damaged', async (model) => {
    const context = await importContext();
    await run(context, fileIn(context, 'a.jsonl', line(1)));
    const [{ path } = { path: '' }] = await allFiles(context.table, PROJECT, model);
    const content = readFileSync(context.lake.address(path));
    content[40] = (content[40] as number) ^ 1;
    writeFileSync(context.lake.address(path), content);
    await expect(run(context, fileIn(context, 'b.jsonl', line(2)))).rejects.toThrow(`'${path}' is damaged`);
    expect(await allFiles(context.table, PROJECT, model)).toHaveLength(1);
  });

  test('finishes no batch whose manifest is not what was committed', async () => {
    const context = await importContext();
    const { lake } = context;
    const dying = { ...context, lake: { ...lake, move: () => Promise.reject(new Error('killed')) } };
    await expect(run(dying, fileIn(context, 'a.jsonl', line(1)))).rejects.toThrow('killed');
    let manifest = '';
    for await (const { path } of lake.list('incoming')) if (path.endsWith('.json')) manifest = path;
    const text = String(await lake.read(manifest));
    await lake.write(manifest, text.replace('"rows":1', '"rows":2'));
    await expect(run(context, fileIn(context, 'b.jsonl', line(2)))).rejects.toThrow(`'${manifest}' is damaged`);
    await lake.write(manifest, text);
    expect(await run(context, fileIn(context, 'b.jsonl', line(2)))).toMatchObject({ added: 1 });
    expect(await allFiles(context.table, PROJECT, 'events')).toHaveLength(2);
  });
});

test('copies of files are compared too', async () => {
  const { path, local, ...about } = await written();
  const lake = { local: async () => [local] };
  expect(await intactCopies(lake, intactFiles(), [{ path, ...about }], '')).toEqual([local]);
  writeFileSync(local, Buffer.alloc(CONTENT.length));
  await expect(intactCopies(lake, intactFiles(), [{ path, ...about }], '')).rejects.toThrow(Damaged);
});

describe('the rows that surely arrived within a time', () => {
  const hours = Array.from({ length: 24 }, (_, hour) => (hour === 10 ? 3 : hour === 12 ? 4 : 0));
  const file = {
    rows: 7,
    hours: toJsonText(hours),
    min_arrival: START + 10.5 * HOUR_MS,
    max_arrival: START + 12.5 * HOUR_MS,
  } as LakeFile;

  test.each([
    ['the day', 0, 24, 7],
    ['the file alone', 10.5, 12.6, 7],
    ['an hour', 10, 11, 3],
    ['a part of an hour', 10, 10.75, 0],
    ['an hour and a part', 10, 12.5, 3],
    ['up to the last row, which it does not have', 10.5, 12.5, 3],
    ['an hour without rows', 11, 12, 0],
  ])('%s', (_, from, to, rows) => {
    expect(rowsWithin([file], START + from * HOUR_MS, START + to * HOUR_MS)).toBe(rows);
  });

  test('of several files and days are added', () => {
    const later = { ...file, min_arrival: file.min_arrival + DAY_MS, max_arrival: file.max_arrival + DAY_MS };
    expect(rowsWithin([file, later], START + 11 * HOUR_MS, START + DAY_MS + 11 * HOUR_MS)).toBe(7);
  });
});
