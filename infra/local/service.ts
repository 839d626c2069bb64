import { handler as tick } from '../../functions/tick.ts';
import { SECOND_MS } from '../../lib/basics/units.ts';
import type { Context } from '../../lib/ports/context.ts';
import type { Log } from '../../lib/ports/log.ts';
import { smtpMail } from '../../lib/ports/mail/smtp.ts';
import type { Metrics } from '../../lib/ports/metrics/metrics.ts';
import { prometheusMetrics } from '../../lib/ports/metrics/prometheus.ts';
import type { Settings } from '../../lib/ports/settings.ts';
import { again } from './again.ts';
import { openCapture } from './capture.ts';
import { checkVault, openDataDirectory } from './data/data-directory.ts';
import { claimDataDirectory, removeUnfinished } from './data/data-stores.ts';
import { checkDataDirectory } from './data/data-version.ts';
import { startGateway } from './gateway/gateway.ts';
import { probesOf } from './gateway/probes.ts';
import { SDK_LIMITS } from './gateway/sdk-endpoint.ts';
import { forgetAddress, tellAddress } from './gateway/service-address.ts';
import type { RateLimit } from './gateway/token-bucket.ts';
import { openImports } from './imports.ts';
import { runtimeOf } from './runtime.ts';

/** How often what is due is looked for. */
const TICK_INTERVAL_MS = 500;
/** How often captured events are landed, if there are any. */
const LANDING_INTERVAL_MS = SECOND_MS;
/** How often it is looked for imports that were started. */
const IMPORT_INTERVAL_MS = SECOND_MS;

interface ServiceOptions {
  readonly folder: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: none. */
  readonly rateLimit: RateLimit | null;
  readonly settings: Settings;
  /** How many proxies stand before it. */
  readonly proxies: number;
  /** The server that carries mail, from the `mailFrom` of the settings. Null: none is sent. */
  readonly mailServer: string | null;
  /** `/metrics` is answered. */
  readonly hasMetrics: boolean;
  /** What is due is begun, and what was under way goes on. */
  readonly hasJobs: boolean;
  readonly log: Log;
}

export interface Service {
  readonly context: Context;
  /** `http://127.0.0.1:8010`. */
  readonly address: string;
  /** Answers what is under way, leaves every execution where it is for the next start, and lets go of the data directory. */
  stop(): Promise<void>;
}

/**
 * The whole service in one process on one data directory: gateway, workflows, tick. What a killed process left under way goes
 * on, if it has jobs. Throws `DataDirectoryInUse` when another process serves it, and the system's error when the port is taken.
 */
export async function startService({
  folder,
  settings,
  hasMetrics,
  hasJobs,
  proxies,
  mailServer,
  log,
  ...listen
}: ServiceOptions): Promise<Service> {
  // What is open by the time that something fails is closed as by `stop`: the last one first.
  await using opened = new AsyncDisposableStack();
  const claim = claimDataDirectory(folder);
  opened.defer(() => claim.release());
  // Of a directory that is refused nothing goes.
  checkDataDirectory(folder);
  await removeUnfinished(folder);
  await checkVault(folder);
  opened.defer(() => forgetAddress(folder));
  const directory = openDataDirectory(folder, settings, log, { isClaimed: true });
  opened.defer(() => directory.close());
  // These at once: who waits for a slow answer must not keep the tasks from hearing that they are to end, and a landing that
  // began after the other's end would hold up the stop.
  const parts: AsyncDisposableStack[] = [];
  opened.defer(() => allEnded(parts));
  const newPart = (): AsyncDisposableStack => {
    const part = new AsyncDisposableStack();
    parts.push(part);
    return part;
  };
  const numbers = prometheusMetrics();
  const { context, engine } = runtimeOf({
    ...directory,
    mail:
      mailServer === null || settings.mailFrom === null ? null : smtpMail({ url: mailServer, from: settings.mailFrom }),
    metrics: bothMetrics(directory.metrics, numbers),
  });
  newPart().defer(() => engine.close());
  let pauseReason: string | null = 'starting';
  const probes = probesOf({ ...context, pauseReason: () => pauseReason, numbers: hasMetrics ? numbers : null });
  const limits = listen.rateLimit === null ? { ...SDK_LIMITS, ofAddress: null, ofProject: null } : SDK_LIMITS;
  const capture = await openCapture(context, { folder, limits, proxies });
  const answering = newPart();
  answering.defer(() => capture.close());
  const imports = openImports(context, folder);
  const importing = newPart();
  importing.defer(() => imports.close());
  const gateway = await startGateway({
    context,
    probes,
    sdk: capture.sdk,
    answered: numbers.answered,
    proxies,
    ...listen,
  });
  answering.defer(() => gateway.close());
  tellAddress(folder, gateway.address);
  if (hasJobs) await engine.resume();
  else log.warning('jobs are off (JOBS): no export, import, alert or mail is begun by itself');
  pauseReason = null;
  const repeat = (
    part: AsyncDisposableStack,
    run: () => Promise<unknown>,
    intervalMs: number,
    failure: string,
  ): void => {
    const loop = again(run, { intervalMs, failure, log });
    part.defer(() => loop.stop());
  };
  repeat(newPart(), () => capture.land(), LANDING_INTERVAL_MS, 'captured events could not land');
  if (hasJobs) {
    repeat(newPart(), tick(context), TICK_INTERVAL_MS, 'the tick failed');
    repeat(importing, () => imports.pass(), IMPORT_INTERVAL_MS, 'imports could not begin');
  }
  const running = opened.move();
  return {
    context,
    address: gateway.address,
    stop: () => {
      pauseReason = 'stopping';
      return running.disposeAsync();
    },
  };
}

/** Records each number twice. */
const bothMetrics = (one: Metrics, other: Metrics): Metrics => ({
  record: (measures, about) => {
    one.record(measures, about);
    other.record(measures, about);
  },
});

/** Closes parts at the same time, each of them to its end, whatever fails of the others. Throws what failed first. */
async function allEnded(parts: readonly AsyncDisposableStack[]): Promise<void> {
  const ends = await Promise.allSettled(parts.map((part) => part.disposeAsync()));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
