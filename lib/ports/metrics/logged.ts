import type { Log } from '../log.ts';
import type { Metrics } from './metrics.ts';

/** Numbers in the service's own log, for whoever asked to see everything. Zeros are not worth a line. */
export const loggedMetrics = (log: Pick<Log, 'debug'>): Metrics => ({
  record: (measures, about) => {
    if (Object.values(measures).some((value) => value !== 0)) log.debug('measured', { ...about, ...measures });
  },
});
