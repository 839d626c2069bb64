import type { Log } from '../log.ts';
import type { Metrics } from './metrics.ts';

/** Writes numbers into the service's own log, at the level DEBUG. Zeros have no line. */
export const loggedMetrics = (log: Pick<Log, 'debug'>): Metrics => ({
  record: (measures, about) => {
    if (Object.values(measures).some((value) => value !== 0)) log.debug('measured', { ...about, ...measures });
  },
});
