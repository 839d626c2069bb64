/** Events sent to the program itself, which dies again and again: what it acknowledged is in the lake, once. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { CaptureCounts } from '../../../lib/capture/counts.ts';
import { type LandingSegment, land } from '../../../lib/capture/land.ts';
import { Lander } from '../../../lib/capture/lander.ts';
import { lakeDatabases } from '../../../lib/lake/databases.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { inLake } from '../../support/capture.ts';
import { temporaryFolder } from '../../support/context.ts';
import { type LocalService, startLocally } from '../../support/local-service.ts';

const running: LocalService[] = [];

afterEach(() => {
  for (const service of running.splice(0)) service.process.kill('SIGKILL');
});

const start = async (folder: string): Promise<LocalService> => {
  const service = await startLocally(folder);
  running.push(service);
  return service;
};

/** Lands in this process what is left, and returns the uuids of all events. */
async function landedIn(folder: string, projectId: number): Promise<unknown[]> {
  const log = logTo(() => {}, Date.now);
  const directory = openDataDirectory(folder, LOCAL_SETTINGS, log);
  const databases = lakeDatabases(directory.lake);
  const inbox = await folderInbox(join(folder, 'inbox'));
  const lander = new Lander({
    inbox,
    log,
    clock: Date.now,
    metrics: directory.metrics,
    counts: new CaptureCounts(directory),
    land: (segments: readonly LandingSegment[]) => land({ ...directory, databases, inbox }, segments),
  });
  try {
    // The worker of the service that was killed lands for a moment still, and another one has to come again.
    while ((await inbox.segments()).length > 0) await lander.pass();
    return await inLake(directory, projectId, 'uuid::VARCHAR');
  } finally {
    databases.close();
    await inbox.close();
    await directory.close();
  }
}

/** Each is of three events, and comes again with the same bytes until it is taken. */
interface Batch {
  readonly uuids: readonly string[];
  readonly body: string;
}

const batchOf = (api_key: string): Batch => {
  const uuids = [randomUUID(), randomUUID(), randomUUID()];
  const batch = uuids.map((uuid) => ({ uuid, event: 'paid', distinct_id: 'ada', timestamp: new Date().toISOString() }));
  return { uuids, body: JSON.stringify({ api_key, batch, sent_at: new Date().toISOString() }) };
};

test('a service that is killed again and again loses no event that it acknowledged, and has none twice', async () => {
  const folder = temporaryFolder();
  let service = await start(folder);
  const { key, project } = await service.welcome();
  const headers = { Authorization: `Bearer ${key}` };
  const about = await fetch(`${service.address}/api/projects/${project}/`, { headers });
  const { api_token: token } = (await about.json()) as { api_token: string };

  const acknowledged: string[] = [];
  const left: Batch[] = [];
  for (const acknowledgements of [1, 7, 20]) {
    const { address } = service;
    const { promise: enough, resolve: isEnough } = Promise.withResolvers<void>();
    let answers = 0;
    const sender = async (): Promise<void> => {
      for (;;) {
        const batch = left.pop() ?? batchOf(token);
        const answer = await fetch(`${address}/batch/`, { method: 'POST', body: batch.body }).catch(() => undefined);
        if (answer?.status !== 200) {
          left.push(batch);
          return;
        }
        acknowledged.push(...batch.uuids);
        answers += 1;
        if (answers === acknowledgements) isEnough();
      }
    };
    const senders = [sender(), sender(), sender(), sender()];
    await enough;
    // The last time it dies when some have landed, and others are about to.
    if (acknowledgements === 20) await service.line('captured events landed');
    await service.end('SIGKILL');
    await Promise.all(senders);
    service = await start(folder);
  }
  // What was not acknowledged comes once more, as an SDK sends it: some of it was kept already.
  for (const { uuids, body } of left) {
    expect((await fetch(`${service.address}/batch/`, { method: 'POST', body })).status).toBe(200);
    acknowledged.push(...uuids);
  }
  await service.end('SIGKILL');

  expect(acknowledged.length).toBeGreaterThan(80);
  expect(await landedIn(folder, Number(project))).toEqual(acknowledged.toSorted());
});
