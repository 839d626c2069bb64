/** Carries out orders of queries that nobody waits for, in a function that is started for them. */

import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { Failure } from '../../ports/errors.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import type { SharedTurn, SharedTurns } from '../../workers/function-pool.ts';
import { LineFull } from '../../workers/turns.ts';
import type { Answerer } from './answerer.ts';
import { answerCache, OF_MANY } from './cache.ts';
import { type AskedQuery, computations, computedToBeFound, keyOf, momentOf } from './computations.ts';
import { BACKGROUND_MS } from './pooled-answerer.ts';
import { LESS, queryFailure } from './query-failures.ts';
import { BEGUN_MS, type QueryRunner } from './query-orders.ts';
import { cancelled, failureOfRun, noteFailed } from './runs.ts';
import type { StageContext } from './stage-answers.ts';
import { type RunName, storedRuns } from './stored-runs.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    answerUnderWay: Item;
  }
}

/** One that was too large for the first who was asked, and takes as long with the second, is stopped then. */
const LATEST_MS = BACKGROUND_MS + 15 * SECOND_MS;

interface OrderContext extends StageContext {
  /** Computes in the background what somebody has asked for. */
  readonly answerer: Answerer;
  /** Computes what is renewed for readers of shared pages, who must not be able to spend. */
  readonly renewing: Answerer;
  readonly background: SharedTurns;
  /** A run that somebody has cancelled is noticed within this, in milliseconds. */
  readonly cancelMs: number;
}

/** After so long no further answer is renewed: the function has 15 minutes. */
const RENEWAL_MS = 9 * MINUTE_MS;

export function queryRunner(context: OrderContext): QueryRunner {
  const { table, clock, newId, log, answerer, renewing, background, cancelMs } = context;
  const cache = answerCache(context, OF_MANY);
  const { compute, look } = computations(context, answerer, cache);
  const { compute: renewed } = computations(context, renewing, cache);
  const runs = storedRuns(context);

  /** Computes what a run is for, unless it has ended, as one does that somebody cancels while it waits. */
  const run = async (asked: AskedQuery, name: RunName): Promise<void> => {
    const { project, id } = name;
    const key = keyOf(asked);
    const goesOn = async (): Promise<boolean> => {
      const found = await runs.find(project, id);
      return found?.startedAt === name.startedAt && found.endedAt === null;
    };
    if (!(await goesOn())) return;
    const stop = new AbortController();
    const looking = setInterval(() => {
      goesOn().then(
        (isOpen) => {
          if (!isOpen) stop.abort(cancelled());
        },
        () => {},
      );
    }, cancelMs);
    const late = setTimeout(() => stop.abort(tooLong()), LATEST_MS);
    try {
      const moment = momentOf(asked, clock());
      const isKept = await computedToBeFound(context, asked, async (one) => {
        await compute(one, key, moment, { signal: stop.signal, line: 'background' });
        return (await cache.find(one.project, key)) !== undefined;
      });
      await runs.end(name, isKept ? null : tooLarge(), key);
    } catch (error) {
      noteFailed(log, error);
      await runs.end(name, failureOfRun(error));
    } finally {
      clearInterval(looking);
      clearTimeout(late);
    }
  };

  /** Computes what is not true, unless somebody does, or the organization has no turn. */
  const renew = async (asked: AskedQuery): Promise<void> => {
    const { id, organization_id: organization } = asked.project;
    const { key, moment, way } = await look(asked, 'blocking');
    if (way === 'cached') return;
    const claim = keys.answerUnderWay(id, key);
    const holder = newId();
    const ttl = ttlAt(clock() + BEGUN_MS);
    if (!(await tryWrite(table, [{ put: { ...claim, holder, ttl }, if: 'absent' }]))) return;
    let turn: SharedTurn | undefined;
    try {
      turn = await background.take(organization, BEGUN_MS);
      const waiting = { signal: new AbortController().signal, line: 'background' } as const;
      await computedToBeFound(context, asked, (one) => renewed(one, key, moment, waiting));
    } catch (error) {
      // What was asked cannot be answered, or too many wait: editors are told so where they look.
      if (!(error instanceof Failure || error instanceof LineFull)) throw error;
    } finally {
      if (turn !== undefined) await background.giveBack(turn);
      await table.write([{ remove: claim, if: { is: { holder } } }]).catch(() => {});
    }
  };

  return async ({ project: id, queries, run: named }) => {
    const project = await table.get(keys.project(id));
    try {
      if (project === undefined || project.deleted_at !== null) return;
      const last = clock() + RENEWAL_MS;
      for (const one of queries) {
        const asked = { project, ...one };
        if (named !== null) await run(asked, { project: id, id: named.id, startedAt: named.startedAt });
        else if (clock() < last) await renew(asked);
      }
    } finally {
      if (named !== null) await background.giveBack(named.turn);
    }
  };
}

/** Why a run that has ended its time has no answer. */
const tooLong = (): Failure => queryFailure(`The query takes longer than ${BACKGROUND_MS / SECOND_MS} s. ${LESS}`);

/** Why a run whose answer nobody could find has none. */
const tooLarge = (): Failure =>
  queryFailure(
    'The answer is too large to be kept until it is asked for. Ask for less (a shorter time, fewer columns, or a limit), ' +
      'or send `"refresh": "blocking"`.',
  );
