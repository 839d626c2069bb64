import { messageOf } from '../../lib/basics/text.ts';
import { systemTimer, type Timer } from '../../lib/basics/timer.ts';
import { SECOND_MS } from '../../lib/basics/units.ts';
import type { Log } from '../../lib/ports/log.ts';
import type { Service } from './service.ts';

/** Whoever stops a service gives it some time before they kill it: Docker 10 s, Kubernetes 30 s, systemd 90 s. */
const STOP_TIMEOUT_MS = 20 * SECOND_MS;

/** Returns what was thrown first, where what failed while all was closed would hide it. */
export function firstThrown(error: unknown): unknown {
  return error instanceof SuppressedError ? firstThrown(error.suppressed) : error;
}

/**
 * Stops a service, and returns the exit code of the process: 1 when it could not be stopped cleanly. What has not ended
 * after 20 seconds is left, as by a kill: the next start goes on with it.
 */
export async function stopInTime(
  service: Pick<Service, 'stop'>,
  log: Log,
  timer: Timer = systemTimer,
): Promise<number> {
  const late = Promise.withResolvers<'late'>();
  const callOff = timer(STOP_TIMEOUT_MS, () => late.resolve('late'));
  try {
    const seconds = STOP_TIMEOUT_MS / SECOND_MS;
    if ((await Promise.race([service.stop(), late.promise])) === 'late')
      log.warning('ends before all has ended; the next start goes on with it', { seconds });
    return 0;
  } catch (error) {
    log.error('could not stop cleanly', { reason: messageOf(firstThrown(error)) });
    return 1;
  } finally {
    callOff();
  }
}
