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
  // What is open by the time that something fails is closed, the last one first.
  await using opened = new AsyncDisposableStack();
  const claim = claimDataDirectory(folder);
  opened.defer(() => claim.release());
  // Of a directory that is refused nothing goes.
  checkDataDirectory(folder);
  await removeUnfinished(folder);
  await checkVault(folder);
  const directory = openDataDirectory(folder, settings, log, { isClaimed: true });
  opened.defer(() => directory.close());
  const numbers = prometheusMetrics();
  const { context, engine } = runtimeOf({
    ...directory,
    mail:
      mailServer === null || settings.mailFrom === null ? null : smtpMail({ url: mailServer, from: settings.mailFrom }),
    metrics: bothMetrics(directory.metrics, numbers),
  });
  opened.defer(() => engine.close());
  let pauseReason: string | null = 'starting';
  const probes = probesOf({ ...context, pauseReason: () => pauseReason, numbers: hasMetrics ? numbers : null });
  const limits = listen.rateLimit === null ? { ...SDK_LIMITS, ofAddress: null, ofProject: null } : SDK_LIMITS;
  const capture = await openCapture(context, { folder, limits, proxies });
  opened.defer(() => capture.close());
  const imports = openImports(context, folder);
  opened.defer(() => imports.close());
  const gateway = await startGateway({
    context,
    probes,
    sdk: capture.sdk,
    answered: numbers.answered,
    proxies,
    ...listen,
  });
  opened.defer(() => gateway.close());
  tellAddress(folder, gateway.address);
  opened.defer(() => forgetAddress(folder));
  if (hasJobs) await engine.resume();
  else log.warning('jobs are off (JOBS): no export, import, alert or mail is begun by itself');
  pauseReason = null;
  const timer = hasJobs
    ? again(tick(context), { intervalMs: TICK_INTERVAL_MS, failure: 'the tick failed', log })
    : undefined;
  const landing = again(() => capture.land(), {
    intervalMs: LANDING_INTERVAL_MS,
    failure: 'captured events could not land',
    log,
  });
  const importing = hasJobs
    ? again(() => imports.pass(), { intervalMs: IMPORT_INTERVAL_MS, failure: 'imports could not begin', log })
    : undefined;
  opened.move();
  return {
    context,
    address: gateway.address,
    stop: async () => {
      pauseReason = 'stopping';
      // At once: who waits for a slow answer must not keep the tasks from hearing that they are to end.
      await Promise.all([
        timer?.stop(),
        gateway.close().then(() => capture.close()),
        engine.close(),
        // At once, too: a landing that began after the other's end would hold up the stop.
        landing.stop(),
        Promise.resolve(importing?.stop()).then(() => imports.close()),
      ]);
      await directory.close();
      forgetAddress(folder);
      claim.release();
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
