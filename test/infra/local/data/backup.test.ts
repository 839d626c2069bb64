import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { backUp } from '../../../../infra/local/data/backup.ts';
import { openDataDirectory } from '../../../../infra/local/data/data-directory.ts';
import { claimDataDirectory, inWordsOf } from '../../../../infra/local/data/data-stores.ts';
import { restore } from '../../../../infra/local/data/restore.ts';
import { tellAddress } from '../../../../infra/local/gateway/service-address.ts';
import { createOrganization, createUser, importFiles } from '../../../../lib/admin/commands.ts';
import { silentProgress } from '../../../../lib/admin/progress.ts';
import { messageOf } from '../../../../lib/basics/text.ts';
import { allFiles } from '../../../../lib/lake/catalog.ts';
import { lakeDatabases } from '../../../../lib/lake/databases.ts';
import { folderInbox } from '../../../../lib/ports/inbox/folder.ts';
import { logTo } from '../../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import { temporaryFolder } from '../../../support/context.ts';
import { fileCallsOf, watchFileCalls } from '../../../support/file-calls.ts';
import { asOrdinaryUser } from '../../../support/ordinary-user.ts';

const open = (folder: string) =>
  openDataDirectory(
    folder,
    LOCAL_SETTINGS,
    logTo(() => {}, Date.now),
  );

/** A data directory with a row and some files, and where to put copies. */
async function world() {
  const place = temporaryFolder();
  const folder = join(place, 'home');
  const directory = open(folder);
  await directory.table.write([{ put: { pk: 'a', sk: 'a' } }]);
  await directory.lake.write('1/events/a.parquet', 'rows');
  await directory.runFiles.write('run/note', 'kept');
  await directory.vault.seal('secret', { organization: 'o', batchExport: 'e' });
  mkdirSync(join(folder, 'runs/.unfinished'), { recursive: true });
  writeFileSync(join(folder, 'runs/.unfinished/half'), 'half');
  tellAddress(folder, 'http://127.0.0.1:8010');
  return { place, folder, directory, backup: join(place, 'backup'), restored: join(place, 'restored') };
}

/** What lies in a backup. */
const WHOLE = ['backup.json', 'lake', 'runs', 'vault.fingerprint', 'vault.key', 'version.json', 'workspace.db'];

test('a backup of a directory that is in use has everything, but what is unfinished, and where its service is', async () => {
  const { folder, directory, backup, restored } = await world();
  const contents = await backUp(folder, backup);
  await directory.table.write([{ put: { pk: 'later', sk: 'later' } }]);
  expect(readdirSync(backup).toSorted()).toEqual(WHOLE);
  expect(await restore(backup, restored)).toEqual(contents);
  expect(existsSync(join(restored, 'runs/.unfinished'))).toBe(false);
  const copy = open(restored);
  expect(await copy.table.get({ pk: 'a', sk: 'a' })).toBeDefined();
  expect(await copy.table.get({ pk: 'later', sk: 'later' })).toBeUndefined();
  expect(String(await copy.lake.read('1/events/a.parquet'))).toBe('rows');
  expect(String(await copy.runFiles.read('run/note'))).toBe('kept');
  await copy.close();
  await directory.close();
});

test('a backup, and what is restored of it, is on the disk when it is said to be there', async () => {
  const { place, folder, directory, backup, restored } = await world();
  await directory.close();
  const copied = ['lake/1/events/a.parquet', 'runs/run/note', 'vault.fingerprint', 'vault.key', 'version.json'];
  const backingUp = await fileCallsOf(place, ['sync', 'rename'], () => backUp(folder, backup));
  const synced = [...copied, 'workspace.db'].map((path) => `sync backup.unfinished/${path}`);
  expect(backingUp).toEqual(expect.arrayContaining(synced));
  expect(backingUp.slice(-2)).toEqual(['rename backup.unfinished backup', 'sync .']);
  const restoring = await fileCallsOf(place, ['sync', 'rename'], () => restore(backup, restored));
  expect(restoring).toEqual(expect.arrayContaining(copied.map((path) => `sync restored/.restoring/${path}`)));
  expect(restoring.slice(-3)).toEqual([expect.stringMatching(/^rename /), 'sync restored', 'sync restored']);
});

test('a backup does not replace anything, nor does a restore', async () => {
  const { folder, directory, backup } = await world();
  await directory.close();
  await backUp(folder, backup);
  await expect(backUp(folder, backup)).rejects.toThrow(`${backup} is there already: choose another folder.`);
  await expect(restore(backup, folder)).rejects.toThrow(`${folder} is there already: move it away`);
  const within = join(backup, 'home');
  await expect(restore(backup, within)).rejects.toThrow(`${within} is in the backup: choose a folder elsewhere.`);
  await expect(backUp(join(folder, 'nothing'), `${backup}2`)).rejects.toThrow('There is no data directory at');
});

test('a backup clears only what a backup has left unfinished, and never what it copies', async () => {
  const { folder, directory, backup } = await world();
  await directory.close();
  const named = `${backup}.unfinished`;
  renameSync(folder, named);
  for (const from of [named, folder]) {
    await expect(backUp(from, backup)).rejects.toThrow(
      `${named} is there already, and no backup: choose another folder, or remove it if an older version has left it.`,
    );
    expect(existsSync(join(named, 'workspace.db'))).toBe(true);
    cpSync(named, folder, { recursive: true });
  }
});

test('a restore tells the service of when its state is: of the instant whose commits it has', async () => {
  const { folder, directory, backup, restored } = await world();
  await directory.close();
  const before = Date.now();
  const making = backUp(folder, backup);
  // It is copied as it was before.
  while (!existsSync(`${backup}.unfinished/workspace.db`)) await new Promise(setImmediate);
  const copied = Date.now();
  const stateOf = Date.parse((await making).made_at);
  expect([before <= stateOf, stateOf <= copied]).toEqual([true, true]);
  const restoring = Date.now();
  await restore(backup, restored);
  const copy = open(restored);
  const note = await copy.table.get(keys.restored());
  expect(note).toMatchObject({ state_of: stateOf });
  expect(note?.restored_at).toBeGreaterThanOrEqual(restoring);
  await copy.close();
});

test('of two backups into one folder at once the second is refused, and the first is whole', async () => {
  const { folder, directory, backup, restored } = await world();
  for (let n = 0; n < 50; n += 1) await directory.lake.write(`1/events/${n}.parquet`, 'rows');
  await directory.close();
  const first = backUp(folder, backup);
  while (!existsSync(`${backup}.unfinished/lake`)) await new Promise(setImmediate);
  await expect(backUp(folder, backup)).rejects.toThrow(
    `Another backup to ${backup} is being made: wait for it, or choose another folder.`,
  );
  const contents = await first;
  expect(contents).toMatchObject({ files: 56 });
  expect(readdirSync(backup).toSorted()).toEqual(WHOLE);
  expect(await restore(backup, restored)).toEqual(contents);
});

test('a backup that loses a file while it is made is refused, and the next one takes its place', async () => {
  const { folder, directory, backup } = await world();
  await directory.close();
  const making = backUp(folder, backup);
  // It is copied last.
  while (!existsSync(`${backup}.unfinished/workspace.db`)) await new Promise(setImmediate);
  rmSync(`${backup}.unfinished/lake/1/events/a.parquet`);
  await expect(making).rejects.toThrow(
    /unfinished is not whole: it has 5 files .* had 6 .* Something has changed it: make the backup again\.$/,
  );
  expect(existsSync(backup)).toBe(false);
  await expect(backUp(folder, backup)).resolves.toMatchObject({ files: 6 });
  expect(existsSync(`${backup}.unfinished`)).toBe(false);
});

test.each([
  ['before anything is copied', 1],
  ['while it copies', 3],
])('a backup whose disk is full says that, and advises no folder on it: %s', async (_, n) => {
  const { folder, directory, backup } = await world();
  await directory.close();
  let calls = 0;
  const watched = await watchFileCalls((name) => {
    if (name !== 'mkdir') return;
    calls += 1;
    if (calls === n) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
  });
  await expect(backUp(folder, backup)).rejects.toThrow(
    `The disk of ${backup} is full. Free space there, or choose a folder on another disk and remove ${backup}.unfinished.`,
  );
  watched.stop();
  expect(calls).toBe(n);
  await expect(backUp(folder, backup)).resolves.toMatchObject({ files: 6 });
});

test('a backup is not made in the data directory that it copies, and leaves nothing there', async () => {
  const { folder, directory } = await world();
  await directory.close();
  const before = readdirSync(folder);
  for (const target of [join(folder, 'backups', 'one'), join(folder, '..copy')]) {
    await expect(backUp(folder, target)).rejects.toThrow(
      `${target} is in the data directory: choose a folder elsewhere.`,
    );
  }
  expect(readdirSync(folder)).toEqual(before);
  await expect(backUp(folder, `${folder}..copy`)).resolves.toMatchObject({ files: 6 });
});

test('a restore goes into an empty disk too, where nothing can be made beside it', async () => {
  const { place, folder, directory, backup, restored } = await world();
  await directory.close();
  await backUp(folder, backup);
  mkdirSync(join(restored, 'lost+found'), { recursive: true });
  await asOrdinaryUser(place, async () => {
    chmodSync(place, 0o500);
    expect(await restore(backup, restored)).toMatchObject({ files: 6 });
    const copy = open(restored);
    expect(await copy.table.get({ pk: 'a', sk: 'a' })).toBeDefined();
    expect(String(await copy.lake.read('1/events/a.parquet'))).toBe('rows');
    await copy.close();
    chmodSync(place, 0o700);
  });
  expect(readdirSync(restored).filter((name) => name.startsWith('.') || name.endsWith('.json'))).toEqual([
    'version.json',
  ]);
});

test('a restore that was killed leaves what is no data directory, until it is restored again', async () => {
  const { folder, directory, backup, restored } = await world();
  await directory.close();
  await backUp(folder, backup);
  // As a kill leaves it while what was copied takes its place.
  mkdirSync(join(restored, '.restoring', 'runs'), { recursive: true });
  writeFileSync(join(restored, '.restoring', 'workspace.db'), 'half');
  mkdirSync(join(restored, 'lake'));
  writeFileSync(join(restored, 'lake', 'half'), '');
  const why = `A restore into ${restored} did not end: restore the backup again.`;
  expect(() => open(restored)).toThrow(why);
  expect(() => claimDataDirectory(restored)).toThrow(why);
  await expect(backUp(restored, `${backup}2`)).rejects.toThrow(why);
  await restore(backup, restored);
  expect(readdirSync(join(restored, 'lake'))).toEqual(['1']);
  await open(restored).close();
});

test('a restore that was killed does not take with it what somebody has put beside it', async () => {
  const { folder, directory, backup, restored } = await world();
  await directory.close();
  await backUp(folder, backup);
  mkdirSync(join(restored, '.restoring'), { recursive: true });
  writeFileSync(join(restored, 'notes.txt'), '');
  await expect(restore(backup, restored)).rejects.toThrow(`${restored} is there already: move it away`);
});

test('a backup onto a disk itself is refused before anything is copied, for nothing can take its place', async () => {
  const { place, folder, directory, backup } = await world();
  await directory.close();
  mkdirSync(backup);
  await asOrdinaryUser(place, async () => {
    chmodSync(place, 0o500);
    await expect(backUp(folder, backup)).rejects.toThrow(
      `${backup} cannot be made (EACCES: permission denied, rmdir '${backup}'). Choose another folder, such as ${backup}/1.`,
    );
    chmodSync(place, 0o700);
  });
  expect(readdirSync(place).toSorted()).toEqual(['backup', 'home']);
});

test('a backup that is not whole is refused, and makes nothing', async () => {
  const { folder, directory, backup, restored } = await world();
  await directory.close();
  await backUp(folder, backup);
  rmSync(join(backup, 'lake/1/events/a.parquet'));
  await expect(restore(backup, restored)).rejects.toThrow(/is not whole: it has 5 files .* had 6 /);
  rmSync(join(backup, 'backup.json'));
  await expect(restore(backup, restored)).rejects.toThrow(`${backup} is no whole backup (`);
  expect(existsSync(restored)).toBe(false);
});

test('a backup of a newer version, and one whose database is damaged, are refused', async () => {
  const { place, folder, directory, backup, restored } = await world();
  await directory.close();
  await backUp(folder, backup);
  const version = readFileSync(join(backup, 'version.json'), 'utf8');
  writeFileSync(join(backup, 'version.json'), version.replace('"version":3', '"version":9'));
  await expect(restore(backup, restored)).rejects.toThrow(
    `${backup} is a backup of a newer version of this program: it has layout 9, and this version knows layouts up to 3. ` +
      'Restore it with the newer one, or restore a backup that this one has made.',
  );
  writeFileSync(join(backup, 'version.json'), version);
  const database = readFileSync(join(backup, 'workspace.db'));
  writeFileSync(join(backup, 'workspace.db'), database.fill(7, 4096, 8192));
  await expect(restore(backup, restored)).rejects.toThrow(/^The database of the backup is damaged: /);
  expect(readdirSync(place)).not.toContain('restored');
  mkdirSync(restored);
  await expect(restore(backup, restored)).rejects.toThrow(/^The database of the backup is damaged: /);
  expect(readdirSync(restored)).toEqual([]);
});

test.each([
  ['workspace.db', 'a row in it'],
  ['vault.key', 'it'],
])('a backup whose %s has changed, so that %s is another one, is refused', async (name) => {
  const { folder, directory, backup, restored } = await world();
  await directory.table.write([{ put: { pk: 'b', sk: 'b', name: 'Default project' } }]);
  await directory.close();
  await backUp(folder, backup);
  const file = join(backup, name);
  const bytes = readFileSync(file);
  const at = Math.max(bytes.indexOf('Default project'), 0);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(file, bytes);
  const refusal = `${name} of the backup is not what was written. Restore another backup.`;
  await expect(restore(backup, restored)).rejects.toThrow(refusal);
  expect(existsSync(restored)).toBe(false);
  // One that is older than digests has nothing to compare with.
  const { sha256: _, ...contents } = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')) as object & {
    readonly sha256: unknown;
  };
  writeFileSync(join(backup, 'backup.json'), JSON.stringify(contents));
  await restore(backup, restored);
  expect(readFileSync(join(restored, name)).equals(bytes)).toBe(name === 'vault.key');
});

describe('of what is damaged there is no backup, but a copy that says so:', () => {
  /** A data directory with two events of different days, closed, and the files of the lake that have them. */
  async function withEvents() {
    const { folder, directory, backup, restored } = await world();
    const context = { ...directory, databases: lakeDatabases(directory.lake) };
    await createUser(context, { email: 'ada@example.com', firstName: 'Ada', lastName: '' });
    await createOrganization(context, { name: 'Engines', owner: 'ada@example.com' });
    const file = join(folder, '..', 'events.jsonl');
    const events = [1, 2].map((day) => ({ event: 'e', distinct_id: 'd', timestamp: `2020-01-0${day}T00:00:00Z` }));
    writeFileSync(file, events.map((event) => JSON.stringify(event)).join('\n'));
    await importFiles(context, { project: 1 }, [file], silentProgress());
    const [one, other] = (await allFiles(directory.table, 1, 'events')).map(({ path }) => path);
    await directory.close();
    return { folder, backup, restored, one: one ?? '', other: other ?? '' };
  }

  const damage = (file: string, from: number, to: number): void =>
    writeFileSync(file, readFileSync(file).fill(7, from, to));

  test('files of the lake, by their digests', async () => {
    const { folder, backup, restored, one, other } = await withEvents();
    damage(join(folder, 'lake', one), 20, 21);
    rmSync(join(folder, 'lake', other));
    for (const place of [`${backup}.damaged`, `${backup}.damaged-2`, `${backup}.damaged-3`]) {
      const told = await backUp(folder, backup).catch(messageOf);
      expect(told).toContain(`${folder} is damaged, so there is no new backup.`);
      expect(told).toContain(`The copy is kept as ${place}.\n`);
      expect(existsSync(join(place, 'backup.json'))).toBe(true);
      expect(told).toContain(`\n  lake/${one}: it is not what was written`);
      expect(told).toContain(`\n  lake/${other}: `);
      expect([existsSync(backup), existsSync(`${backup}.unfinished`)]).toEqual([false, false]);
    }
    // It may be the best that there is.
    await restore(`${backup}.damaged`, restored);
    expect(existsSync(join(restored, 'lake', one))).toBe(true);
  });

  test.each([
    ['in its first pages', 4096, 3 * 4096],
    ['in a page of its own', 6 * 4096 + 100, 7 * 4096],
  ])('the database, %s', async (_, from, to) => {
    const { folder, backup, restored } = await withEvents();
    damage(join(folder, 'workspace.db'), from, to);
    await expect(backUp(folder, backup)).rejects.toThrow(`${folder} is damaged, so there is no new backup.`);
    expect(existsSync(backup)).toBe(false);
    await expect(restore(`${backup}.damaged`, restored)).rejects.toThrow('The database of the backup is damaged: ');
  });

  test('the database, from its beginning on', async () => {
    const { folder, backup } = await withEvents();
    damage(join(folder, 'workspace.db'), 0, 4096);
    const error: unknown = await backUp(folder, backup).catch((thrown) => inWordsOf(folder, thrown));
    expect(messageOf(error)).toContain('workspace.db cannot be read (');
    expect(existsSync(backup)).toBe(false);
  });

  test('whose name takes the place of nothing, whatever has it: not even of what is copied', async () => {
    const { folder, backup, one } = await withEvents();
    damage(join(folder, 'lake', one), 20, 21);
    renameSync(folder, `${backup}.damaged`);
    symlinkSync('nowhere', `${backup}.damaged-2`);
    const told = await backUp(`${backup}.damaged`, backup).catch(messageOf);
    expect(told).toContain(`The copy is kept as ${backup}.damaged-3.\n`);
    expect(existsSync(join(`${backup}.damaged`, 'workspace.db'))).toBe(true);
  });

  test('events that are not in the lake yet', async () => {
    const { folder, backup } = await withEvents();
    const inbox = await folderInbox(join(folder, 'inbox'));
    await inbox.append({
      id: 'a',
      projectId: 1,
      receivedAt: 1,
      path: '/e',
      query: {},
      address: null,
      body: Buffer.from('{}'),
    });
    await inbox.close();
    damage(join(folder, 'inbox/0000000000000001.inbox'), 20, 21);
    await expect(backUp(folder, backup)).rejects.toThrow(
      /\n {2}inbox\/0000000000000001\.inbox: \d+ bytes of events that were acknowledged are damaged$/,
    );
  });

  test('what the disk does not give, which the copy is without', async () => {
    const { folder, backup, restored, one, other } = await withEvents();
    const file = join(folder, 'lake', one);
    const watched = await watchFileCalls((name, paths) => {
      if (['copyFile', 'open'].includes(name) && paths[0] === file)
        throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    });
    const told = await backUp(folder, backup).catch(messageOf).finally(watched.stop);
    expect(told).toContain(`The copy is kept as ${backup}.damaged.\n  lake/${one}: the disk cannot read it`);
    expect(told).not.toContain(other);
    await restore(`${backup}.damaged`, restored);
    expect([one, other].map((path) => existsSync(join(restored, 'lake', path)))).toEqual([false, true]);
  });

  test('not of what the service has set aside, and told of', async () => {
    const { folder, backup } = await withEvents();
    mkdirSync(join(folder, 'inbox/damaged'), { recursive: true });
    writeFileSync(join(folder, 'inbox/damaged/0000000000000001.inbox'), 'noise');
    await backUp(folder, backup);
    expect(existsSync(join(backup, 'inbox/damaged/0000000000000001.inbox'))).toBe(true);
  });
});

test('a backup of a directory whose service was killed leaves it as it was', async () => {
  const { place, folder, directory, backup } = await world();
  // As a kill leaves it: the database, its log and the mark.
  const killed = join(place, 'killed');
  mkdirSync(killed);
  for (const name of ['workspace.db', 'workspace.db-wal', 'workspace.db-open', 'version.json']) {
    writeFileSync(join(killed, name), readFileSync(join(folder, name)));
  }
  await directory.close();
  await backUp(killed, backup);
  const opened = open(killed);
  expect(await opened.table.get({ pk: 'a', sk: 'a' })).toBeDefined();
  await opened.close();
});

test('a backup is refused of a directory whose log was damaged after a kill, before anything is changed or made', async () => {
  const { place, folder, directory, backup } = await world();
  const killed = join(place, 'killed');
  mkdirSync(killed);
  for (const name of ['workspace.db', 'workspace.db-wal', 'workspace.db-shm', 'workspace.db-open', 'version.json']) {
    writeFileSync(join(killed, name), readFileSync(join(folder, name)));
  }
  await directory.close();
  const log = readFileSync(join(killed, 'workspace.db-wal'));
  writeFileSync(join(killed, 'workspace.db-wal'), log.subarray(0, log.length / 2));
  const contents = () => readdirSync(killed).map((name) => [name, readFileSync(join(killed, name))]);
  const before = contents();
  await expect(backUp(killed, backup)).rejects.toThrow(/^The last commits of .*workspace\.db are lost: .* is damaged/);
  expect(contents()).toEqual(before);
  expect(readdirSync(place).toSorted()).toEqual(['home', 'killed']);
});

test('a backup is made while events come in, and has those that came before it', async () => {
  const { folder, directory, backup } = await world();
  await directory.close();
  const inbox = await folderInbox(join(folder, 'inbox'));
  const about = { projectId: 1, receivedAt: 1, path: '/e', query: {}, address: null, body: Buffer.from('{}') };
  await inbox.append({ ...about, id: 'first' });
  const over = new AbortController();
  const sender = (async () => {
    for (let n = 0; !over.signal.aborted; n += 1) await inbox.append({ ...about, id: `later ${n}` });
  })();
  await backUp(folder, backup);
  over.abort();
  await sender;
  await inbox.close();
  const copied = await folderInbox(join(backup, 'inbox'));
  const [segment] = await copied.segments();
  const { requests, damaged } = await copied.read(segment?.name ?? '');
  expect([requests[0]?.id, damaged]).toEqual(['first', 0]);
  await copied.close();
});
