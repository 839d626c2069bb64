import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lakeCopies } from '../../../lib/lake/copies.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { temporaryFolder } from '../../support/context.ts';

const { signal } = new AbortController();

async function world(mostBytes: number) {
  const lake = folderFiles(temporaryFolder());
  const fetched: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) await lake.write(`events/${name}`, name.repeat(10));
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'of-somebody-before'), '');
  const copies = lakeCopies({
    lake: { save: (path, local, left) => (fetched.push(path), lake.save(path, local, left)) },
    folder,
    mostBytes,
  });
  const files = (names: string) => names.split('').map((name) => ({ path: `events/${name}`, bytes: 10 }));
  const there = () => ['a', 'b', 'c', 'd'].filter((name) => existsSync(join(folder, 'events', name))).join('');
  return { copies, folder, fetched, files, there, lake };
}

test('files are copied once, and those used least lately go where there is no room', async () => {
  const { copies, folder, fetched, files, there } = await world(30);
  expect(existsSync(join(folder, 'of-somebody-before'))).toBe(false);
  await copies.fetch(files('abc'), signal);
  await copies.fetch(files('ab'), signal);
  expect(fetched.length).toBe(3);
  copies.used(['events/a', 'events/unknown']);
  await copies.fetch(files('d'), signal);
  expect(there()).toBe('abd');
  await copies.fetch(files('c'), signal);
  expect(there()).toBe('acd');
});

test('one call may have more than there is room for, and what is wanted together stays together', async () => {
  const { copies, files, there } = await world(20);
  await copies.fetch(files('ab'), signal);
  await copies.fetch(files('abcd'), signal);
  expect(there()).toBe('abcd');
  await copies.fetch(files('a'), signal);
  // Of c and d, which came together, either may have come last.
  expect(there()).toMatch(/^a[cd]$/);
  await copies.drop(`events/${there().slice(1)}`);
  expect(there()).toBe('a');
});

test('a file that cannot be fetched fails the call, and nothing half stays', async () => {
  const { copies, fetched, files, there, lake } = await world(100);
  await lake.remove('events/b');
  await expect(copies.fetch(files('ab'), signal)).rejects.toThrow('ENOENT');
  expect(there()).toBe('a');
  await lake.write('events/b', 'b'.repeat(10));
  await copies.fetch(files('ab'), signal);
  expect([there(), fetched.length]).toEqual(['ab', 3]);
  await expect(copies.fetch(files('c'), AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
});

test('who leaves ends what is being fetched for them, and nothing half stays', async () => {
  const folder = temporaryFolder();
  const left = new AbortController();
  let begun = () => {};
  const underWay = new Promise<void>((resolve) => (begun = resolve));
  const copies = lakeCopies({
    lake: {
      save: (_, local, signal) => {
        writeFileSync(local, 'half');
        begun();
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    },
    folder,
    mostBytes: 100,
  });
  const fetching = copies.fetch([{ path: 'events/a', bytes: 10 }], left.signal);
  await underWay;
  left.abort(new Error('left'));
  await expect(fetching).rejects.toThrow('left');
  expect(readdirSync(join(folder, 'events'))).toEqual([]);
});
