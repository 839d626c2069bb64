import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import {
  DeleteObjectsCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import * as fc from 'fast-check';
import { DAY_MS, MINUTE_MS } from '../../lib/basics/units.ts';
import { Transient } from '../../lib/ports/errors.ts';
import type { FileStore } from '../../lib/ports/files/files.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { s3Files } from '../../lib/ports/files/s3.ts';
import { compareText } from '../../lib/ports/table/semantics.ts';
import { type Bucket, startBucket } from '../support/bucket.ts';
import { temporaryFolder } from '../support/context.ts';
import { failFileCalls, fileCallsOf } from '../support/file-calls.ts';
import { onEnd } from '../support/on-end.ts';
import { propertyRuns } from '../support/property-runs.ts';

async function filesIn(runFiles: FileStore, path = ''): Promise<{ path: string; size: number }[]> {
  const files: { path: string; size: number }[] = [];
  for await (const file of runFiles.list(path)) files.push({ path: file.path, size: file.size });
  return files;
}

const pathsIn = async (runFiles: FileStore, path = ''): Promise<string[]> =>
  (await filesIn(runFiles, path)).map((file) => file.path);

/** Returns the files of a bucket that this server is asked for. */
async function filesOf(server: Server): Promise<FileStore> {
  onEnd(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  onEnd(() => client.destroy());
  return s3Files({ client, bucket: 'files' });
}

/** What every run files promises. */
function fileStoreCases(open: () => FileStore): void {
  test.each<[string, () => string | Uint8Array | Readable, string]>([
    ['a text', () => 'grüße', 'grüße'],
    ['bytes', () => new Uint8Array([0x61, 0x62]), 'ab'],
    ['a stream', () => Readable.from([Buffer.from('a'), Buffer.from('b')]), 'ab'],
    ['nothing', () => '', ''],
  ])('writes %s and reads it back', async (_name, content, expected) => {
    const runFiles = open();
    await runFiles.write('a/b', content());
    expect((await runFiles.read('a/b'))?.toString()).toBe(expected);
    expect(await filesIn(runFiles)).toEqual([{ path: 'a/b', size: Buffer.byteLength(expected) }]);
  });

  test('replaces a file', async () => {
    const runFiles = open();
    await runFiles.write('a', 'a long text');
    await runFiles.write('a', 'short');
    expect(String(await runFiles.read('a'))).toBe('short');
  });

  test('has no file where none was written, nor where only a folder is', async () => {
    const runFiles = open();
    expect(await runFiles.read('a')).toBeUndefined();
    expect(await pathsIn(runFiles)).toEqual([]);
    await runFiles.write('a/b', '');
    expect(await runFiles.read('a')).toBeUndefined();
    expect(await runFiles.read('a/b/c')).toBeUndefined();
  });

  test('leaves the old file, and nothing else, when a stream breaks', async () => {
    const runFiles = open();
    await runFiles.write('a', 'old');
    const broken = Readable.from(
      (async function* () {
        yield 'new';
        throw new Error('the source broke');
      })(),
    );
    await expect(runFiles.write('a', broken)).rejects.toThrow('the source broke');
    expect(String(await runFiles.read('a'))).toBe('old');
    expect(await pathsIn(runFiles)).toEqual(['a']);
  });

  test('tells when a file was written', async () => {
    const runFiles = open();
    await runFiles.write('a/b', '');
    const told: number[] = [];
    for (const path of ['a', 'a/b']) for await (const { writtenAt } of runFiles.list(path)) told.push(writtenAt);
    const ago = told.map((writtenAt) => Math.abs(Date.now() - writtenAt) < MINUTE_MS);
    expect(ago).toEqual([true, true]);
  });

  test('lists below a folder in the order of bytes', async () => {
    const runFiles = open();
    const segment = fc.constantFrom('a', 'a-b', 'a.c', 'a0', 'b', 'day=2026-01-01', 'É', '\u{ffff}', '\u{1f600}');
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.array(segment, { minLength: 1, maxLength: 3 }), { maxLength: 12, selector: String }),
        async (given) => {
          // A name is a file or a folder, so files end in a letter that no folder has.
          const paths = given.map((parts) => `${parts.join('/')}.file`);
          await Promise.all(paths.map((path) => runFiles.write(`root/${path}`, path)));
          expect(await pathsIn(runFiles, 'root')).toEqual(paths.map((path) => `root/${path}`).toSorted(compareText));
          const below = paths.filter((path) => path.startsWith('a/')).map((path) => `root/${path}`);
          expect(await pathsIn(runFiles, 'root/a')).toEqual(below.toSorted(compareText));
          expect(await pathsIn(runFiles, 'root/a/')).toEqual(below.toSorted(compareText));
          await runFiles.remove('root');
          expect(await pathsIn(runFiles)).toEqual([]);
        },
      ),
      { numRuns: propertyRuns(30) },
    );
  });

  test('lists and removes a file by its path, and neighbours of a folder never', async () => {
    const runFiles = open();
    for (const path of ['1/a', '1/b/c', '10/a', '1x']) await runFiles.write(path, '');
    expect(await pathsIn(runFiles, '1/a')).toEqual(['1/a']);
    expect(await pathsIn(runFiles, '1')).toEqual(['1/a', '1/b/c']);
    await runFiles.remove('1/a');
    expect(await pathsIn(runFiles)).toEqual(['1/b/c', '10/a', '1x']);
    await runFiles.remove('1');
    await runFiles.remove('1');
    expect(await pathsIn(runFiles)).toEqual(['10/a', '1x']);
  });

  test('refuses to remove all there is, and says of what', async () => {
    const runFiles = open();
    await expect(runFiles.remove('')).rejects.toThrow(`removing all files of ${runFiles.root}`);
  });

  test('removes files by their paths together, and does not mind when one is gone', async () => {
    const runFiles = open();
    for (const path of ['a', 'b/c', 'b/d', 'e']) await runFiles.write(path, '');
    await runFiles.removeFiles(['a', 'b/c', 'gone']);
    await runFiles.removeFiles([]);
    expect(await pathsIn(runFiles)).toEqual(['b/d', 'e']);
  });

  test('moves a file, also a second time, also over another', async () => {
    const runFiles = open();
    await runFiles.write('a/from', 'x');
    await runFiles.write('b/to', 'old');
    await runFiles.move('a/from', 'b/to');
    await runFiles.move('a/from', 'b/to');
    expect(await pathsIn(runFiles)).toEqual(['b/to']);
    expect(String(await runFiles.read('b/to'))).toBe('x');
    await expect(runFiles.move('a/from', 'c/to')).rejects.toThrow('a/from');
  });

  test('takes a local file in', async () => {
    const runFiles = open();
    const local = join(temporaryFolder(), 'local');
    writeFileSync(local, 'x');
    await runFiles.take(local, 'a/b');
    expect(String(await runFiles.read('a/b'))).toBe('x');
    await expect(runFiles.take(local, 'a/c')).rejects.toThrow('local');
    expect(await pathsIn(runFiles)).toEqual(['a/b']);
  });

  test('copies a file to a local place', async () => {
    const runFiles = open();
    const local = join(temporaryFolder(), 'local');
    writeFileSync(local, 'something longer');
    await runFiles.write('a/b', 'x');
    await runFiles.save('a/b', local);
    expect(readFileSync(local, 'utf8')).toBe('x');
    expect(String(await runFiles.read('a/b'))).toBe('x');
    await expect(runFiles.save('a/c', local)).rejects.toThrow(/ENOENT|NoSuchKey|does not exist/);
    await expect(runFiles.save('a/b', local, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
  });

  test('gives files as this machine reads them, and does not copy one twice', async () => {
    const runFiles = open();
    const folder = join(temporaryFolder(), 'copies');
    await runFiles.write('a/b', 'x');
    await runFiles.write('a/c', 'y');
    const read = async (paths: readonly string[]) =>
      (await runFiles.local(paths, folder)).map((file) => readFileSync(file, 'utf8'));
    expect(await read(['a/c', 'a/b'])).toEqual(['y', 'x']);
    const [before] = await runFiles.local(['a/b'], folder);
    const { ino } = statSync(String(before));
    expect(statSync(String((await runFiles.local(['a/b'], folder))[0])).ino).toBe(ino);
    await expect(runFiles.local(['a/b', 'a/d'], folder)).rejects.toThrow(/ENOENT|NoSuchKey|does not exist/);
    await expect(runFiles.local(['../a'], folder)).rejects.toThrow(TypeError);
  });

  test.each(['', '/', '/a', 'a//b', '.', '..', '../a', 'a/../../b', 'a/..', './a', 'a\\b', 'a\0', '.unfinished/a'])(
    'lets nobody out of it: %j is no path',
    async (path) => {
      const runFiles = open();
      await runFiles.write('inside', 'x');
      await expect(runFiles.write(path, 'x')).rejects.toThrow(TypeError);
      await expect(runFiles.read(path)).rejects.toThrow(TypeError);
      await expect(runFiles.move('inside', path)).rejects.toThrow(TypeError);
      await expect(runFiles.move(path, 'inside')).rejects.toThrow(TypeError);
      expect(() => runFiles.address(path)).toThrow(TypeError);
      await expect(runFiles.remove(path)).rejects.toThrow(TypeError);
      await expect(runFiles.removeFiles([path])).rejects.toThrow(TypeError);
      expect(await pathsIn(runFiles)).toEqual(['inside']);
    },
  );
}

describe('a folder runFiles', () => {
  fileStoreCases(() => folderFiles(join(temporaryFolder(), 'not', 'there', 'yet')));

  test('gives the absolute path of a file', async () => {
    const folder = temporaryFolder();
    const runFiles = folderFiles(folder);
    await runFiles.write('a/b', 'x');
    expect(runFiles.address('a/b')).toBe(join(folder, 'a', 'b'));
    expect(runFiles.root).toBe(folder);
    expect(readFileSync(runFiles.address('a/b'), 'utf8')).toBe('x');
  });

  test('removes at once what a process left that is gone, and nothing of one that may be there', async () => {
    const folder = temporaryFolder();
    const unfinished = join(folder, '.unfinished');
    mkdirSync(unfinished);
    const dead = spawnSync(process.execPath, ['--version']).pid;
    const mine = `${process.pid}@${hostname()}`;
    const names = [`${dead}@${hostname()}.a`, `${process.ppid}@${hostname()}.b`, `${dead}@elsewhere.c`, `${mine}.d`];
    for (const name of [...names, `${mine}.before`]) writeFileSync(join(unfinished, name), 'x');
    const before = new Date(Date.now() - process.uptime() * 1000 - 60_000);
    utimesSync(join(unfinished, `${mine}.before`), before, before);
    await folderFiles(folder).write('a', 'x');
    expect(readdirSync(unfinished).toSorted()).toEqual(names.slice(1).toSorted());
  });

  test('never lists what was not finished, and removes it after a day', async () => {
    const folder = temporaryFolder();
    const unfinished = join(folder, '.unfinished');
    mkdirSync(unfinished);
    writeFileSync(join(unfinished, 'old'), 'x');
    writeFileSync(join(unfinished, 'young'), 'x');
    const twoDaysAgo = new Date(Date.now() - 2 * DAY_MS);
    utimesSync(join(unfinished, 'old'), twoDaysAgo, twoDaysAgo);
    const runFiles = folderFiles(folder);
    expect(await pathsIn(runFiles)).toEqual([]);
    await runFiles.write('a', 'x');
    expect(readdirSync(unfinished)).toEqual(['young']);
  });

  describe('brings to the disk', () => {
    const DURABLE = ['writeFile', 'sync', 'rename'];

    test('what a file holds before it is in its place, and then its name', async () => {
      const folder = temporaryFolder();
      const files = folderFiles(folder);
      await files.write('a/first', 'x');
      expect(await fileCallsOf(folder, DURABLE, () => files.write('a/b', 'x'))).toEqual([
        'writeFile .unfinished/*',
        'sync .unfinished/*',
        'rename .unfinished/* a/b',
        'sync a',
      ]);
    });

    test('the names of folders that are made for it, also of its own', async () => {
      const folder = temporaryFolder();
      const files = folderFiles(join(folder, 'not', 'there'));
      const synced = await fileCallsOf(folder, ['sync'], () => files.write('a/b/c', 'x'));
      const folders = ['not/there/a/b', 'not/there/a', 'not/there', 'not', '.'];
      expect(new Set(synced)).toEqual(new Set(['not/there/.unfinished/*', ...folders].map((path) => `sync ${path}`)));
      // What is there is brought there once.
      expect(await fileCallsOf(folder, ['sync'], () => files.write('a/b/d', 'x'))).toEqual([
        'sync not/there/.unfinished/*',
        'sync not/there/a/b',
      ]);
    });

    test('the names of folders before a file counts that is in them: nobody brings them there later', async () => {
      const folder = temporaryFolder();
      const files = folderFiles(folder);
      await files.write('first', 'x');
      const placing = ['rename', 'mkdir', 'sync'];
      expect(await fileCallsOf(folder, placing, () => files.write('a/b/c', 'x'))).toEqual([
        'sync .unfinished/*',
        'rename .unfinished/* a/b/c',
        'mkdir a/b',
        'sync a',
        'sync .',
        'rename .unfinished/* a/b/c',
        'sync a/b',
      ]);
    });

    test('where a file was moved to, and that it is no more where it was', async () => {
      const folder = temporaryFolder();
      const files = folderFiles(folder);
      for (const path of ['a/b', 'c/first']) await files.write(path, 'x');
      expect(await fileCallsOf(folder, DURABLE, () => files.move('a/b', 'c/d'))).toEqual([
        'rename a/b c/d',
        'sync c',
        'sync a',
      ]);
    });

    test('what a local file holds before it is taken in', async () => {
      const folder = temporaryFolder();
      const files = folderFiles(join(folder, 'files'));
      await files.write('first', 'x');
      const local = join(folder, 'local');
      writeFileSync(local, 'x');
      expect(await fileCallsOf(folder, DURABLE, () => files.take(local, 'a'))).toEqual([
        'sync local',
        'rename local files/a',
        'sync files',
      ]);
    });
  });

  test('leaves no file open whichever call of the file system fails', async () => {
    let hasFailed = true;
    let at = 1;
    for (; hasFailed; at += 1) {
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'local'), 'local');
      const calls = await failFileCalls(at, { andLater: false });
      const files = folderFiles(join(folder, 'files'));
      const work = [
        () => files.write('a', 'text'),
        () => files.move('a', 'b/c'),
        () => files.take(join(folder, 'local'), 'd'),
      ];
      for (const step of work) await step().catch(() => {});
      calls.stop();
      expect(calls.stillOpen()).toBe(0);
      hasFailed = calls.hasFailed();
    }
    expect(at).toBeGreaterThan(15);
  });

  test('does not follow links', async () => {
    const folder = temporaryFolder();
    const outside = temporaryFolder();
    writeFileSync(join(outside, 'secret'), 'x');
    const runFiles = folderFiles(folder);
    await runFiles.write('a/b', 'x');
    symlinkSync(outside, join(folder, 'a', 'link'));
    expect(await pathsIn(runFiles)).toEqual(['a/b']);
    await runFiles.remove('a');
    expect(readdirSync(outside)).toEqual(['secret']);
  });
});

/** S3's answer that something is wrong. */
const answers = (name: string, httpStatusCode: number): Error =>
  new S3ServiceException({ name, message: name, $fault: 'client', $metadata: { httpStatusCode } });

describe('a runFiles on S3', () => {
  let bucket: Bucket;
  beforeAll(async () => {
    bucket = await startBucket();
  });
  afterEach(() => bucket.empty());
  afterAll(() => bucket.close());

  fileStoreCases(() => s3Files({ client: bucket.client, bucket: bucket.name }));

  test('gives the address of a file', () => {
    const runFiles = s3Files({ client: bucket.client, bucket: bucket.name });
    expect(runFiles.address('a/b=1')).toBe('s3://exports/a/b=1');
    expect(runFiles.root).toBe('s3://exports/');
  });

  test('keeps a big stream whole, and leaves no upload when one breaks', async () => {
    const runFiles = s3Files({ client: bucket.client, bucket: bucket.name });
    const piece = Buffer.alloc(1024 * 1024, 'x');
    await runFiles.write('big', Readable.from(Array.from({ length: 12 }, () => piece)));
    expect((await runFiles.read('big'))?.equals(Buffer.alloc(12 * 1024 * 1024, 'x'))).toBe(true);
    const broken = Readable.from(
      (async function* () {
        for (let n = 0; n < 12; n += 1) yield piece;
        throw new Error('the source broke');
      })(),
    );
    await expect(runFiles.write('big', broken)).rejects.toThrow('the source broke');
    expect(bucket.uploads()).toEqual([]);
    expect(await filesIn(runFiles)).toEqual([{ path: 'big', size: 12 * 1024 * 1024 }]);
  });

  test('removes more than one page of files, a thousand in one request', async () => {
    const client = new S3Client({ region: 'us-east-1' });
    const page = (from: number) => Array.from({ length: 600 }, (_, n) => ({ Key: `many/${from + n}`, Size: 1 }));
    const s3 = mockClient(client)
      .on(HeadObjectCommand)
      .rejects(answers('NotFound', 404))
      .on(ListObjectsV2Command)
      .resolvesOnce({ Contents: page(0), NextContinuationToken: 'more', IsTruncated: true })
      .resolvesOnce({ Contents: page(600) })
      .on(DeleteObjectsCommand)
      .resolves({});
    await s3Files({ client, bucket: 'files' }).remove('many/');
    const removed = s3.commandCalls(DeleteObjectsCommand).map((call) => call.args[0].input.Delete?.Objects);
    expect(removed.map((objects) => objects?.length)).toEqual([1000, 200]);
    expect(removed.flat().map((object) => object?.Key)).toEqual([...page(0), ...page(600)].map(({ Key }) => Key));
  });

  test('removes files whose paths are known by one request for a thousand, and looks for none', async () => {
    const client = new S3Client({ region: 'us-east-1' });
    const s3 = mockClient(client).on(DeleteObjectsCommand).resolves({});
    const paths = Array.from({ length: 1_200 }, (_, n) => `direct/${n}`);
    await s3Files({ client, bucket: 'files' }).removeFiles(paths);
    const removed = s3.commandCalls(DeleteObjectsCommand).map((call) => call.args[0].input.Delete?.Objects);
    expect(removed.map((objects) => objects?.length)).toEqual([1000, 200]);
    expect(removed.flat().map((object) => object?.Key)).toEqual(paths);
    expect(s3.calls()).toHaveLength(2);
  });

  test('tells one file that is not removed for now from one that may not be', async () => {
    const client = new S3Client({ region: 'us-east-1' });
    const s3 = mockClient(client)
      .on(HeadObjectCommand)
      .resolves({ ContentLength: 1 })
      .on(ListObjectsV2Command)
      .resolves({});
    const removal = (Code: string): Promise<void> => {
      s3.on(DeleteObjectsCommand).resolves({ Errors: [{ Key: 'a', Code, Message: 'No.' }] });
      return s3Files({ client, bucket: 'files' }).remove('a');
    };
    for (const passes of ['InternalError', 'SlowDown', 'ServiceUnavailable'])
      await expect(removal(passes)).rejects.toThrow(Transient);
    await expect(removal('AccessDenied')).rejects.not.toThrow(Transient);
    await expect(removal('AccessDenied')).rejects.toThrow('S3 did not remove a: AccessDenied No.');
  });

  test('says what passes, what does not, and never that a file is not there when it cannot know', async () => {
    const client = new S3Client({ region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
    const s3 = mockClient(client);
    const runFiles = s3Files({ client, bucket: 'files' });
    s3.rejects(answers('SlowDown', 503));
    await expect(runFiles.read('a')).rejects.toThrow(Transient);
    await expect(runFiles.remove('a')).rejects.toThrow(Transient);
    s3.rejects(answers('AccessDenied', 403));
    await expect(runFiles.read('a')).rejects.toThrow('AccessDenied');
    s3.rejects(answers('NoSuchBucket', 404));
    await expect(runFiles.read('a')).rejects.toThrow('NoSuchBucket');
  });

  test('says that a body which breaks off may pass, in memory and on its way to a file', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'Content-Length': 10 });
      response.write('half', () => response.destroy());
    });
    const files = await filesOf(server);
    await expect(files.save('a', join(temporaryFolder(), 'copy'))).rejects.toThrow(Transient);
    await expect(files.read('a')).rejects.toThrow(Transient);
  });

  test('fetches no more of a body that nobody waits for', async () => {
    let closed = () => {};
    const gone = new Promise<void>((resolve) => (closed = resolve));
    const [left, reason] = [new AbortController(), new DOMException('Its time was over.', 'TimeoutError')];
    const server = createServer((_request, response) => {
      response.on('close', closed);
      response.writeHead(200, { 'Content-Length': 10 });
      response.write('half', () => left.abort(reason));
    });
    const files = await filesOf(server);
    await expect(files.save('a', join(temporaryFolder(), 'copy'), left.signal)).rejects.toBe(reason);
    await gone;
  });
});
