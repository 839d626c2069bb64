import { join } from 'node:path';
import { type LandingReport, type LandingSegment } from '../../lib/capture/land.ts';
import { Lander } from '../../lib/capture/lander.ts';
import { projectTokens } from '../../lib/capture/tokens.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderInbox } from '../../lib/ports/inbox/folder.ts';
import { MINUTE_MS } from '../../lib/ports/units.ts';
import { workerPool } from '../../lib/workers/pool.ts';
import { inboxIn, temporaryIn } from './data-directory.ts';
import type { LandWorkerOptions } from './land-worker.ts';
import { type SdkEndpoint, sdkEndpoint } from './sdk-endpoint.ts';

/** One landing after the other; each has DuckDB's memory and that of 64 MB of requests. */
const LANDING_TURNS = { atOnce: 1, each: 1 };
const LANDING_MEMORY_MB = { each: 700, all: 700 };
const LANDING_SILENCE_MS = 10 * MINUTE_MS;

/** Live capture on one machine. */
interface Capture {
  readonly sdk: SdkEndpoint;
  /** Lands what waits. Returns how many events are new in the lake. */
  land(): Promise<number>;
  close(): Promise<void>;
}

/** Opens the inbox of a data directory, which one service at a time has. Events land in a process of their own. */
export async function openCapture(
  folder: string,
  { table, clock, log }: Pick<Context, 'table' | 'clock' | 'log'>,
): Promise<Capture> {
  const inbox = await folderInbox(inboxIn(folder));
  const workers = workerPool({
    program: join(import.meta.dirname, 'land-worker.ts'),
    options: { home: folder } satisfies LandWorkerOptions,
    what: 'Landing captured events',
    turns: LANDING_TURNS,
    memory: LANDING_MEMORY_MB,
    silenceMs: LANDING_SILENCE_MS,
    folder: temporaryIn(folder),
    log,
  });
  const lander = new Lander({
    inbox,
    land: async (segments: readonly LandingSegment[]) =>
      (await workers.run({ name: 'land', input: segments, owner: 'capture' })) as LandingReport,
    log,
  });
  return {
    sdk: sdkEndpoint({ clock, log, inbox, tokens: projectTokens({ table, clock }) }),
    land: () => lander.pass(),
    close: async () => {
      await inbox.close();
      await workers.close();
    },
  };
}
