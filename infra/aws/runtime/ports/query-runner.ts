import { fileURLToPath } from 'node:url';
import { AthenaClient } from '@aws-sdk/client-athena';
import { MINUTE_MS, SECOND_MS } from '../../../../lib/basics/units.ts';
import { athenaPool, bySize } from '../../../../lib/insights/answering/athena-pool.ts';
import { BACKGROUND_MS, pooledAnswerer } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { queryRunner as runnerOf } from '../../../../lib/insights/answering/query-runner.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { athenaQueries } from '../../../../lib/ports/queries/athena.ts';
import { variable } from '../environment.ts';
import { lakeWorkers } from '../lake-workers.ts';
import { answersWithin } from '../timeouts.ts';
import { backgroundTurns, type Turning, turnsOf } from '../turns.ts';
import { workers } from '../workers.ts';

/** Of the 1,024 MB that the function has: kinds fold the rows that Athena gave. */
const ATHENA_WORKER_MB = 600;
/** To begin a query, to look after it, and to give a page of its rows take a second at most. */
const ATHENA_TIMEOUT_MS = 5 * SECOND_MS;
/** Nobody waits, so a turn of Athena may take a while to come free. */
const ATHENA_TURN_MS = MINUTE_MS;

/** Queries of Athena in the workgroup that bounds them. */
export const rowQueries = () =>
  athenaQueries({
    client: new AthenaClient({ requestHandler: answersWithin(ATHENA_TIMEOUT_MS) }),
    workGroup: variable('QUERY_WORK_GROUP'),
    database: variable('LAKE_DATABASE'),
  });

/** Its worker's program lies beside the function's own (bundle.ts). */
const athena = (context: Turning & Pick<Context, 'log'>) =>
  athenaPool({
    queries: rowQueries(),
    workers: workers({
      program: fileURLToPath(new URL('./athena-worker.js', import.meta.url)),
      options: null,
      what: 'Answering the query',
      memoryMb: ATHENA_WORKER_MB,
      silenceMs: BACKGROUND_MS,
    }),
    turns: turnsOf(context, 'athena', ATHENA_TURN_MS),
    lake: { database: variable('LAKE_DATABASE'), address: `s3://${variable('LAKE_BUCKET')}/` },
    mostBytes: context.settings.queryBytes?.athena ?? 0,
    ms: BACKGROUND_MS,
    log: context.log,
  });

/** In the one function that carries out orders. */
export const queryRunner = (context: Turning & Pick<Context, 'log'>) => {
  const background = lakeWorkers(context, BACKGROUND_MS);
  const small = pooledAnswerer({ waited: background, background });
  const large = athena(context);
  return runnerOf({
    ...context,
    answerer: bySize(small, pooledAnswerer({ waited: large, background: large })),
    renewing: small,
    background: backgroundTurns(context),
    cancelMs: context.settings.cancelSeconds * SECOND_MS,
  });
};
