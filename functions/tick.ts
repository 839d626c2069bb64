import type { Context } from '../lib/context.ts';
import { tick } from '../lib/jobs/jobs.ts';

/** Starts what is due: every minute on AWS, every 500 ms on one machine. */
export const handler = (context: Context) => () => tick(context);
