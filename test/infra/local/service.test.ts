/** The whole service in this process: what of it is left when it cannot start. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { databaseIn } from '../../../infra/local/data/data-folder.ts';
import { startService } from '../../../infra/local/service.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { temporaryFolder } from '../../support/context.ts';
import { until } from '../../support/engine-world.ts';

const log = logTo(() => {}, Date.now);

const starting = (folder: string) =>
  startService({
    folder,
    host: '127.0.0.1',
    port: 0,
    rateLimit: null,
    settings: LOCAL_SETTINGS,
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
