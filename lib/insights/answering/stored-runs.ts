/** The runs of queries, in the table. */

import { MINUTE_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, type FailureKind } from '../../ports/errors.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import type { AskedQuery } from './computations.ts';
import { ORDER_MS } from './query-orders.ts';
import { cancelled, failTaken, type QueryRun, RUN_KNOWN_MS } from './runs.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    queryRun: QueryRunItem;
  }
}

/** A run as it is stored; its answer is that of its key. Instants are milliseconds since 1970. */
interface QueryRunItem extends Item {
  readonly id: string;
  readonly key: string;
  readonly is_async: boolean;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly insight: number | null;
  readonly dashboard: number | null;
  readonly failure: JsonText<KeptFailure> | null;
}

/** Which run it is: one of the same id may come after it. */
export type RunName = Pick<QueryRun, 'project' | 'id' | 'startedAt'>;

/** What is told again of a failure. */
interface KeptFailure {
  readonly kind: FailureKind;
  readonly detail: string;
  readonly code: string;
  readonly attr: string | null;
}

/** A run that has not told its end by then has none. */
const LONGEST_RUN_MS = ORDER_MS + MINUTE_MS;

/** Returns what notes and finds runs. */
export function storedRuns({ table, clock }: Pick<Context, 'table' | 'clock'>) {
  const find = async (project: number, id: string): Promise<QueryRun | undefined> => {
    const item = await table.get(keys.queryRun(project, id));
    return item && runOf(project, item, clock());
  };
  return {
    find,
    /** Notes that a run begins. Throws a 400 when one of its name goes on. */
    begin: async (asked: AskedQuery, key: string, id: string, isAsync: boolean): Promise<QueryRun> => {
      const { project, insight = null, dashboard = null } = asked;
      const at = keys.queryRun(project.id, id);
      const before = await table.get(at);
      if (before !== undefined && runOf(project.id, before, clock()).endedAt === null) failTaken();
      const started_at = clock();
      const item: QueryRunItem = {
        ...at,
        id,
        key,
        is_async: isAsync,
        started_at,
        ended_at: null,
        insight,
        dashboard,
        failure: null,
        ttl: ttlAt(started_at + LONGEST_RUN_MS + RUN_KNOWN_MS),
      };
      const unchanged = before === undefined ? 'absent' : { is: { started_at: before.started_at } };
      if (!(await tryWrite(table, [{ put: item, if: unchanged }]))) failTaken();
      return runOf(project.id, item, clock());
    },
    /** Notes that nobody waits for a run any more. Throws when it has ended, as who cancels it ends it. */
    goOn: async (run: QueryRun): Promise<QueryRun> => {
      const goesOn = { is: { id: run.id, ended_at: null } };
      const change = keys.queryRun(run.project, run.id);
      if (!(await tryWrite(table, [{ change, set: { is_async: true }, if: goesOn }]))) throw cancelled();
      return { ...run, isAsync: true };
    },
    /** Notes the end of a run that has none, and where its answer is: a run that was cancelled stays so. */
    end: async ({ project, id, startedAt }: RunName, failure: Failure | null, key?: string): Promise<void> => {
      const now = clock();
      const set = {
        ...(key === undefined ? {} : { key }),
        ended_at: now,
        ttl: ttlAt(now + RUN_KNOWN_MS),
        failure:
          failure === null
            ? null
            : toJsonText<KeptFailure>({
                kind: failure.kind,
                detail: failure.body.detail,
                code: failure.body.code,
                attr: failure.body.attr,
              }),
      };
      const goesOn = { is: { id, ended_at: null, started_at: startedAt } };
      await tryWrite(table, [{ change: keys.queryRun(project, id), set, if: goesOn }]);
    },
  };
}

function runOf(project: number, item: QueryRunItem, now: number): QueryRun {
  const { id, key, is_async: isAsync, started_at: startedAt, insight, dashboard } = item;
  const isLost = item.ended_at === null && startedAt + LONGEST_RUN_MS <= now;
  const { failure } = item;
  const told = failure === null ? null : fromJsonText(failure);
  return {
    id,
    project,
    key,
    isAsync,
    startedAt,
    insight,
    dashboard,
    endedAt: isLost ? startedAt + LONGEST_RUN_MS : item.ended_at,
    failure: isLost
      ? interrupted()
      : told && new Failure(told.kind, { detail: told.detail, code: told.code, attr: told.attr }),
  };
}

/** Why a run that nobody carries on has no answer. */
export const interrupted = (): Failure =>
  new Failure('unavailable', { detail: 'The query was interrupted. Ask it again.' });
