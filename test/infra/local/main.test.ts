import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { temporaryFolder } from '../../support/context.ts';
import { type LocalService, run, startLocally } from '../../support/local-service.ts';

const running: LocalService[] = [];

async function start(folder: string): Promise<LocalService> {
  const service = await startLocally(folder);
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

test('the first start shows an address, a key and a curl that works, and later starts do not', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  const { key, curl } = await service.line('first start');
  expect(curl).toBe(`curl -H 'Authorization: Bearer ${String(key)}' ${service.address}/api/organizations/`);
  const answer = await call(service.address, String(key), '/api/organizations/');
  expect(answer.status).toBe(200);
  const { results } = (await answer.json()) as { results: { member_count: string; projects: unknown[] }[] };
  expect(results).toEqual([expect.objectContaining({ member_count: '2', projects: [expect.anything()] })]);
  expect(await service.end('SIGTERM')).toBe(0);

  const again = await start(folder);
  expect((await call(again.address, String(key), '/api/organizations/')).status).toBe(200);
  expect(again.lines.some(({ message }) => message.startsWith('first start'))).toBe(false);
  expect(
    readdirSync(folder).flatMap((name) =>
      name.endsWith('.db') ? readFileSync(join(folder, name)).includes(String(key)) : [],
    ),
  ).toEqual([false]);
});

test('a second service on the same data directory is refused, and one on a port that is taken', async () => {
  const folder = temporaryFolder();
  const service = await start(folder);
  const second = await run('infra/local/main.ts', [], { WORKSPACE_HOME: folder, PORT: '0' });
  expect(second.code).toBe(1);
  expect(second.errors).toMatch(/^Another service is running on .*WORKSPACE_HOME\.\n$/);

  const { port } = new URL(service.address);
  const taken = await run('infra/local/main.ts', [], { WORKSPACE_HOME: temporaryFolder(), PORT: port });
  expect(taken.errors).toMatch(/^Port \d+ is taken\./);
  const bad = await run('infra/local/main.ts', [], { WORKSPACE_HOME: temporaryFolder(), PORT: 'http' });
  expect(bad.errors).toBe('PORT must be a number from 0 to 65535, not "http".\n');
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

test('a backfill that is killed again and again delivers every event once, in the file of its hour', async () => {
  const folder = temporaryFolder();
  const goal = temporaryFolder();
  const service = await start(folder);
  const { key: shown, project_id: number } = await service.line('first start');
  const [key, project] = [String(shown), String(number)];
  const report = await admin(folder, 'import', accessLog(goal), '--project', project);
  expect(report).toMatchObject({ events: 2_400, added: 2_400, bad: 0 });

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
  const { pathname } = new URL(backfill.headers.get('location') ?? '');

  let current = service;
  for (const wait of [50, 150, 300]) {
    await pause(wait);
    await current.end('SIGKILL');
    current = await start(folder);
  }
  let status = '';
  while (status !== 'Completed') {
    await pause(100);
    status = ((await (await call(current.address, key, pathname)).json()) as { status: string }).status;
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
});
