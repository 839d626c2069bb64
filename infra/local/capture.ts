import { join } from 'node:path';
import { MINUTE_MS } from '../../lib/basics/units.ts';
import { CaptureCounts } from '../../lib/capture/counts.ts';
import type { LandingReport, LandingSegment } from '../../lib/capture/land.ts';
import { Lander } from '../../lib/capture/lander.ts';
import { projectTokens } from '../../lib/capture/tokens.ts';
import type { Context } from '../../lib/ports/context.ts';
import { folderInbox } from '../../lib/ports/inbox/folder.ts';
import { inboxIn, temporaryIn } from './data/data-stores.ts';
import { poolIn } from './data/data-workers.ts';
import { requestReader } from './gateway/request-reader.ts';
import { type SdkEndpoint, type SdkLimits, sdkEndpoint } from './gateway/sdk-endpoint.ts';
import type { LandWorkerOptions } from './workers/land-worker.ts';

/** One landing after the other; each has DuckDB's memory and that of a pass of requests. */
const LANDING_TURNS = { atOnce: 1, each: 1 };
const LANDING_MEMORY_MB = { each: 700, all: 700 };
const LANDING_SILENCE_MS = 10 * MINUTE_MS;
/** Who sends waits for the answer, who asks for the result; what is in the inbox is safe. All others have 0 or 5. */
const LANDING_NICENESS = 10;

/** To look one up takes 3 to 20 microseconds here, and whoever deletes a project is not to wait. */
const TOKENS_BELIEVED_MS = 0;

/** Live capture on one machine. */
interface Capture {
  readonly sdk: SdkEndpoint;
  /** Lands what waits. Returns how many events are new in the lake. */
  land(): Promise<number>;
  close(): Promise<void>;
}

interface CaptureOptions {
  /** The data directory. */
  readonly folder: string;
  readonly limits: SdkLimits;
  readonly proxies: number;
}

/** Opens the inbox of a data directory, which one service at a time has. Events land in a process of their own. */
export async function openCapture(
  {
    table,
    clock,
    newId,
    log,
    metrics,
    settings,
  }: Pick<Context, 'table' | 'clock' | 'newId' | 'log' | 'metrics' | 'settings'>,
  { folder, limits, proxies }: CaptureOptions,
): Promise<Capture> {
  const inbox = await folderInbox(inboxIn(folder));
  const counts = new CaptureCounts({ table, clock, log });
  const reader = requestReader(temporaryIn(folder), log);
  const workers = poolIn(folder, log, {
    program: join(import.meta.dirname, 'workers/land-worker.ts'),
    options: { home: folder, service: newId() } satisfies LandWorkerOptions,
    what: 'Landing captured events',
    turns: LANDING_TURNS,
    memory: LANDING_MEMORY_MB,
    silenceMs: LANDING_SILENCE_MS,
    niceness: LANDING_NICENESS,
  });
  const lander = new Lander({
    inbox,
    land: async (segments: readonly LandingSegment[]) =>
      (await workers.run({ name: 'land', input: segments, owner: 'capture' })) as LandingReport,
    log,
    clock,
    metrics,
    counts,
  });
  const tokens = projectTokens({ table, clock }, { believedMs: TOKENS_BELIEVED_MS });
  const { eventsPerDay } = settings;
  return {
    sdk: sdkEndpoint({
      context: { clock, log, metrics, inbox, tokens, counts, read: reader.read, eventsPerDay },
      limits,
      proxies,
    }),
    land: async () => {
      let events = 0;
      do {
        try {
          events += await lander.pass();
        } finally {
          metrics.record({ InboxBytes: lander.waitingBytes });
          await counts.flushIfDue();
        }
      } while (lander.left > 0);
      return events;
    },
    close: async () => {
      await inbox.close();
      await Promise.all([workers.close(), reader.close()]);
      await counts.flush();
    },
  };
}
