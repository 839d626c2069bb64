import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { follow } from '../../../../lib/lake/import/follow.ts';
import { ImportStopped } from '../../../../lib/lake/import/import.ts';
import { ImportUnderWay, LeaseLost } from '../../../../lib/lake/lease.ts';
import { Failure } from '../../../../lib/ports/errors.ts';
import { Busy } from '../../../../lib/ports/table/table.ts';
import { fileIn, importContext, run } from '../../../support/imports.ts';

const line = (n: number): string =>
  `192.0.2.1 - - [17/May/2015:10:05:${10 + n} +0000] "GET /${n} HTTP/1.1" 200 5 "-" "-"\n`;

/** Follows a log through steps, of which one is done at each pause. Returns how many events each reading added. */
async function following(steps: (file: string) => readonly (() => void)[]) {
  const context = await importContext();
  mkdirSync(join(context.folder, 'logs'));
  const file = fileIn(context, 'logs/access.log', line(0));
  const left = [...steps(file)];
  const stop = new AbortController();
  const added: number[] = [];
  const lost: string[] = [];
  await follow({
    files: [file],
    read: (files) => run(context, files, { onlyEnded: true, stop: stop.signal }) as never,
    onRead: (report) => added.push(report.added),
    onTrouble: (reason) => lost.push(reason),
    onLost: (path) => lost.push(path),
    pause: async () => {
      const step = left.shift();
      if (step === undefined) stop.abort(new ImportStopped());
      else step();
    },
    stop: stop.signal,
  });
  return { added, lost, file };
}

test('what a log gets is added, line by whole line', async () => {
  const { added } = await following((file) => [
    () => appendFileSync(file, line(1) + line(2).slice(0, 30)),
    () => {},
    () => appendFileSync(file, line(2).slice(30)),
  ]);
  expect(added).toEqual([1, 1, 1]);
});

test('a rotation loses nothing: not what came before it, nor what is still written to the old file', async () => {
  const { added, lost } = await following((file) => {
    const old = join(file, '..', 'access.log.1');
    return [
      () => {
        appendFileSync(file, line(1));
        renameSync(file, old);
      },
      () => writeFileSync(file, line(3)),
      () => appendFileSync(old, line(2)),
    ];
  });
  expect(added.reduce((sum, n) => sum + n, 0)).toBe(4);
  expect(lost).toEqual([]);
});

test('a file that is emptied in its place is read from its beginning, and one that is gone is told of', async () => {
  const { added, lost, file } = await following((path) => [
    () => writeFileSync(path, `${line(1)}\n`),
    () => {
      rmSync(path);
      writeFileSync(`${path}.other`, '');
    },
    () => writeFileSync(path, line(2) + line(3)),
  ]);
  expect(added).toEqual([1, 1, 2]);
  expect(lost).toEqual([file]);
});

describe('a file that is moved away, packed and removed before its end is read', () => {
  /** Follows a log whose reading fails so when it was moved away, while `gone` of the two are removed. */
  async function rotated(failure: (old: string) => unknown, gone: (file: string, old: string) => string[]) {
    const context = await importContext();
    const file = fileIn(context, 'access.log', line(0));
    const old = `${file}.1`;
    const stop = new AbortController();
    const told: string[] = [];
    const steps = [
      () => {
        appendFileSync(file, line(1));
        renameSync(file, old);
      },
      () => writeFileSync(file, line(2)),
      () => {},
      () => stop.abort(new ImportStopped()),
    ];
    await follow({
      files: [file],
      read: async (files) => {
        if (files.includes(old)) {
          for (const path of gone(file, old)) rmSync(path);
          const failed = failure(old);
          if (failed !== undefined) throw failed;
        }
        return run(context, files, { onlyEnded: true, stop: stop.signal }) as never;
      },
      onRead: (report) => told.push(`${report.added} added`),
      onTrouble: (reason) => told.push(reason),
      onLost: (path) => told.push(path === old ? 'the moved file is lost' : path),
      pause: async () => steps.shift()?.(),
      stop: stop.signal,
    });
    return told;
  }

  test.each([
    ['when the reading begins', () => undefined],
    ['while it is read', (old: string) => Object.assign(new Error(`open '${old}'`), { code: 'ENOENT' })],
    ['while another import runs', () => new ImportUnderWay('busy')],
  ])('%s is told of, and the next one is followed', async (_, failure) => {
    const told = await rotated(failure, (__, old) => [old]);
    expect(told).toEqual(['1 added', 'the moved file is lost', '1 added']);
  });

  test('is nothing that passes where all files are there', async () => {
    const failure = new Failure('not_found', { detail: 'There is no project 7.' });
    await expect(
      rotated(
        () => failure,
        () => [],
      ),
    ).rejects.toThrow('There is no project 7.');
  });
});

describe('a log that is rotated by numbers while another import runs', () => {
  /** Follows a log that was read as often as `before` says when the other import begins, through steps; then it ends. */
  async function waiting(before: number, steps: (file: string) => readonly (() => void)[]) {
    const context = await importContext();
    mkdirSync(join(context.folder, 'logs'));
    const file = fileIn(context, 'logs/app.log', line(0));
    const stop = new AbortController();
    const left = [...steps(file)];
    let [readings, added] = [0, 0];
    const lost: string[] = [];
    await follow({
      files: [file],
      read: async (files) => {
        readings += 1;
        if (readings > before && left.length > 0) throw new ImportUnderWay('busy');
        return run(context, files, { onlyEnded: true, stop: stop.signal }) as never;
      },
      onRead: (report) => {
        added += report.added;
        if (left.length === 0) stop.abort();
      },
      onTrouble: (reason) => lost.push(reason),
      onLost: (path) => lost.push(basename(path)),
      pause: async () => left.shift()?.(),
      stop: stop.signal,
    });
    return { added, lost };
  }

  const rotate = (file: string, n: number): void => {
    if (existsSync(`${file}.1`)) renameSync(`${file}.1`, `${file}.2`);
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(n));
  };

  test.each([
    ['before its first reading', 0],
    ['after it', 1],
  ])('%s loses nothing', async (_, before) => {
    const { added, lost } = await waiting(before, (file) => [
      () => appendFileSync(file, line(1)),
      () => rotate(file, 2),
      () => rotate(file, 3),
    ]);
    expect(added).toBe(4);
    expect(lost).toEqual([]);
  });

  test.each([
    ['before its first reading', 0, 3],
    ['after it', 1, 4],
  ])('%s, and of which a file is removed, is told of', async (_, before, expected) => {
    const { added, lost } = await waiting(before, (file) => [
      () => appendFileSync(file, line(1)),
      () => rotate(file, 2),
      () => rotate(file, 3),
      () => {
        appendFileSync(`${file}.1`, line(4));
        rmSync(`${file}.2`);
      },
    ]);
    expect(added).toBe(expected);
    expect(lost).toEqual(['app.log.2']);
  });
});

test('a log that is rotated when its reading begins is read to its end then', async () => {
  const context = await importContext();
  const file = fileIn(context, 'app.log', line(0) + line(1));
  const stop = new AbortController();
  let [readings, added] = [0, 0];
  await follow({
    files: [file],
    read: (files) => {
      readings += 1;
      if (readings === 1) {
        renameSync(file, `${file}.1`);
        writeFileSync(file, line(2));
      }
      return run(context, files, { onlyEnded: true, stop: stop.signal }) as never;
    },
    onRead: (report) => {
      added += report.added;
      if (readings === 2) stop.abort();
    },
    onTrouble: () => {},
    onLost: () => {},
    pause: async () => {
      if (readings > 3) stop.abort();
    },
    stop: stop.signal,
  });
  expect(added).toBe(3);
});

test('a folder that is gone with its files is told of, and waited for', async () => {
  const { added, lost, file } = await following((path) => [
    () => rmSync(dirname(path), { recursive: true }),
    () => {
      mkdirSync(dirname(path));
      writeFileSync(path, line(1));
    },
  ]);
  expect(added).toEqual([1, 1]);
  expect(lost).toEqual([file]);
});

test('a folder whose place a file has taken is gone: it is told of, and waited for', async () => {
  const { added, lost, file } = await following((path) => [
    () => {
      renameSync(dirname(path), `${dirname(path)}.old`);
      writeFileSync(dirname(path), '');
    },
    () => {},
    () => {
      rmSync(dirname(path));
      mkdirSync(dirname(path));
      writeFileSync(path, line(1));
    },
  ]);
  expect(added).toEqual([1, 1]);
  expect(lost).toEqual([file]);
});

test('what lies beside a log and cannot be looked at does not keep it from being found again', async () => {
  const { added, lost } = await following((path) => [
    () => {
      for (let n = 0; n < 20; n++) symlinkSync(`loop${n}`, join(dirname(path), `loop${n}`));
      appendFileSync(path, line(1));
      renameSync(path, `${path}.1`);
      writeFileSync(path, line(2));
    },
  ]);
  expect([added.reduce((sum, one) => sum + one, 0), lost]).toEqual([3, []]);
});

test('a file that is there and cannot be looked at is not told as lost: what is in the way is said once, and waited for', async () => {
  const { added, lost, file } = await following((path) => [
    () => {
      rmSync(path);
      symlinkSync(path, path);
    },
    () => {},
    () => {
      rmSync(path);
      writeFileSync(path, line(0) + line(1));
    },
  ]);
  expect(added).toEqual([1, 1]);
  expect(lost).toEqual([`ELOOP: too many symbolic links encountered, stat '${file}'`, file]);
});

test('what is in the way of a file from the moment in which it is read is waited for, too', async () => {
  const context = await importContext();
  const file = fileIn(context, 'access.log', line(0));
  const stop = new AbortController();
  const told: string[] = [];
  let readings = 0;
  await follow({
    files: [file],
    read: async () => {
      readings += 1;
      if (readings > 1) return {} as never;
      renameSync(file, `${file}.1`);
      symlinkSync(file, file);
      throw Object.assign(new Error(`ELOOP: open '${file}'`), { code: 'ELOOP' });
    },
    onRead: () => stop.abort(),
    onTrouble: (reason) => told.push(reason),
    onLost: (path) => told.push(path),
    pause: async () => {
      if (stop.signal.aborted) return;
      rmSync(file);
      renameSync(`${file}.1`, file);
    },
    stop: stop.signal,
  });
  expect(told).toEqual([`ELOOP: too many symbolic links encountered, stat '${file}'`]);
});

test('what passes is waited for: it is told once, and what came meanwhile is read then', async () => {
  const context = await importContext();
  const file = fileIn(context, 'access.log', line(0));
  const stop = new AbortController();
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
  const errors = [
    new Busy('locked'),
    new Busy('locked'),
    new LeaseLost('stalled'),
    full,
    undefined,
    new Busy('locked'),
  ];
  const reads: string[] = [];
  await follow({
    files: [file],
    read: async () => {
      const error = errors.shift();
      if (error !== undefined) throw error;
      return {} as never;
    },
    onRead: () => {
      reads.push('read');
      appendFileSync(file, line(1));
    },
    onTrouble: (reason) => reads.push(reason),
    onLost: () => {},
    pause: async () => {
      if (reads.at(-1) === 'read' && errors.length === 0) stop.abort();
    },
    stop: stop.signal,
  });
  const disk = 'The disk of the service is full: space must be freed there.';
  expect(reads).toEqual(['locked', 'stalled', disk, 'read', 'locked', 'read']);
});

test('it waits while another import runs, ends when it is stopped, and fails with what else fails', async () => {
  const context = await importContext();
  const file = fileIn(context, 'access.log', line(0));
  const stop = new AbortController();
  const closed = Object.assign(new Error('EACCES: permission denied, open'), { code: 'EACCES' });
  const errors = [new ImportUnderWay('busy'), closed, closed, new ImportStopped()];
  let reads = 0;
  const told: string[] = [];
  const onTrouble = (reason: string) => void told.push(reason);
  const options = {
    files: [file],
    onRead: () => {},
    onTrouble,
    onLost: () => {},
    pause: async () => {},
    stop: stop.signal,
  };
  await follow({
    ...options,
    read: async () => {
      reads += 1;
      throw errors.shift();
    },
  });
  expect(reads).toBe(4);
  expect(told).toEqual([closed.message]);
  await expect(follow({ ...options, read: async () => Promise.reject(new Error('broken')) })).rejects.toThrow('broken');
});
