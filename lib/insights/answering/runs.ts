/** Runs of queries, wherever they are kept: what is known of one, how it ended, and how it is told. */

import { messageOf } from '../../basics/text.ts';
import { MINUTE_MS } from '../../basics/units.ts';
import { publicFailure } from '../../http/failures.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { inWords } from '../../ports/disk-failures.ts';
import { Failure, invalid, Transient } from '../../ports/errors.ts';
import type { Log } from '../../ports/log.ts';
import { keys } from '../../ports/table/keys.ts';
import { Busy, type Table } from '../../ports/table/table.ts';
import type { AnswerCache, KeptAnswer } from './cache.ts';
import { queryFailure } from './query-failures.ts';

/** A run of a query; its answer is that of its key. Instants are milliseconds since 1970. */
export interface QueryRun {
  readonly id: string;
  readonly project: number;
  readonly key: string;
  readonly isAsync: boolean;
  readonly startedAt: number;
  readonly insight: number | null;
  readonly dashboard: number | null;
  endedAt: number | null;
  failure: Failure | null;
}

/** A run with what it has come to. */
export interface ToldRun extends QueryRun {
  /** Null while it goes on, and of one that has failed. */
  readonly kept: KeptAnswer | null;
}

/** An ended run is known for so long. */
export const RUN_KNOWN_MS = 15 * MINUTE_MS;

/** Throws the 400 of a name that a run has which goes on. */
export const failTaken = (): never => invalid('client_query_id', 'A query with this id is being answered already.');

/** Why a run that somebody stopped has no answer. */
export const cancelled = (): Failure => queryFailure('The query was cancelled.');

/** Returns a run with its answer, if it has one. One whose answer is not kept any more has failed for who asks by then. */
export async function withAnswer(run: QueryRun, cache: AnswerCache, table: Table): Promise<ToldRun> {
  if (run.endedAt === null || run.failure !== null) return { ...run, kept: null };
  const project = await table.get(keys.project(run.project));
  const kept = await cache.find(project ?? { id: run.project }, run.key);
  return kept === undefined ? { ...run, failure: forgotten(), kept: null } : { ...run, kept };
}

const isPassing = (error: unknown): boolean => error instanceof Busy || inWords(error) instanceof Transient;

/** Returns what is told of a run that ended so. A run that met a busy table is over: a 429 would have its client ask about it again. */
export const failureOfRun = (error: unknown): Failure =>
  error instanceof Busy ? new Failure('unavailable') : publicFailure(error);

/** Notes how a run ended that nobody waits for, unless it is a failure in which the service has no part. */
export function noteFailed(log: Log, error: unknown): void {
  if (error instanceof Failure) return;
  if (isPassing(error)) log.warning('a query failed', { reason: messageOf(error) });
  else log.error('a query failed', { error });
}

/** Why a run has no answer although its query was answered. */
export const forgotten = (): Failure => queryFailure('The answer is not kept any more. Ask the query again.');

/** The wire form of a run, without its answer. */
export function queryStatus(run: QueryRun) {
  return {
    id: run.id,
    team_id: run.project,
    query_async: run.isAsync,
    complete: run.endedAt !== null,
    error: run.failure !== null,
    error_message: run.failure?.body.detail ?? null,
    error_code: run.failure?.body.code ?? null,
    results: null,
    start_time: wireInstant(run.startedAt),
    pickup_time: wireInstant(run.startedAt),
    end_time: wireInstantOrNull(run.endedAt),
    expiration_time: run.endedAt === null ? null : wireInstant(run.endedAt + RUN_KNOWN_MS),
    task_id: null,
    insight_id: run.insight,
    dashboard_id: run.dashboard,
    labels: null,
    query_progress: null,
    cache_key: run.key,
  };
}
