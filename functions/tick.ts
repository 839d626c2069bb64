import { tick } from '../lib/jobs/job.ts';
import type { Context } from '../lib/ports/context.ts';

/** Starts what is due: every minute on AWS, every 500 ms on one machine. */
export const handler = (context: Context) => () => tick(context);
