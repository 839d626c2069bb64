import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { checkVault, openDataDirectory } from '../../../../infra/local/data/data-directory.ts';
import { claimDataDirectory, removeUnfinished } from '../../../../infra/local/data/data-stores.ts';
import {
  checkDataDirectory,
  findDataDirectory,
  upgradeDataDirectory,
} from '../../../../infra/local/data/data-version.ts';
import { VERSION } from '../../../../infra/local/version.ts';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import type { Compiler, CompileTurn } from '../../../../lib/exports/query/compiler.ts';
import { planOf } from '../../../../lib/exports/runs/plan.ts';
import { recordDeletion } from '../../../../lib/lake/import/person-deletions.ts';
import { folderInbox } from '../../../../lib/ports/inbox/folder.ts';
import { logTo } from '../../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../../lib/ports/settings.ts';
import { DATA_LAYOUT } from '../../../../lib/ports/table/data-layout.ts';
import { toJsonText } from '../../../../lib/ports/table/json-text.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { type LogLine, temporaryFolder } from '../../../support/context.ts';
import { watchFileCalls } from '../../../support/file-calls.ts';
import { asOrdinaryUser } from '../../../support/ordinary-user.ts';

const silent = logTo(() => {}, Date.now);
const open = (folder: string) => openDataDirectory(folder, LOCAL_SETTINGS, silent);
const versionIn = (folder: string) => JSON.parse(readFileSync(join(folder, 'version.json'), 'utf8')) as object;
const at = (folder: string, name: string): string => join(folder, name);

/** A data directory with an item in it, closed. */
async function used(): Promise<string> {
  const folder = temporaryFolder();
  const directory = open(folder);
  await directory.table.write([{ put: { pk: 'a', sk: 'a' } }]);
  await directory.close();
  return folder;
}

/** Rows that fill many pages. */
const NUMBERS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n';

/** Takes from a closed directory what 0.1.0 did not make. */
function leaveAsOfFirstRelease(folder: string): void {
  const database = new DatabaseSync(at(folder, 'workspace.db'));
  database.exec('DROP TABLE data_directory');
  database.close();
  rmSync(at(folder, 'version.json'));
}

test('deletions of persons that were recorded are done by a worker beside the directory', async () => {
  const directory = open(temporaryFolder());
  const { table, personDeletions } = directory;
  await table.write([{ put: { ...keys.project(7), id: 7, deleted_at: null } }]);
  await recordDeletion(directory, {
    projectId: 7,
    persons: [{ distinctId: 'ada', person: { id: 'p', version: 1 }, withEvents: true }],
  });
  expect(await personDeletions?.walk(7)).toBe(true);
  expect(await listAll(table, ranges.personDeletions(7))).toEqual([]);
  expect(await personDeletions?.walk(7)).toBe(false);
  await directory.close();
});

describe('a database that is not the one that was there', () => {
  test.each<[string, (file: string) => void]>([
    ['removed', (file) => rmSync(file)],
    ['emptied', (file) => truncateSync(file)],
  ])('is noticed when it was %s, and nothing is made in its place', async (_how, lose) => {
    const folder = await used();
    lose(at(folder, 'workspace.db'));
    const before = readdirSync(folder);
    expect(() => open(folder)).toThrow(/workspace\.db is not the database .* restore a backup/);
    expect(readdirSync(folder)).toEqual(before);
  });

  test('is noticed when it is another one, or none', async () => {
    const [folder, other] = [await used(), await used()];
    writeFileSync(at(folder, 'workspace.db'), readFileSync(at(other, 'workspace.db')));
    expect(() => open(folder)).toThrow(/is not the database/);
    writeFileSync(at(folder, 'workspace.db'), 'x'.repeat(5000));
    expect(() => open(folder)).toThrow(/workspace\.db cannot be read \(.*not a database\)\. Restore a backup\./);
  });

  test('is noticed where an earlier program has welcomed somebody, and named no database', () => {
    const folder = temporaryFolder();
    writeFileSync(at(folder, 'welcomed'), '');
    expect(() => open(folder)).toThrow(/is not the database/);
  });

  test('is noticed when its last commits were taken away, until somebody says that they may be lost', async () => {
    const folder = temporaryFolder();
    const killed = open(folder);
    await killed.table.write([{ put: { pk: 'a', sk: 'a' } }]);
    // As a kill leaves it: the database, its log and the mark.
    const left = temporaryFolder();
    for (const name of ['workspace.db', 'workspace.db-wal', 'workspace.db-open', 'version.json']) {
      writeFileSync(at(left, name), readFileSync(at(folder, name)));
    }
    await killed.close();
    expect(existsSync(at(folder, 'workspace.db-open'))).toBe(false);
    const [log, whole] = [readFileSync(at(left, 'workspace.db-wal')), readFileSync(at(left, 'workspace.db-wal'))];
    rmSync(at(left, 'workspace.db-wal'));
    expect(() => open(left)).toThrow(/The last commits of .*workspace\.db are lost: .*remove .*workspace\.db-open\.$/);
    writeFileSync(at(left, 'workspace.db-wal'), log.fill('Z', 5000, 5001));
    const before = readdirSync(left);
    for (const begin of [open, findDataDirectory]) {
      expect(() => begin(left)).toThrow(
        /The last commits of .* lost: .*workspace\.db-wal, which holds them, is damaged from byte 4152 on\. Put it back/,
      );
    }
    expect(readdirSync(left)).toEqual(before);
    writeFileSync(at(left, 'workspace.db-wal'), whole);
    const directory = open(left);
    expect(await directory.table.get({ pk: 'a', sk: 'a' })).toBeDefined();
    await directory.close();
    await open(left).close();
  });
});

test('a mark of before, which came with the opening, is none of a log without a commit', async () => {
  const [folder, killed] = [await used(), temporaryFolder()];
  const service = open(folder);
  for (const name of ['workspace.db', 'workspace.db-wal', 'version.json']) {
    copyFileSync(at(folder, name), at(killed, name));
  }
  await service.close();
  writeFileSync(at(killed, 'workspace.db-open'), '');
  await open(killed).close();
  expect(existsSync(at(killed, 'workspace.db-open'))).toBe(false);
});

test('a database is marked from its first commit on, so that one whose process was killed before opens again', async () => {
  const [folder, killed] = [await used(), temporaryFolder()];
  const service = open(folder);
  expect(existsSync(at(folder, 'workspace.db-open'))).toBe(false);
  for (const name of ['workspace.db', 'workspace.db-wal', 'version.json']) {
    copyFileSync(at(folder, name), at(killed, name));
  }
  expect(statSync(at(killed, 'workspace.db-wal')).size).toBe(0);
  await open(killed).close();
  await service.table.write([{ put: { pk: 'a', sk: 'b' } }]);
  expect(existsSync(at(folder, 'workspace.db-open'))).toBe(true);
  await service.close();
  expect(existsSync(at(folder, 'workspace.db-open'))).toBe(false);
});

describe('the version', () => {
  test('is written by the first start: the layout that stages on AWS have, too', async () => {
    const folder = await used();
    expect(versionIn(folder)).toEqual({ version: 3, database: expect.any(String), program: VERSION });
    expect(DATA_LAYOUT).toBe(3);
  });

  test('of a newer program is refused in a sentence, and nothing is changed', async () => {
    const folder = await used();
    const newer = JSON.stringify({ ...versionIn(folder), version: 7 });
    writeFileSync(at(folder, 'version.json'), newer);
    expect(() => open(folder)).toThrow(
      /was last used by a newer version of this program: it has layout 7, .* up to 3\./,
    );
    expect(readFileSync(at(folder, 'version.json'), 'utf8')).toBe(newer);
    writeFileSync(at(folder, 'version.json'), newer.replace(`"program":"${VERSION}"`, '"program":"9.8.7"'));
    expect(() => open(folder)).toThrow('it has layout 7, of version 9.8.7, and this version knows layouts up to 3.');
  });

  test('that is raised is told in the log, once, and of a first start nothing is', async () => {
    const folder = temporaryFolder();
    const lines: LogLine[] = [];
    const told = (): Promise<void> =>
      openDataDirectory(
        folder,
        LOCAL_SETTINGS,
        logTo((line) => lines.push(line), Date.now),
      ).close();
    await told();
    expect(lines).toEqual([]);
    // As versions wrote it that did not say which they are.
    const { program: _, ...version } = versionIn(folder) as Record<string, unknown>;
    writeFileSync(at(folder, 'version.json'), JSON.stringify({ ...version, version: 1 }));
    await told();
    await told();
    const message = 'brought the data directory from layout 1 to 3: earlier versions refuse it now';
    expect(lines).toMatchObject([{ level: 'INFO', message }]);
    expect(versionIn(folder)).toEqual({ ...version, version: 3, program: VERSION });
  });

  test('of 0.1.0, which had none, is refused in a sentence, and nothing is changed', async () => {
    const folder = await used();
    leaveAsOfFirstRelease(folder);
    const before = readFileSync(at(folder, 'workspace.db'));
    const files = readdirSync(folder);
    const why =
      `${folder} is of version 0.1.0, which this version cannot go on with: start anew in an empty folder, and import its ` +
      'events again (docs/operate-one-machine.md, "Upgrade").';
    for (const begin of [open, findDataDirectory]) expect(() => begin(folder)).toThrow(why);
    expect(readFileSync(at(folder, 'workspace.db'))).toEqual(before);
    expect(readdirSync(folder)).toEqual(files);
  });

  test('is made anew where the first start was killed as it made the database', async () => {
    const [folder, killed] = [temporaryFolder(), temporaryFolder()];
    const database = new DatabaseSync(at(folder, 'workspace.db'));
    database.exec(
      'PRAGMA journal_mode = DELETE; CREATE TABLE begun (a); PRAGMA cache_spill = 1; PRAGMA cache_size = 1; BEGIN',
    );
    database.exec(`INSERT INTO begun ${NUMBERS}`);
    // As a kill leaves it: the half that was written, and the journal that takes it back.
    for (const name of ['workspace.db', 'workspace.db-journal']) copyFileSync(at(folder, name), at(killed, name));
    database.close();
    await open(killed).close();
    expect(versionIn(killed)).toMatchObject({ version: 3 });
  });

  test('that is lost with the last commits of a service that was killed hides neither', async () => {
    const [folder, killed] = [await used(), temporaryFolder()];
    const service = open(folder);
    await service.table.write([{ put: { pk: 'a', sk: 'b' } }]);
    for (const name of ['workspace.db', 'workspace.db-open']) copyFileSync(at(folder, name), at(killed, name));
    await service.close();
    for (let n = 0; n < 2; n += 1) expect(() => open(killed)).toThrow('The last commits of');
  });

  test('is made anew where it was lost, and where the first start was killed before it was there', async () => {
    const folder = await used();
    rmSync(at(folder, 'version.json'));
    await open(folder).close();
    expect(versionIn(folder)).toMatchObject({ version: 3 });
    const begun = temporaryFolder();
    await open(begun).close();
    leaveAsOfFirstRelease(begun);
    await open(begun).close();
    expect(versionIn(begun)).toMatchObject({ version: 3 });
  });

  test('of an older one is brought up to date, and goes on where it was killed', async () => {
    const folder = await used();
    const done: string[] = [];
    let kills = 1;
    const steps = [
      () => done.push('never again'),
      () => done.push('nor this'),
      () => done.push('nor that'),
      () => done.push('second'),
      () => {
        if (kills-- > 0) throw new Error('killed');
        done.push('third');
      },
    ];
    const options = { alone: (work: () => void): void => work(), log: silent, upgrades: steps };
    checkDataDirectory(folder, steps);
    expect(() => upgradeDataDirectory(folder, options)).toThrow('killed');
    expect(versionIn(folder)).toMatchObject({ version: 4 });
    upgradeDataDirectory(folder, options);
    expect(done).toEqual(['second', 'third']);
    expect(versionIn(folder)).toMatchObject({ version: 5 });
    expect(() => open(folder)).toThrow('newer version');
  });

  test('of an older one that a service is using waits for that service to end', async () => {
    const folder = await used();
    rmSync(at(folder, 'version.json'));
    const claim = claimDataDirectory(folder);
    expect(() => open(folder)).toThrow(/^Another service is running on /);
    claim.release();
    await open(folder).close();
    expect(versionIn(folder)).toMatchObject({ version: 3 });
  });

  test('of one from before events came live lets its projects be found by their tokens, but for deleted ones', async () => {
    const folder = await used();
    const old = open(folder);
    const project = (id: number, deleted_at: number | null) => ({
      put: { ...keys.project(id), id, api_token: `phc_${id}`, deleted_at },
    });
    await old.table.write([project(1, null), project(2, 5), project(3, null)]);
    await old.table.write([{ put: { ...keys.projectToken('phc_3'), project_id: 3 } }]);
    await old.close();
    writeFileSync(at(folder, 'version.json'), JSON.stringify({ ...versionIn(folder), version: 1 }));
    const directory = open(folder);
    const tokens = [1, 2, 3].map((id) => keys.projectToken(`phc_${id}`));
    const found = await directory.table.many(tokens);
    expect(found.map((item) => item?.project_id)).toEqual([1, undefined, 3]);
    await directory.close();
  });
});

test('plans that 0.1.0 made, and a version between took over with their names, keep what they have run, what is claimed and who runs', async () => {
  const folder = await used();
  const old = open(folder);
  const hour = { from: 0, to: HOUR_MS };
  const plan = keys.plan('e');
  await old.table.write([
    {
      put: {
        ...plan,
        version: 3,
        next: HOUR_MS,
        skipped: toJsonText([]),
        ran: toJsonText([{ ...hour, interval: 'hour' }]) as never,
        claimed: toJsonText([{ ...hour, backfill: 'b', grids: [{ ...hour, interval: 'every 5 minutes' }] }]) as never,
        active: toJsonText([{ ...hour, holder: 'x', by: 'b', chunk: 0, since: 0, version: 3 }]) as never,
      },
    },
  ]);
  await old.close();
  writeFileSync(at(folder, 'version.json'), JSON.stringify({ ...versionIn(folder), version: 2 }));
  const directory = open(folder);
  const item = await directory.table.get(plan);
  await directory.close();
  expect(item && planOf(item)).toEqual({
    version: 3,
    next: HOUR_MS,
    skipped: [],
    ran: [{ ...hour, frequency: 'hour' }],
    claimed: [{ ...hour, backfill: 'b', grids: [{ ...hour, frequency: 'every 5 minutes' }] }],
    active: [{ ...hour, execution: 'x', by: 'b', batch: 0, since: 0, version: 3 }],
  });
});

describe('a data directory that cannot be one', () => {
  test.each([
    ['opened', open],
    ['claimed', claimDataDirectory],
  ])('is refused in a sentence when it is %s', (_how, begin) => {
    const file = at(temporaryFolder(), 'file');
    writeFileSync(file, '');
    for (const folder of [file, at(file, 'below')]) {
      expect(() => begin(folder)).toThrow(
        `${folder} cannot be a folder: a file is in the way. Choose another one with WORKSPACE_HOME.`,
      );
    }
  });

  test.each([
    ['opened', open],
    ['claimed', claimDataDirectory],
  ])('is refused in a sentence when it leads nowhere and is %s', (_how, begin) => {
    const folder = at(temporaryFolder(), 'link');
    symlinkSync(at(temporaryFolder(), 'unmounted/disk'), folder);
    expect(() => begin(folder)).toThrow(
      `${folder} cannot be made: its disk is read-only, or a link leads nowhere. Choose another one with WORKSPACE_HOME.`,
    );
  });

  test.each([
    ['opened', open],
    ['claimed', claimDataDirectory],
  ])('since it is full of other things is neither closed to others nor written to when it is %s', (_how, begin) => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    writeFileSync(at(folder, 'passwd'), '');
    expect(() => begin(folder)).toThrow(
      `${folder} holds other things, such as passwd. Choose a folder of its own for the service with WORKSPACE_HOME.`,
    );
    expect(readdirSync(folder)).toEqual(['passwd']);
    expect((statSync(folder).mode & 0o777).toString(8)).toBe('755');
  });

  test.each([
    ['opened', open],
    ['claimed', claimDataDirectory],
  ])('since its user may not read and write it is refused in a sentence when it is %s', async (_how, begin) => {
    const place = temporaryFolder();
    await asOrdinaryUser(place, () => {
      chmodSync(place, 0o500);
      const below = at(place, 'below');
      const why = 'may not be made, or read and written, by the user of this process';
      expect(() => begin(below)).toThrow(`${below} ${why}. Choose another one with WORKSPACE_HOME.`);
      chmodSync(place, 0o000);
      expect(() => begin(place)).toThrow(`${place} ${why}. Choose another one with WORKSPACE_HOME.`);
      chmodSync(place, 0o700);
    });
  });

  test('but for what every new disk holds', async () => {
    const folder = temporaryFolder();
    mkdirSync(at(folder, 'lost+found'));
    await open(folder).close();
    expect(readdirSync(folder)).toContain('workspace.db');
  });
});

describe('a data directory of another user', () => {
  /** Whoever has the files; whom the process runs as is what the tests say. */
  const owner = process.getuid?.() ?? 0;
  const asAnother = (): void => void jest.spyOn(process, 'geteuid').mockReturnValue(owner + 1);

  afterEach(() => jest.restoreAllMocks());

  test.each([
    ['opened', open],
    ['claimed', claimDataDirectory],
    ['looked for', findDataDirectory],
  ])(
    'is refused before anything of it is touched when it is %s, and the sentence names the user',
    async (_how, begin) => {
      const folder = await used();
      const before = readdirSync(folder);
      asAnother();
      expect(() => begin(folder)).toThrow(`${folder} belongs to user ${owner}, and this is user ${owner + 1}: `);
      expect(() => begin(folder)).toThrow(`sudo -u $(id -nu ${owner}) WORKSPACE_HOME=${folder}`);
      expect(readdirSync(folder)).toEqual(before);
    },
  );

  test('is refused when it is empty, too: a service of its user could not open what is made there', () => {
    const folder = temporaryFolder();
    asAnother();
    expect(() => open(folder)).toThrow(`${folder} belongs to user ${owner}`);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that left its mark when it was killed is opened by the user who has the rest', async () => {
    const [folder, killed] = [await used(), temporaryFolder()];
    const service = open(folder);
    await service.table.write([{ put: { pk: 'a', sk: 'b' } }]);
    for (const name of readdirSync(folder).filter((name) => /^(workspace|version)\./.test(name))) {
      copyFileSync(at(folder, name), at(killed, name));
    }
    await service.close();
    chmodSync(at(killed, 'workspace.db-open'), 0o400);
    await asOrdinaryUser(killed, async () => {
      const directory = open(killed);
      expect(await directory.table.get({ pk: 'a', sk: 'b' })).toBeDefined();
      await directory.close();
    });
    expect(existsSync(at(killed, 'workspace.db-open'))).toBe(false);
  });
});

describe('the key of stored credentials', () => {
  const here = { organization: 'o', batchExport: 'e' };
  const gone = 'The key that the stored credentials were sealed with is gone: put vault.key back from a backup.';
  const another = gone.replace('gone', 'another one');

  /** A directory in which something was sealed. */
  async function sealed() {
    const folder = temporaryFolder();
    const directory = open(folder);
    const text = await directory.vault.seal('secret', here);
    await directory.close();
    return { folder, text, key: readFileSync(at(folder, 'vault.key')) };
  }

  test.each([
    ['gone', gone, (folder: string) => rmSync(at(folder, 'vault.key'))],
    ['damaged', gone.replace('gone', 'damaged'), (folder: string) => truncateSync(at(folder, 'vault.key'))],
    [
      'another one',
      another,
      (folder: string) =>
        writeFileSync(at(folder, 'vault.key'), `vault key v1\n${Buffer.alloc(32).toString('base64url')}\n`),
    ],
  ])('that is %s is noticed: nothing starts, is sealed or gets a new key until it is back', async (_, why, lose) => {
    const { folder, text, key } = await sealed();
    lose(folder);
    const left = readdirSync(folder);
    const directory = open(folder);
    await expect(checkVault(folder)).rejects.toThrow(why);
    await expect(directory.vault.seal('other', here)).rejects.toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining(why) },
    });
    expect(await directory.vaultProblems()).toEqual([{ path: 'vault.key', problem: expect.stringContaining(why) }]);
    expect(readdirSync(folder).filter((name) => name.startsWith('vault'))).toEqual(
      left.filter((name) => name.startsWith('vault')),
    );
    writeFileSync(at(folder, 'vault.key'), key);
    await checkVault(folder);
    expect(await directory.vault.open(text, here)).toBe('secret');
    expect(await directory.vaultProblems()).toEqual([]);
    await directory.close();
  });

  test('that is lost for good is given up by removing what notes it', async () => {
    const { folder } = await sealed();
    rmSync(at(folder, 'vault.key'));
    rmSync(at(folder, 'vault.fingerprint'));
    await checkVault(folder);
    const directory = open(folder);
    const text = await directory.vault.seal('again', here);
    expect(await directory.vault.open(text, here)).toBe('again');
    await directory.close();
  });

  test('from before keys were noted is noted at the next start, or when something is sealed', async () => {
    const [started, used] = [await sealed(), await sealed()];
    for (const { folder } of [started, used]) rmSync(at(folder, 'vault.fingerprint'));
    await checkVault(started.folder);
    const directory = open(used.folder);
    await directory.vault.seal('other', here);
    await directory.close();
    for (const { folder } of [started, used]) {
      rmSync(at(folder, 'vault.key'));
      await expect(checkVault(folder)).rejects.toThrow(gone);
    }
  });
});

test('a lock that is damaged is not taken for another service', () => {
  const folder = temporaryFolder();
  writeFileSync(at(folder, 'service.lock'), 'x'.repeat(5000));
  expect(() => claimDataDirectory(folder)).toThrow(
    /service\.lock cannot be read .*if no service runs on .*, remove it\.$/,
  );
  rmSync(at(folder, 'service.lock'));
  const claim = claimDataDirectory(folder);
  expect(() => claimDataDirectory(folder)).toThrow(/^Another service is running on /);
  claim.release();
});

test('what killed processes left unfinished is removed at the start', async () => {
  const folder = temporaryFolder();
  const left = [
    'temporary/half.parquet',
    ...['lake', 'runs'].map((name) => `${name}/.unfinished/4194305@${hostname()}.a`),
  ];
  for (const path of left) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), '');
  }
  await removeUnfinished(folder);
  expect(left.filter((path) => existsSync(join(folder, path)))).toEqual([]);
});

test('what a worker of a service that was killed still writes, as it ends, is in the way of no start', async () => {
  const folder = temporaryFolder();
  const program = `
    const { mkdirSync, writeFileSync } = require('node:fs');
    const folder = ${JSON.stringify(at(folder, 'temporary'))};
    for (let n = 0; n < 30_000; n++) {
      mkdirSync(folder, { recursive: true });
      try { writeFileSync(folder + '/' + n, ''); } catch {}
      if (n === 2_000) console.log('writes');
    }`;
  const worker = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(worker, 'exit');
  await once(worker.stdout, 'data');
  await expect(removeUnfinished(folder)).resolves.toBeUndefined();
  await ended;
});

test('what is damaged in the inbox is named, also when it was set aside', async () => {
  const folder = await used();
  const inbox = await folderInbox(join(folder, 'inbox'));
  const about = { id: 'a', projectId: 1, receivedAt: 1, path: '/e', query: {}, address: null, body: Buffer.from('{}') };
  await inbox.append(about);
  await inbox.segments();
  await inbox.append(about);
  await inbox.close();
  const directory = open(folder);
  expect(await directory.inboxProblems()).toEqual([]);
  const [first = '', second = ''] = (await inbox.segments()).map(({ name }) => at(folder, `inbox/${name}`));
  for (const file of [first, second]) {
    const bytes = readFileSync(file);
    bytes[20] = (bytes[20] as number) ^ 1;
    writeFileSync(file, bytes);
  }
  await inbox.setAside(basename(second));
  const problem = expect.stringMatching(/^\d+ bytes of events that were acknowledged are damaged$/);
  expect(await directory.inboxProblems()).toEqual([
    { path: `inbox/${basename(first)}`, problem },
    { path: `inbox/damaged/${basename(second)}`, problem },
  ]);
  await directory.close();
});

test('a file of the inbox that the disk does not give is named', async () => {
  const folder = await used();
  const directory = open(folder);
  mkdirSync(join(folder, 'inbox'), { recursive: true });
  const file = join(folder, 'inbox/0000000000000001.inbox');
  writeFileSync(file, '');
  const watched = await watchFileCalls((name, paths) => {
    if (name === 'readFile' && paths[0] === file) throw Object.assign(new Error('EIO: read'), { code: 'EIO' });
  });
  const problem = { path: 'inbox/0000000000000001.inbox', problem: 'the disk cannot read it' };
  expect(await directory.inboxProblems().finally(watched.stop)).toEqual([problem]);
  await directory.close();
});

test.each(['inbox', 'inbox/damaged'])('%s that cannot be listed is not called sound', async (name) => {
  const folder = await used();
  const directory = open(folder);
  rmSync(join(folder, name), { recursive: true, force: true });
  expect(await directory.inboxProblems()).toEqual([]);
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), '');
  await expect(directory.inboxProblems()).rejects.toThrow('ENOTDIR');
  await directory.close();
});

test('a process that is killed while it closes the database leaves nothing that looks like a loss', async () => {
  const folder = temporaryFolder();
  const directory = open(folder);
  await directory.table.write([{ put: { pk: 'a', sk: 'a' } }]);
  const killed = jest.spyOn(DatabaseSync.prototype, 'close').mockImplementationOnce(function (this: DatabaseSync) {
    killed.mockRestore();
    this.close();
    throw new Error('killed');
  });
  await expect(directory.close()).rejects.toThrow('killed');
  const next = open(folder);
  expect(await next.table.get({ pk: 'a', sk: 'a' })).toBeDefined();
  await next.close();
});

describe('slow queries', () => {
  const slow = `SELECT ${Array.from({ length: 1_000 }, (_, n) => `event AS a${n}`).join(', ')} FROM events`;
  const hogql_query = 'SELECT event FROM events';

  /** Returns how many slow queries have ended, of those who wait for one each, by the time that another one has. */
  async function endedBefore(waiting: CompileTurn[], other: (compiler: Compiler) => Promise<unknown>): Promise<number> {
    const directory = open(temporaryFolder());
    const { compiler } = directory;
    const leaving = new AbortController();
    let ended = 0;
    const tried = waiting.map((turn) =>
      compiler.fields({ hogql_query: slow }, { ...turn, signal: leaving.signal }).finally(() => (ended += 1)),
    );
    try {
      await other(compiler);
      return ended;
    } finally {
      leaving.abort();
      await Promise.allSettled(tried);
      await directory.close();
    }
  }

  test('of a user in many organizations do not hold up those of others', async () => {
    const many = Array.from({ length: 9 }, (_, n) => ({ organization: `o${n}`, user: 'busy' }));
    const ended = await endedBefore(many, (compiler) =>
      compiler.fields({ hogql_query }, { organization: 'other', user: 'other' }),
    );
    // Two run at a time: behind all of them it would begin when eight have ended.
    expect(ended).toBeLessThan(8);
  });

  test('of the users of an organization do not hold up its deliveries', async () => {
    const many = Array.from({ length: 4 }, (_, n) => ({ organization: 'o', user: `u${n}` }));
    const ended = await endedBefore(many, async (compiler) => {
      const stored = { hogql_query, schema: null, filters: null };
      // In one line with them the first would have its turn behind one of them, and the second behind all others.
      for (let n = 0; n < 2; n += 1) await compiler.selection(stored, { organization: 'o', isDelivery: true });
    });
    expect(ended).toBeLessThan(4);
  });
});
