import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { jobOps } from '../../../lib/jobs/job.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { temporaryFolder } from '../../support/context.ts';
import { type LocalService, run, startLocally } from '../../support/local-service.ts';

const ROOT = join(import.meta.dirname, '../../..');

const running: LocalService[] = [];

async function start(folder: string, program?: string, variables?: Record<string, string>): Promise<LocalService> {
  const service = await startLocally(folder, program, variables);
  running.push(service);
  return service;
}

afterEach(() => {
  for (const service of running.splice(0)) service.process.kill('SIGKILL');
});

const admin = async (folder: string, ...words: string[]) => {
  const { code, out, errors } = await run('infra/local/admin.ts', [...words, '--json'], { WORKSPACE_HOME: folder });
  if (code !== 0) throw new Error(errors);
  return JSON.parse(out);
};

const call = async (address: string, key: string, path: string, init: RequestInit = {}) =>
  fetch(`${address}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  });

/** 24 requests an hour for 100 hours, from 2015-05-17. */
function accessLog(folder: string): string {
  const file = join(folder, 'access.log');
  const lines = Array.from({ length: 2_400 }, (_, n) => {
    const at = new Date(Date.UTC(2015, 4, 17) + n * 150_000);
    const [, day = '', , year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? [];
    return `10.0.0.${n % 250} - - [${day}/May/${year}:${time} +0000] "GET /page/${n} HTTP/1.1" 200 ${n} "-" "browser"`;
  });
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

test('the first start leaves a key in a file of its reader alone, which works, and later starts do not', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  const { key, keyFile } = await service.welcome();
  expect(keyFile).toBe(join(folder, 'first-key'));
  expect((statSync(keyFile).mode & 0o777).toString(8)).toBe('600');
  expect(JSON.stringify(service.lines)).not.toContain(key);
  const { out } = await run('infra/local/admin.ts', ['--version'], { WORKSPACE_HOME: folder });
  expect(await service.line('listening')).toMatchObject({ version: out.trim() });
  const answer = await call(service.address, key, '/api/organizations/');
  expect(answer.status).toBe(200);
  const { results } = (await answer.json()) as { results: { member_count: string; projects: unknown[] }[] };
  expect(results).toEqual([expect.objectContaining({ member_count: '2', projects: [expect.anything()] })]);
  expect(await service.end('SIGTERM')).toBe(0);

  const again = await start(folder);
  expect((await call(again.address, key, '/api/organizations/')).status).toBe(200);
  expect(again.lines.some(({ message }) => message.startsWith('first start'))).toBe(false);
  expect(
    readdirSync(folder).flatMap((name) => (name.endsWith('.db') ? readFileSync(join(folder, name)).includes(key) : [])),
  ).toEqual([false]);
});

test('the first start names the address by which people know the service', async () => {
  const service = await start(temporaryFolder(), undefined, { PUBLIC_URL: 'https://analytics.example.com' });
  expect(await service.line('first start')).toMatchObject({ address: 'https://analytics.example.com' });
});

test('a command on a data directory that is not there says so, and makes none', async () => {
  const folder = join(temporaryFolder(), 'none');
  for (const words of [
    ['status'],
    ['doctor'],
    ['user', 'list'],
    ['key', 'create', '--email', 'a', '--label', 'b', '--scopes', '*'],
  ]) {
    expect(await run('infra/local/admin.ts', words, { WORKSPACE_HOME: folder })).toMatchObject({
      code: 1,
      errors: `error: There is no data directory at ${folder}: say with WORKSPACE_HOME where it is.\n`,
    });
  }
  expect(existsSync(folder)).toBe(false);
  expect(await admin(folder, 'user', 'create', '--email', 'ada@example.com')).toMatchObject({ id: 1 });
});

test('a database that is damaged behind its first page is told of by the file, and what to do', async () => {
  const folder = temporaryFolder();
  await admin(folder, 'user', 'create', '--email', 'ada@example.com');
  const file = join(folder, 'workspace.db');
  writeFileSync(file, readFileSync(file).fill(7, 4096, 3 * 4096));
  const said = `${file} cannot be read (database disk image is malformed). Restore a backup.`;
  for (const program of ['admin', 'main'] as const) {
    const words = program === 'admin' ? ['status'] : [];
    const { code, out, errors } = await run(`infra/local/${program}.ts`, words, { WORKSPACE_HOME: folder, PORT: '0' });
    expect(code).toBe(1);
    expect(out + errors).toContain(said);
  }
});

test.each([
  [
    'inbox',
    'a file',
    (path: string) => writeFileSync(path, ''),
    'cannot be a folder: a file is in the way. Move it away.',
  ],
  ['first-key', 'a folder', (path: string) => mkdirSync(path), 'is a directory'],
  ['service.lock', 'a folder', (path: string) => mkdirSync(path), 'is a folder. Move it away.'],
])('a start is refused in one sentence where %s is %s', async (name, _what, make, why) => {
  const folder = temporaryFolder();
  await admin(folder, 'user', 'create', '--email', 'ada@example.com');
  rmSync(join(folder, name), { force: true });
  make(join(folder, name));
  const { code, errors } = await run('infra/local/main.ts', [], { WORKSPACE_HOME: folder, PORT: '0' });
  expect(code).toBe(1);
  expect(errors.trim().split('\n')).toEqual([expect.stringContaining(why)]);
  expect(errors).toContain(join(folder, name));
});

test('who makes the first user is told which data directory was made for that, and no later one is', async () => {
  const folder = join(temporaryFolder(), 'typo');
  const create = (name: string) =>
    run('infra/local/admin.ts', ['user', 'create', '--email', `${name}@example.com`], { WORKSPACE_HOME: folder });
  expect(await create('ada')).toMatchObject({ code: 0, errors: `Made a new data directory: ${folder}\n` });
  expect(await create('bob')).toMatchObject({ code: 0, errors: '' });
});

test('a service whose jobs are off answers, and begins nothing that is due', async () => {
  const folder = temporaryFolder();
  const directory = openDataDirectory(
    folder,
    LOCAL_SETTINGS,
    logTo(() => {}, Date.now),
  );
  const due = jobOps('export', '00000000-0000-4000-8000-000000000000', 0);
  await directory.table.write(due);
  const jobs = () => directory.table.list(ranges.dueJobs(0), { limit: 10 });
  const before = await jobs();
  const service = await start(folder, ROOT, { JOBS: 'off' });
  expect(await service.line('jobs are off')).toMatchObject({ level: 'WARNING' });
  expect((await fetch(`${service.address}/_ready`)).status).toBe(200);
  await service.end('SIGKILL');
  expect(before.items).toHaveLength(1);
  expect(await jobs()).toEqual(before);
  await directory.close();
});

test('a second service on the same data directory is refused, and one on a port that is taken', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  const second = await run('infra/local/main.ts', [], { WORKSPACE_HOME: folder, PORT: '0' });
  expect(second.code).toBe(1);
  expect(second.errors).toMatch(/^Another service is running on .*WORKSPACE_HOME\.\n$/);
  expect(second.errors).toContain(` (process ${service.process.pid}). Stop it first`);

  const { port } = new URL(service.address);
  const taken = await run('infra/local/main.ts', [], { WORKSPACE_HOME: temporaryFolder(), PORT: port });
  expect(taken.errors).toMatch(/^Port \d+ is taken\./);
  const bad = await run('infra/local/main.ts', [], { WORKSPACE_HOME: temporaryFolder(), PORT: 'http' });
  expect(bad.errors).toBe('PORT must be a number from 0 to 65535, not "http".\n');
});

test('a service whose program was killed stops: it does not go on beside the next one', async () => {
  const service = await start(temporaryFolder());
  await service.welcome();
  const ended = once(service.process, 'exit');
  service.process.disconnect();
  expect(await ended).toEqual([0, null]);
  expect(await service.line('stopping')).toMatchObject({ level: 'INFO' });
});

test('a killed service gives its data directory back, and what the command line makes meanwhile is seen', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  await service.line('first start');
  await service.end('SIGKILL');
  const halfMade = join(folder, 'temporary', 'half.whole.parquet');
  mkdirSync(dirname(halfMade), { recursive: true });
  writeFileSync(halfMade, '');
  const next = await start(folder);
  expect(existsSync(halfMade)).toBe(false);

  const user = await admin(folder, 'user', 'create', '--email', 'ada@example.com', '--first-name', 'Ada');
  const organization = await admin(folder, 'organization', 'create', '--name', 'Engines', '--owner', 'ada@example.com');
  const owner = ['--email', 'ada@example.com'];
  const { value } = await admin(folder, 'key', 'create', ...owner, '--label', 'all', '--scopes', 'organization:read');
  const seen = await call(next.address, value, `/api/organizations/${organization.id}/`);
  expect(await seen.json()).toMatchObject({ name: 'Engines', membership_level: 15, slug: 'engines' });
  expect(user).toMatchObject({ first_name: 'Ada', email: 'ada@example.com' });
});

/** The sources of the service in a folder of their own, whose console was never built. */
function copyOfSources(): string {
  const copy = temporaryFolder();
  for (const name of ['functions', 'infra/build', 'infra/local', 'lib', 'package.json']) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

test('the console that a start has built is read by another user of the machine who runs the service next', async () => {
  const sources = copyOfSources();
  const before = process.umask(0o022);
  const service = await start(temporaryFolder(), sources).finally(() => process.umask(before));
  expect((await fetch(service.address)).status).toBe(200);
  const made = readdirSync(join(sources, 'build'), { recursive: true, encoding: 'utf8' });
  const modes = ['', ...made].map((name) => statSync(join(sources, 'build', name)).mode & 0o444);
  expect(new Set(modes)).toEqual(new Set([0o444]));
});

test('where the console cannot be built, the log and its page say who can build it, and how', async () => {
  const sources = copyOfSources();
  symlinkSync(join(sources, 'nowhere', 'build'), join(sources, 'build'));
  const service = await start(temporaryFolder(), sources);
  const how = 'npm run console in the folder of the program, as a user who may write there';
  expect((await service.line('the console could not be built')).message).toBe(
    `the console could not be built, and is as it was before, or none: run ${how}`,
  );
  expect(await (await fetch(service.address)).text()).toContain(`Run ${how}, and load this page again.`);
});

test('a log that nobody takes any more, as on a full disk or in a broken pipe, stops nothing', async () => {
  const service = await start(temporaryFolder());
  const { key } = await service.welcome();
  service.process.stdout?.destroy();
  for (let n = 0; n < 5; n += 1) {
    expect((await call(service.address, key, '/api/organizations/')).status).toBe(200);
  }
  expect(await service.end('SIGTERM')).toBe(0);
});

test('an import in another shell tells the command for the service of its data directory, at whatever port that is', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  const { project } = await service.welcome();
  const words = ['import', accessLog(temporaryFolder()), '--project', project];
  const { out } = await run('infra/local/admin.ts', words, { WORKSPACE_HOME: folder });
  expect(out).toContain(`curl -i -X POST ${service.address}/api/projects/${project}/batch_exports/`);
  expect(await service.end('SIGTERM')).toBe(0);
});

/** A service whose backfill of 100 hours has begun; `goal` is where the events go. */
async function backfilling(folder: string, goal: string) {
  const service = await start(folder);
  const { key, project } = await service.welcome();
  const report = await admin(folder, 'import', accessLog(goal), '--project', project);
  expect(report).toMatchObject({ events: 2_400, added: 2_400, rejected: 0 });

  const made = await call(service.address, key, `/api/projects/${project}/batch_exports/`, {
    method: 'POST',
    body: JSON.stringify({
      name: 'Hours',
      interval: 'hour',
      destination: { type: 'Folder', config: { path: join(goal, 'out'), compression: 'gzip' } },
    }),
  });
  const { id } = (await made.json()) as { id: string };
  const backfill = await call(service.address, key, `/api/projects/${project}/batch_exports/${id}/backfill/`, {
    method: 'POST',
    body: JSON.stringify({ start_at: '2015-05-17T00:00:00Z', end_at: '2015-05-22T00:00:00Z' }),
  });
  expect(backfill.status).toBe(200);
  expect(await backfill.text()).toBe('');
  return { service, key, pathname: new URL(backfill.headers.get('location') ?? '').pathname };
}

/** Waits until the backfill has ended; every event was delivered once then, in the file of its hour. */
async function expectDelivered({ address }: LocalService, key: string, pathname: string, goal: string): Promise<void> {
  let status = '';
  while (status !== 'Completed') {
    await pause(100);
    status = ((await (await call(address, key, pathname)).json()) as { status: string }).status;
    if (status === 'Failed') break;
  }
  expect(status).toBe('Completed');

  const files = readdirSync(join(goal, 'out')).filter((name) => !name.startsWith('.'));
  const events = files.flatMap((name) => {
    const rows = gunzipSync(readFileSync(join(goal, 'out', name)))
      .toString()
      .trim()
      .split('\n');
    return rows.map((row) => ({
      hour: name.slice(0, 13),
      ...(JSON.parse(row) as { uuid: string; timestamp: string }),
    }));
  });
  expect(files).toHaveLength(100);
  expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(2_400);
  expect(events).toHaveLength(2_400);
  expect(events.filter(({ hour, timestamp }) => !timestamp.startsWith(hour))).toEqual([]);
}

test('a backfill that is killed again and again delivers every event once, in the file of its hour', async () => {
  const folder = temporaryFolder();
  const goal = temporaryFolder();
  const { service, key, pathname } = await backfilling(folder, goal);
  let current = service;
  for (const wait of [50, 150, 300]) {
    await pause(wait);
    await current.end('SIGKILL');
    current = await start(folder);
  }
  await expectDelivered(current, key, pathname, goal);

  // What service and command line make is for their user alone.
  const allMade = [folder, join(goal, 'out')].flatMap((place) =>
    readdirSync(place, { recursive: true }).map((name) => join(place, String(name))),
  );
  expect(allMade.filter((path) => (statSync(path).mode & 0o077) !== 0)).toEqual([]);
});

/** All rows of the database of a data directory that is closed, and all of its other files. */
function everythingIn(folder: string) {
  const database = new DatabaseSync(join(folder, 'workspace.db'));
  const rows = database.prepare('SELECT * FROM item ORDER BY pk, sk').all();
  database.close();
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => statSync(join(folder, name)).isFile() && !/^(workspace\.db|backup\.json)/.test(name),
  );
  const files = names.toSorted().map((name) => [name, readFileSync(join(folder, name)).toString('hex')]);
  return { rows, files };
}

test('a backup that is made while exports run is restored with every file and row, and exports go on', async () => {
  const folder = temporaryFolder();
  const goal = temporaryFolder();
  const { service, key, pathname } = await backfilling(folder, goal);
  const backup = join(goal, 'backup');
  const restored = join(goal, 'restored');
  expect(await admin(folder, 'backup', backup)).toMatchObject({ files: expect.any(Number) });
  // The machine is lost; what it has delivered is not.
  await service.end('SIGKILL');
  rmSync(folder, { recursive: true });
  await admin(restored, 'restore', backup);

  const { rows: all, files } = everythingIn(restored);
  // It has one row more: that it was restored.
  const rows = all.filter(({ pk }) => pk !== 'RESTORED');
  expect({ rows, files }).toEqual(everythingIn(backup));
  expect(all).toHaveLength(rows.length + 1);
  const lake = rows.flatMap(({ value }) => {
    const { path } = JSON.parse(String(value)) as { path?: string };
    return path?.endsWith('.parquet') === true ? [`lake/${path}`] : [];
  });
  expect(lake.length).toBeGreaterThan(0);
  expect(files.map(([name]) => name)).toEqual(expect.arrayContaining(lake));

  await expectDelivered(await start(restored), key, pathname, goal);
});
