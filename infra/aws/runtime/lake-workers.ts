import { SECOND_MS } from '../../../lib/basics/units.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { lambdaFunction, lambdaSdk } from '../../../lib/ports/functions/lambda.ts';
import { functionPool, type SharedTurns } from '../../../lib/workers/function-pool.ts';
import { variable } from './environment.ts';
import { answersWithin } from './timeouts.ts';

/**
 * Nothing is sent twice: what was lost may have been done. So no connection is kept for the next call: it may die unseen
 * while this function is frozen in between.
 */
export const functionOf = (name: 'LAKE_WORKER' | 'QUERY_RUNNER', ms: number) =>
  lambdaFunction(async () => {
    const { LambdaClient } = await lambdaSdk();
    return new LambdaClient({
      maxAttempts: 1,
      requestHandler: {
        ...answersWithin(ms),
        connectionTimeout: CONNECT_TIMEOUT_MS,
        httpAgent: UNKEPT,
        httpsAgent: UNKEPT,
      },
    });
  }, variable(name));
const UNKEPT = { keepAlive: false };
/** Longer than of others, for each call makes its connection anew. */
const CONNECT_TIMEOUT_MS = 3 * SECOND_MS;

/** Returns what has the function that has copies of the lake's files do tasks; without `turns` whoever asks has one. */
export const lakeWorkers = ({ clock }: Pick<Context, 'clock'>, ms: number, turns?: SharedTurns) =>
  functionPool({ worker: functionOf('LAKE_WORKER', ms), ms, clock, ...(turns === undefined ? {} : { turns }) });
