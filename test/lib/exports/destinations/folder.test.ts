import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Delivery, Reach } from '../../../../lib/exports/destinations/destination.ts';
import { folder } from '../../../../lib/exports/destinations/folder.ts';
import { Permanent, Transient } from '../../../../lib/ports/errors.ts';
import { COMPILE_CACHE } from '../../../support/compile-cache.ts';
import { temporaryFolder } from '../../../support/context.ts';
import {
  atOnce,
  check,
  delivery,
  digest,
  EXPORT,
  failureOf,
  formedLines,
  lines,
  OTHER_EXPORT,
  send,
} from '../../../support/delivery.ts';
import { failFileCalls, fileCallsOf } from '../../../support/file-calls.ts';
import { toldOf } from '../../../support/refusals.ts';

const NAME = '2023-07-28T00:00:00+00:00-2023-07-28T01:00:00+00:00.jsonl';
const ANYWHERE = { privateAddresses: true, folderRoots: null, dataDirectory: null };

let path: string;
beforeEach(() => {
  path = join(temporaryFolder(), 'exports');
});

type Changes = Pick<Delivery, 'exportId' | 'rows' | 'files' | 'signal' | 'reach'>;

/** All files and folders below, by their paths, but for the marks of their owners. */
const tree = (): string[] => {
  const all = existsSync(path) ? readdirSync(path, { recursive: true }).map(String).toSorted() : [];
  return all.filter((name) => !/\/?\.[^/]+\.owner$/.test(name));
};
const receiptFile = () => join(path, '..', 'receipt.json');
const given = (count: number, config: object = {}, changes: Partial<Changes> = {}) =>
  delivery(folder, { path, ...config }, count, changes);

describe('a delivery', () => {
  test('shows nothing until it is committed, then the whole file and nothing else', async () => {
    const prepared = await folder.deliver(given(3000));
    expect(tree().filter((name) => !name.startsWith('.'))).toEqual([]);
    await folder.commit(given(3000), prepared);
    expect(tree()).toEqual([NAME]);
    expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(3000)))).toBe(true);
    expect(prepared.receipt.bytes).toBe(statSync(join(path, NAME)).size);
  });

  test('goes below its prefix, in gzip when asked for', async () => {
    const config = { prefix: '/{table}/{year}/{month}/', compression: 'gzip' };
    const receipt = await send(folder, given(3000, config));
    const file = join(path, 'events', '2023', '07', `${NAME}.gz`);
    expect(gunzipSync(readFileSync(file)).equals(await atOnce(lines(3000)))).toBe(true);
    expect(receipt.bytes).toBe(statSync(file).size);
  });

  test('of no rows is an empty file', async () => {
    await send(folder, given(0));
    expect(tree()).toEqual([NAME]);
    expect(statSync(join(path, NAME)).size).toBe(0);
  });

  test('replaces what an earlier run of the interval delivered', async () => {
    await send(folder, given(10));
    await send(folder, given(2000));
    expect(tree()).toEqual([NAME]);
    expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(2000)))).toBe(true);
  });

  test('may be committed twice', async () => {
    const prepared = await folder.deliver(given(100));
    await folder.commit(given(100), prepared);
    const before = statSync(join(path, NAME), { bigint: true });
    await folder.commit(given(100), prepared);
    const after = statSync(join(path, NAME), { bigint: true });
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
    expect(tree()).toEqual([NAME]);
  });

  test('whose prepared file was removed is made again by the commit', async () => {
    const prepared = await folder.deliver(given(100));
    rmSync(path, { recursive: true });
    await folder.commit(given(100), prepared);
    expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(100)))).toBe(true);
  });

  test('is taken away by discard, with and without a receipt', async () => {
    const prepared = await folder.deliver(given(100));
    await folder.discard(given(100), prepared);
    expect(tree()).toEqual([]);
    await folder.deliver(given(100));
    await folder.discard(given(100), undefined);
    await folder.discard(given(100), undefined);
    expect(tree()).toEqual([]);
  });

  test('that is cancelled stops with the reason of the cancel and leaves nothing', async () => {
    const cancel = new AbortController();
    async function* rows() {
      for await (const chunk of lines(100_000)) {
        yield chunk;
        cancel.abort(new Error('cancelled'));
      }
    }
    const cancelled = given(0, {}, { rows, signal: cancel.signal });
    await expect(folder.deliver(cancelled)).rejects.toThrow('cancelled');
    expect(tree()).toEqual([]);
  });

  test('whose rows fail ends with their error and leaves nothing', async () => {
    async function* rows() {
      yield* lines(5000);
      throw Object.assign(new Error('the lake is dry'), { code: 'ENOENT' });
    }
    await expect(folder.deliver(given(0, { compression: 'gzip' }, { rows }))).rejects.toThrow('the lake is dry');
    expect(tree()).toEqual([]);
  });

  test('made twice at the same time gives one right file', async () => {
    const twins = ['one', 'two'].map((name) => send(folder, given(20_000), join(path, '..', name)));
    for (const [at, { status }] of (await Promise.allSettled(twins)).entries()) {
      // As the state machine does: what failed is tried again.
      if (status === 'rejected') await send(folder, given(20_000), join(path, '..', at === 0 ? 'one' : 'two'));
    }
    expect(tree()).toEqual([NAME]);
    expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(20_000)))).toBe(true);
  });
});

describe('what is delivered survives a loss of power', () => {
  const WRITES = ['writeFile', 'sync', 'link'];
  const STEM = NAME.replace('.jsonl', '');

  test('files are on the disk before they are in their places, and their names before the commit is done', async () => {
    await send(folder, given(1, { prefix: 'another' }));
    let prepared: Awaited<ReturnType<typeof folder.deliver>> | undefined;
    const delivering = async () => void (prepared = await folder.deliver(given(10)));
    expect(await fileCallsOf(path, WRITES, delivering)).toEqual(['writeFile *.partial/*', 'sync *.partial/*']);
    const committing = async () => folder.commit(given(10), prepared as Awaited<ReturnType<typeof folder.deliver>>);
    const [owner, link, ...synced] = await fileCallsOf(path, WRITES, committing);
    expect([owner, link]).toEqual(['writeFile *.owner', `link *.partial/* ${NAME}`]);
    expect(synced.toSorted()).toEqual(['sync *.owner', 'sync .']);
  });

  test('a manifest is in its place once the names of its files are on the disk', async () => {
    const config = { max_file_size_mb: 1 };
    const prepared = await folder.deliver(given(10_000, config));
    const calls = await fileCallsOf(path, WRITES, () => folder.commit(given(10_000, config), prepared));
    expect(calls.slice(1, 5)).toEqual([
      `link *.partial/* ${STEM}-0.jsonl`,
      `link *.partial/* ${STEM}-1.jsonl`,
      'sync .',
      `link *.partial/* ${STEM}_manifest.json`,
    ]);
  });

  test('so do the folders that are made for it', async () => {
    const calls = await fileCallsOf(path, ['mkdir', 'sync'], () => folder.deliver(given(1, { prefix: 'a/b/' })));
    expect(calls.filter((call) => !call.includes('*'))).toEqual([
      'mkdir .',
      'sync ..',
      'mkdir a',
      'sync .',
      'mkdir a/b',
      'sync a',
    ]);
  });
});

test('a delivery killed before any call of the file system is finished by the next', async () => {
  const config = { path, prefix: '{year}/{month}', compression: 'gzip' };
  const expected = await atOnce(lines(3000));
  const support = join(import.meta.dirname, '..', '..', '..', 'support');
  const attempt = (at: number) =>
    spawnSync(
      process.execPath,
      [
        '--import',
        join(support, 'file-call-kill.ts'),
        join(support, 'delivery-program.ts'),
        'Folder',
        JSON.stringify(config),
        '3000',
        receiptFile(),
      ],
      { env: { ...process.env, ...COMPILE_CACHE, KILL_AT: String(at) }, encoding: 'utf8' },
    );
  const file = join(path, '2023', '07', `${NAME}.gz`);
  const isWhole = () => gunzipSync(readFileSync(file)).equals(expected);
  let call = 1;
  let ended = attempt(call);
  for (; ended.signal === 'SIGKILL'; ended = attempt(call)) {
    expect(!existsSync(file) || isWhole()).toBe(true);
    // Every other time as a new attempt, which knows nothing of the first.
    if (call % 2 === 0) rmSync(receiptFile(), { force: true });
    await send(folder, delivery(folder, config, 3000), receiptFile());
    expect(tree()).toEqual(['2023', '2023/07', `2023/07/${NAME}.gz`]);
    expect(isWhole()).toBe(true);
    rmSync(path, { recursive: true });
    rmSync(receiptFile(), { force: true });
    call += 1;
  }
  expect([ended.status, ended.stderr]).toEqual([0, '']);
  expect(call).toBeGreaterThan(15);
}, 300_000);

describe('several files', () => {
  const STEM = NAME.replace('.jsonl', '');
  const several = { max_file_size_mb: 1 };
  /** Of 127 bytes each: two files; four. */
  const FEW = 10_000;
  const MANY = 30_000;
  const namesOf = (files: number) => [
    ...Array.from({ length: files }, (_, n) => `${STEM}-${n}.jsonl`),
    `${STEM}_manifest.json`,
  ];
  const manifest = () => JSON.parse(readFileSync(join(path, `${STEM}_manifest.json`), 'utf8')) as { files: string[] };
  /** What lies there: names, what the manifest says, and all rows in its order. */
  const stored = async () => {
    const { files } = manifest();
    return { names: tree(), files, rows: digest(Buffer.concat(files.map((name) => readFileSync(join(path, name))))) };
  };
  /** What is to lie there. */
  const whole = async (count: number, files: number) => ({
    names: namesOf(files),
    files: namesOf(files).slice(0, -1),
    rows: digest(await atOnce(lines(count))),
  });
  const forget = () => rmSync(receiptFile(), { force: true });

  test('are unseen until they are committed, and may be committed twice', async () => {
    const prepared = await folder.deliver(given(FEW, several));
    expect(tree().filter((name) => !name.startsWith('.'))).toEqual([]);
    await folder.commit(given(FEW, several), prepared);
    await folder.commit(given(FEW, several), prepared);
    expect(await stored()).toEqual(await whole(FEW, 2));
    expect(prepared.receipt.bytes).toBe((await atOnce(lines(FEW))).length);
  });

  test('are removed with their manifest when only one file is delivered, and it by them', async () => {
    await send(folder, given(FEW, several));
    await send(folder, given(FEW));
    expect(tree()).toEqual([NAME]);
    await send(folder, given(FEW, several));
    expect(await stored()).toEqual(await whole(FEW, 2));
  });

  test('one of which was removed before the commit are made again', async () => {
    const prepared = await folder.deliver(given(FEW, several));
    const [, second = ''] = tree().filter((name) => /partial.[0-9a-f-]{36}$/.test(name));
    rmSync(join(path, second));
    await folder.commit(given(FEW, several), prepared);
    expect(await stored()).toEqual(await whole(FEW, 2));
  });

  test('made twice at the same time are right in the end', async () => {
    const receipts = ['one', 'two'].map((name) => join(path, '..', name));
    const twins = receipts.map((file) => send(folder, given(FEW, several), file));
    for (const [at, { status }] of (await Promise.allSettled(twins)).entries()) {
      if (status === 'rejected') await send(folder, given(FEW, several), receipts[at] ?? '');
    }
    expect(await stored()).toEqual(await whole(FEW, 2));
  });

  test('of which a process that died before any call left some are finished by the next', async () => {
    let isDead = true;
    let at = 1;
    for (; isDead; at += 1) {
      // An earlier run of the interval delivered more files.
      await send(folder, given(MANY, several));
      const calls = await failFileCalls(at, { andLater: true });
      await send(folder, given(FEW, several), receiptFile()).catch(() => {});
      calls.stop();
      expect(calls.stillOpen()).toBe(0);
      isDead = calls.hasFailed();
      // Every other time as a new attempt, which knows nothing of the first.
      if (at % 2 === 0) forget();
      await send(folder, given(FEW, several), receiptFile());
      expect(await stored()).toEqual(await whole(FEW, 2));
      forget();
    }
    expect(at).toBeGreaterThan(30);
  });
});

describe('a file that was formed', () => {
  const STEM = NAME.replace('.jsonl', '');
  const place = () => join(path, `${STEM}.parquet`);
  const parquet = { file_format: 'Parquet' };
  /** Files of so many lines, each shown to the test before it is handed over. */
  const formed = (count: number, show: (file: string) => void = () => {}): Changes['files'] =>
    async function* ({ fileBytes }) {
      for await (const file of formedLines(join(path, '..'), count, fileBytes)) {
        show(file.path);
        yield file;
      }
    };
  const isWhole = async (count: number) => readFileSync(place()).equals(await atOnce(lines(count)));

  test('is moved into its place, not copied', async () => {
    let ino = 0;
    const made = formed(3000, (file) => {
      ino = statSync(file).ino;
    });
    const { bytes } = await send(folder, given(0, parquet, { files: made }));
    expect(tree()).toEqual([`${STEM}.parquet`]);
    expect(statSync(place())).toMatchObject({ ino, size: bytes });
    expect(await isWhole(3000)).toBe(true);
  });

  test("is known as its export's own, which replaces and removes it", async () => {
    const deliver = async (count: number, config: object) => {
      await send(folder, given(0, { ...parquet, ...config }, { files: formed(count) }));
      return tree();
    };
    expect(await deliver(3000, {})).toEqual([`${STEM}.parquet`]);
    expect(await deliver(2000, {})).toEqual([`${STEM}.parquet`]);
    expect(await isWhole(2000)).toBe(true);
    expect(await deliver(20_000, { max_file_size_mb: 1 })).toEqual(
      ['-0.parquet', '-1.parquet', '-2.parquet', '_manifest.json'].map((end) => `${STEM}${end}`),
    );
    expect(await deliver(10, {})).toEqual([`${STEM}.parquet`]);
  });

  test('on another file system is copied', async () => {
    const { rename } = files;
    files.rename = () => Promise.reject(Object.assign(new Error('another'), { code: 'EXDEV', syscall: 'rename' }));
    syncBuiltinESMExports();
    try {
      const prepared = await folder.deliver(given(0, parquet, { files: formed(3000) }));
      expect(prepared.receipt.bytes).toBe((await atOnce(lines(3000))).length);
      await folder.commit(given(0, parquet), prepared);
    } finally {
      files.rename = rename;
      syncBuiltinESMExports();
    }
    expect(await isWhole(3000)).toBe(true);
  });

  test('and is gone, with the worker that formed it, is trouble of the service that passes', async () => {
    const lost = folder.deliver(given(0, parquet, { files: formed(10, (file) => rmSync(file)) }));
    await expect(lost).rejects.toMatchObject({ name: 'Transient', isOwn: true });
    expect(tree()).toEqual([]);
  });

  test('is whole when a process that died before any call is followed by the next', async () => {
    const once = () => send(folder, given(0, parquet, { files: formed(100) }), receiptFile());
    let isDead = true;
    let at = 1;
    for (; isDead; at += 1) {
      const calls = await failFileCalls(at, { andLater: true });
      await once().catch(() => {});
      calls.stop();
      expect(calls.stillOpen()).toBe(0);
      isDead = calls.hasFailed();
      if (at % 2 === 0) rmSync(receiptFile(), { force: true });
      await once();
      expect(tree()).toEqual([`${STEM}.parquet`]);
      expect(await isWhole(100)).toBe(true);
      rmSync(path, { recursive: true });
      rmSync(receiptFile());
    }
    expect(at).toBeGreaterThan(15);
  });
});

describe('what another wrote', () => {
  const STEM = NAME.replace('.jsonl', '');
  const several = { max_file_size_mb: 1 };
  const others = (count: number, config: object = {}) => given(count, config, { exportId: OTHER_EXPORT });
  const deliver = (one: ReturnType<typeof given>) => send(folder, one);
  /** All files that are not hidden, by name. */
  const contents = () => {
    const shown = tree().filter((name) => !name.startsWith('.'));
    return new Map(shown.map((name) => [name, digest(readFileSync(join(path, name)))]));
  };
  const heldByOther = (name: string) =>
    new Permanent(
      `File '${join(path, name)}' was written by the batch export called ${OTHER_EXPORT}, and is not replaced. Let one ` +
        'of the two have another prefix, for example with {table} in it; then run the interval again.',
    );

  test.each([
    ['a file', {}, 100, NAME],
    ['files', several, 20_000, `${STEM}-0.jsonl`],
  ])('is not replaced: %s of another export fails the run before its rows are read', async (_, config, count, name) => {
    await deliver(others(count, config));
    const before = contents();
    async function* rows() {
      yield* lines(20_000);
      throw new Error('all rows were read');
    }
    expect(await failureOf(deliver(given(0, config, { rows })))).toEqual(heldByOther(name));
    expect(contents()).toEqual(before);
  });

  test('is not replaced: a file that no export wrote, or that was changed since', async () => {
    mkdirSync(path);
    writeFileSync(join(path, NAME), 'mine');
    const place = join(path, NAME);
    const isNotOurs = new Permanent(
      `File '${place}' is there already, and this batch export did not write it or somebody has changed it since: it ` +
        'is not replaced. Move it away, or choose another prefix; then run the interval again.',
    );
    expect(await failureOf(deliver(given(10)))).toEqual(isNotOurs);
    expect(readFileSync(place, 'utf8')).toBe('mine');
    rmSync(place);
    await deliver(given(10));
    writeFileSync(place, 'mine');
    expect(await failureOf(deliver(given(10)))).toEqual(isNotOurs);
    expect(readFileSync(place, 'utf8')).toBe('mine');
  });

  test('is not replaced: a link that leads nowhere', async () => {
    mkdirSync(path);
    symlinkSync('/nowhere', join(path, NAME));
    expect(await failureOf(deliver(given(10)))).toBeInstanceOf(Permanent);
    expect(readlinkSync(join(path, NAME))).toBe('/nowhere');
  });

  test.each([
    ['a file', {}],
    ['several files', several],
  ])('is not replaced when it comes after the look: %s', async (_what, config) => {
    const mine = given(20_000, config);
    const prepared = await folder.deliver(mine);
    await deliver(others(10, config));
    const before = contents();
    expect(await failureOf(folder.commit(mine, prepared))).toBeInstanceOf(Permanent);
    await folder.discard(mine, prepared);
    expect(contents()).toEqual(before);
    expect(tree()).toEqual([...before.keys()]);
  });

  test('is not touched while it is unfinished', async () => {
    let reads = 0;
    const rows = () => {
      reads += 1;
      return lines(100);
    };
    const other = given(0, {}, { exportId: OTHER_EXPORT, rows });
    const prepared = await folder.deliver(other);
    await folder.discard(given(10), undefined);
    await folder.deliver(given(10));
    await folder.commit(other, prepared);
    expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(100)))).toBe(true);
    expect(reads).toBe(1);
  });

  test('is not replaced where the file system knows no links, and what is its own is', async () => {
    const { link } = files;
    files.link = () => Promise.reject(Object.assign(new Error('no links'), { code: 'EPERM', syscall: 'link' }));
    syncBuiltinESMExports();
    try {
      await deliver(given(10));
      await deliver(given(20));
      const late = await folder.deliver(others(30, { compression: 'gzip' }));
      await deliver(given(40, { compression: 'gzip' }));
      const failure = await failureOf(folder.commit(others(30, { compression: 'gzip' }), late));
      expect(failure).toBeInstanceOf(Permanent);
      expect(readFileSync(join(path, NAME)).equals(await atOnce(lines(20)))).toBe(true);
    } finally {
      files.link = link;
      syncBuiltinESMExports();
    }
  });

  test('is not replaced: the manifest of an export in another format', async () => {
    await deliver(others(10, { ...several, compression: 'gzip' }));
    const before = contents();
    expect(await failureOf(deliver(given(10, several)))).toEqual(heldByOther(`${STEM}_manifest.json`));
    expect(contents()).toEqual(before);
  });

  test('is not removed as surplus, while what is its own is', async () => {
    await deliver(given(30_000, several));
    rmSync(join(path, `${STEM}-1.jsonl`));
    writeFileSync(join(path, `${STEM}-1.jsonl`), 'mine');
    await deliver(given(10));
    expect(tree()).toEqual([`${STEM}-1.jsonl`, NAME].toSorted((a, b) => (a < b ? -1 : 1)));
  });

  test('is told from its own by a mark beside it, which a copy keeps', async () => {
    await deliver(given(10));
    expect(readdirSync(path).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([`.${NAME}.${EXPORT}.owner`, NAME]);
    const copy = join(path, '..', 'copy');
    cpSync(path, copy, { recursive: true, preserveTimestamps: true });
    await deliver(delivery(folder, { path: copy }, 20));
    expect(readFileSync(join(copy, NAME)).equals(await atOnce(lines(20)))).toBe(true);
  });
});

describe('a failure of the file system', () => {
  const failure = (config: object = {}, changes: Partial<Changes> = {}) =>
    failureOf(folder.deliver(given(10, config, changes)));

  test('says what to do about a file in the place of a folder', async () => {
    mkdirSync(path);
    writeFileSync(join(path, 'events'), 'mine');
    const error = await failure({ prefix: 'events' });
    expect(error).toBeInstanceOf(Permanent);
    expect((error as Error).message).toBe(
      `Could not write '${join(path, 'events', NAME)}'. A file is in the way of a folder: choose another path or prefix.`,
    );
    expect(readFileSync(join(path, 'events'), 'utf8')).toBe('mine');
  });

  test('says what to do about a folder in the place of the file', async () => {
    mkdirSync(join(path, NAME), { recursive: true });
    const prepared = await folder.deliver(given(10));
    const error = await failureOf(folder.commit(given(10), prepared));
    expect(error).toBeInstanceOf(Permanent);
    expect((error as Error).message).toContain('A folder is in the place of the file');
  });

  test.each([
    ['missing permission', 'EACCES', Permanent, 'let the service write to this folder'],
    ['a read-only disk', 'EROFS', Transient, 'make it writable, or choose another path'],
    ['too many open files', 'EMFILE', Transient, 'raise the limit of the service'],
    ['a full disk', 'ENOSPC', Transient, 'The disk is full: free some space.'],
    ['an unknown trouble of the disk', 'EIO', Transient, 'EIO: trouble'],
  ])('of %s in the middle says what to do, and leaves no half of a file', async (_what, code, kind, text) => {
    async function* rows() {
      yield* lines(1000);
      throw Object.assign(new Error(`${code}: trouble`), { code, syscall: 'write' });
    }
    const error = await failure({}, { rows });
    expect(error).toBeInstanceOf(kind);
    expect((error as Error).message).toContain(text);
    expect(tree()).toEqual([]);
  });
});

describe('the allowed folders', () => {
  test('may not be left through a symbolic link, and nothing is made outside', async () => {
    const root = join(path, 'allowed');
    const outside = join(path, 'outside');
    mkdirSync(root, { recursive: true });
    mkdirSync(outside);
    symlinkSync(outside, join(root, 'way-out'));
    const reach = { privateAddresses: true, folderRoots: [root], dataDirectory: null };
    for (const config of [{ path: join(root, 'way-out') }, { path: root, prefix: 'way-out/deep' }]) {
      await expect(folder.deliver(delivery(folder, config, 10, { reach }))).rejects.toThrow(Permanent);
    }
    expect(readdirSync(outside)).toEqual([]);
    await send(folder, delivery(folder, { path: join(root, 'in', 'side') }, 10, { reach }));
    expect(existsSync(join(root, 'in', 'side', NAME))).toBe(true);
  });

  test('hold for what an earlier attempt prepared elsewhere: it is neither committed nor removed', async () => {
    const prepared = await folder.deliver(delivery(folder, { path }, 10));
    const waiting = tree();
    const later = delivery(folder, { path }, 10, {
      reach: { privateAddresses: true, folderRoots: [join(path, 'allowed')], dataDirectory: null },
    });
    await expect(folder.commit(later, prepared)).rejects.toThrow(Permanent);
    await expect(folder.discard(later, prepared)).rejects.toThrow(Permanent);
    expect(tree()).toEqual(waiting);
  });

  test('may themselves be symbolic links', async () => {
    mkdirSync(join(path, 'real'), { recursive: true });
    symlinkSync(join(path, 'real'), join(path, 'link'));
    const reach = { privateAddresses: true, folderRoots: [join(path, 'link')], dataDirectory: null };
    await send(folder, delivery(folder, { path: join(path, 'link') }, 10, { reach }));
    expect(existsSync(join(path, 'real', NAME))).toBe(true);
  });
});

describe('the data directory of the service', () => {
  const reach = () => ({ privateAddresses: true, folderRoots: null, dataDirectory: join(path, 'home') });

  test('is no place for files: not by its name, nor by a prefix that leads into it', () => {
    for (const config of [
      { path: join(path, 'home') },
      { path: join(path, 'home', 'inbox') },
      { path, prefix: 'home/lake/' },
    ]) {
      expect(toldOf(() => folder.check(delivery(folder, config, 0).config, 'events', reach()))).toEqual([
        400,
        'destination',
        `path must not lie in '${join(path, 'home')}', where the service keeps its own files.`,
      ]);
    }
    expect(
      toldOf(() => folder.check(delivery(folder, { path: join(path, 'home2') }, 0).config, 'events', reach())),
    ).toBeUndefined();
  });

  test('is not written through a symbolic link, nor by an export from before', async () => {
    mkdirSync(join(path, 'home', 'inbox'), { recursive: true });
    symlinkSync(join(path, 'home'), join(path, 'way-in'));
    for (const place of [join(path, 'way-in', 'inbox'), join(path, 'home', 'temporary')]) {
      const written = folder.deliver(delivery(folder, { path: place }, 10, { reach: reach() }));
      await expect(written).rejects.toThrow('where the service keeps its own files');
    }
    expect(readdirSync(join(path, 'home'))).toEqual(['inbox']);
    expect(readdirSync(join(path, 'home', 'inbox'))).toEqual([]);
  });
});

describe('a config', () => {
  const refusal = (config: object, reach: Reach = ANYWHERE) =>
    toldOf(() => folder.check(delivery(folder, { path: '/srv/exports', ...config }, 0).config, 'events', reach));

  test.each([
    ['a relative path', { path: 'exports' }, 'absolute'],
    ['an empty path', { path: '' }, 'absolute'],
    ['a path from here', { path: './exports' }, 'absolute'],
    ['a NUL', { path: '/srv/\0' }, 'absolute'],
    ['a prefix of two dots', { prefix: '..' }, "'..'"],
    ['a prefix that climbs', { prefix: 'a/../../b' }, "'..'"],
    ['a prefix from here', { prefix: './a' }, "'.'"],
    ['a name of 300 bytes', { prefix: 'x'.repeat(300) }, 'too long'],
    ['a name of 150 characters and 300 bytes', { prefix: 'ä'.repeat(150) }, 'too long'],
    ['a path of 5,000 bytes', { prefix: 'x/'.repeat(2500) }, 'too long'],
    ['an unknown format', { file_format: 'CSV' }, 'not supported'],
  ])('with %s is refused', (_what, config, text) => {
    expect(refusal(config)).toEqual([400, 'destination', expect.stringContaining(text)]);
  });

  test.each([
    ['defaults', {}],
    ['dots inside names', { prefix: '..a/b..' }],
    ['a name of 240 bytes', { prefix: 'x'.repeat(240) }],
    ['an absolute path in a roundabout way', { path: '/srv/../srv/exports' }],
  ])('with %s is fine', (_what, config) => {
    expect(refusal(config)).toBeUndefined();
  });

  test('must lead below an allowed folder', () => {
    const within = (path: string, folderRoots: Reach['folderRoots']) =>
      refusal({ path }, { privateAddresses: true, folderRoots, dataDirectory: null });
    expect(within('/srv/exports/deep', ['/data', '/srv/exports'])).toBeUndefined();
    expect(within('/srv/exports', ['/srv/exports'])).toBeUndefined();
    expect(within('/srv/exports2', ['/srv/exports'])).toEqual([
      400,
      'destination',
      'path must lie below one of: /srv/exports.',
    ]);
    expect(within('/srv/exports/../other', ['/srv/exports'])?.[0]).toBe(400);
    expect(within('/srv/exports', [])?.[0]).toBe(400);
    expect(within('/srv/exports', undefined)?.[0]).toBe(400);
  });
});

describe('the check of a folder', () => {
  test('passes when it can be written, and leaves no file', async () => {
    await check(folder, given(0));
    expect(tree()).toEqual([]);
  });

  test('says why it cannot', async () => {
    writeFileSync(path, 'mine');
    await expect(check(folder, given(0))).rejects.toThrow(`Could not write '${path}'`);
  });

  test('ends where nobody may make folders', async () => {
    const run = check(folder, given(0, { path: '/proc/exports/events' }));
    await expect(run).rejects.toThrow("Could not write '/proc/exports/events'");
  });
});
