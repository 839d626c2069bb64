/** The whole service in this process: what of it is left when it cannot start. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { databaseIn } from '../../../infra/local/data/data-folder.ts';
import { serviceAddress } from '../../../infra/local/gateway/service-address.ts';
import { startService } from '../../../infra/local/service.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS, type Settings } from '../../../lib/ports/settings.ts';
import { temporaryFolder } from '../../support/context.ts';
import { until } from '../../support/engine-world.ts';

const log = logTo(() => {}, Date.now);

const starting = (folder: string, settings: Settings = LOCAL_SETTINGS) =>
  startService({
    folder,
    host: '127.0.0.1',
    port: 0,
    rateLimit: null,
    settings,
    proxies: 0,
    mailServer: null,
    hasMetrics: false,
    hasJobs: true,
    log,
  });

const servers = () => process.getActiveResourcesInfo().filter((name) => /^TCPSERVER/i.test(name)).length;

async function dataDirectory(): Promise<string> {
  const folder = join(temporaryFolder(), 'workspace');
  await openDataDirectory(folder, LOCAL_SETTINGS, log).close();
  return folder;
}

/** Has no definition of a machine written, or lets them be written again. */
function refuseDefinitions(folder: string, isRefused: boolean): void {
  const database = new DatabaseSync(databaseIn(folder));
  const refused = `CREATE TRIGGER refused BEFORE INSERT ON item WHEN new.pk = 'DEFINITIONS'
    BEGIN SELECT RAISE(ABORT, 'no definition'); END`;
  database.exec(isRefused ? refused : 'DROP TRIGGER refused');
  database.close();
}

test.each([
  [
    'an inbox that is no folder',
    (folder: string) => writeFileSync(join(folder, 'inbox'), ''),
    (folder: string) => rmSync(join(folder, 'inbox')),
    'EEXIST',
  ],
  [
    'executions that cannot go on',
    (folder: string) => refuseDefinitions(folder, true),
    (folder: string) => refuseDefinitions(folder, false),
    'no definition',
  ],
])(
  'a service that does not start for %s leaves nothing open, and starts once that is mended',
  async (_, damage, mend, why) => {
    const folder = await dataDirectory();
    const before = servers();
    damage(folder);
    await expect(starting(folder)).rejects.toThrow(why);
    // A server is gone in a later turn of the event loop than its close.
    await until(() => servers() === before);
    // It is there while somebody has the database open.
    expect(existsSync(`${databaseIn(folder)}-open`)).toBe(false);
    mend(folder);
    const service = await starting(folder);
    expect((await fetch(`${service.address}/_ready`)).status).toBe(200);
    await service.stop();
    expect(existsSync(`${databaseIn(folder)}-open`)).toBe(false);
  },
);

test('a service tells commands of other shells where it listens, also behind a proxy, and no longer than it runs', async () => {
  const folder = await dataDirectory();
  const asked = async () => (await serviceAddress(undefined, { WORKSPACE_HOME: folder, WORKSPACE_KEY: 'phx_1' })).url;
  const service = await starting(folder, { ...LOCAL_SETTINGS, publicUrl: 'https://analytics.example.com' });
  expect(await asked()).toBe(service.address);
  await service.stop();
  expect(await asked()).toBe('http://127.0.0.1:8010');
  refuseDefinitions(folder, true);
  await expect(starting(folder)).rejects.toThrow('no definition');
  expect(await asked()).toBe('http://127.0.0.1:8010');
});

test('a service that refuses a data directory removes nothing from it', async () => {
  const folder = await dataDirectory();
  writeFileSync(
    join(folder, 'version.json'),
    JSON.stringify({ ...JSON.parse(readFileSync(join(folder, 'version.json'), 'utf8')), version: 99 }),
  );
  const left = join(folder, 'temporary', 'left.parquet');
  mkdirSync(dirname(left), { recursive: true });
  writeFileSync(left, '');
  await expect(starting(folder)).rejects.toThrow('a newer version');
  expect(existsSync(left)).toBe(true);
});
