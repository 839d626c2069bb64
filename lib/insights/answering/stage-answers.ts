/**
 * The answers of a stage: of many functions, none of which outlives its request. What is known of them is in the table,
 * and what nobody waits for is carried out by a function that is started for it.
 */
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, type FailureKind, invalid, messageOf } from '../../ports/errors.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';
import { isWritten } from '../../ports/table/until-written.ts';
import { MINUTE_MS, SECOND_MS } from '../../ports/units.ts';
import type { SharedTurn, SharedTurns } from '../../workers/function-pool.ts';
import { LineFull } from '../../workers/turns.ts';
import type { SentQuery } from '../kinds/source.ts';
import type { Answerer } from './answerer.ts';
import {
  type Answers,
  cancelled,
  failTaken,
  failureOf,
  noteFailed,
  type QueryRun,
  RUN_KNOWN_MS,
  withAnswer,
} from './answers.ts';
import { answerCache, OF_MANY } from './cache.ts';
import { type AskedQuery, computations, keyOf, momentOf } from './computations.ts';
import { BACKGROUND_MS, failCrowded, TOO_SLOW } from './pooled-answerer.ts';
import { TOO_LARGE } from './read-bytes.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    queryRun: QueryRunItem;
    answerUnderWay: Item;
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

/** What is told again of a failure. */
interface KeptFailure {
  readonly kind: FailureKind;
  readonly detail: string;
  readonly code: string;
  readonly attr: string | null;
}

/** A query of an order, after overrides. */
interface OrderedQuery {
  readonly query: SentQuery;
  readonly insight: number | null;
  readonly dashboard: number | null;
}

/** What nobody waits for: one query under the name of its run, or some that are computed if they are not true. Plain JSON. */
export interface QueryOrder {
  readonly project: number;
  readonly queries: readonly OrderedQuery[];
  /** Null: they are computed if it has to be, and have no run. */
  readonly run: { readonly id: string; readonly turn: SharedTurn } | null;
}

type StageContext = Pick<Context, 'table' | 'clock' | 'newId' | 'log'>;

/** An order waits so long until one of the functions that carry orders out is free, and is dropped then. */
export const ORDER_WAITS_MS = 5 * MINUTE_MS;
/** A query that nobody waits for has ended so long after it was begun ... */
const BEGUN_MS = BACKGROUND_MS + 30 * SECOND_MS;
/** ... and after it was ordered. */
const ORDER_MS = ORDER_WAITS_MS + BEGUN_MS;
/** One that was too large for the first who was asked, and takes as long with the second, is stopped then. */
const LATEST_MS = BACKGROUND_MS + 15 * SECOND_MS;
/** A run that has not told its end by then has none. */
const LONGEST_RUN_MS = ORDER_MS + MINUTE_MS;
/** An order travels in the event of an invocation, which has 256 KB. */
const MAX_ORDER_BYTES = 240_000;

/** What nobody can wait for is answered behind: the gateway would end the request a moment later. */
const LATER: ReadonlySet<string> = new Set([TOO_SLOW, TOO_LARGE]);

interface StageAnswersOptions {
  readonly answerer: Answerer;
  /** Has an order carried out by somebody else. Resolves when it is sure that it begins. */
  readonly start: QueryRunner;
  /** A turn of what runs behind is taken when it is asked for, so that nobody's orders stand in others' way. */
  readonly background: SharedTurns;
}

export function stageAnswers(context: StageContext, { answerer, start, background }: StageAnswersOptions): Answers {
  const { newId, log } = context;
  const cache = answerCache(context, OF_MANY);
  const { cached, compute, look } = computations(context, answerer, cache);
  const runs = storedRuns(context);

  /**
   * Has a query answered behind, under the run that `begin` notes. Throws when there is no place for it, or nobody who
   * begins; then the run has ended.
   */
  const order = async (asked: AskedQuery, begin: () => Promise<QueryRun>): Promise<QueryRun> => {
    const { project } = asked;
    const alone = { project: project.id, queries: [ordered(asked)] };
    if (!fits({ ...alone, run: null }))
      invalid('query', 'The query is too long to be answered later. Send `"refresh": "blocking"`.');
    const turn = await background.take(project.organization_id, ORDER_MS).catch((error: unknown) => {
      if (error instanceof LineFull) failCrowded();
      throw error;
    });
    try {
      const run = await begin();
      await start({ ...alone, run: { id: run.id, turn } }).catch(async (error: unknown) => {
        await runs.end(project.id, run.id, interrupted());
        throw error;
      });
      return run;
    } catch (error) {
      await background.giveBack(turn);
      throw error;
    }
  };

  return {
    ask: async (asked, refresh, { runId, callerLeft, isBackground = false, seen }) => {
      const { project } = asked;
      const { key, moment, way, cached } = await look(asked, refresh, seen);
      if (way === 'cached') return cached;
      if (way === 'now') {
        // Only who has given it a name can ask about it.
        const run = runId === undefined ? null : await runs.begin(asked, key, runId, false);
        const signal = callerLeft ?? new AbortController().signal;
        try {
          const made = await compute(asked, key, moment, { signal, isBackground });
          if (run !== null) await runs.end(project.id, run.id, null);
          return { key, kept: made, isCached: false, run };
        } catch (error) {
          if (!isBackground && error instanceof Failure && LATER.has(error.body.code)) {
            const begin = () => (run === null ? runs.begin(asked, key, newId(), true) : runs.goOn(run));
            const later = await order(asked, begin).catch((cause: unknown) => {
              // Why it is not answered now says more than why it is not answered later.
              if (!(cause instanceof Failure)) log.warning('a query was not ordered', { reason: messageOf(cause) });
            });
            if (later !== undefined) return { key, kept: null, isCached: false, run: later };
          }
          if (run !== null) await runs.end(project.id, run.id, failureOf(error));
          throw error;
        }
      }
      const run = await order(asked, () => runs.begin(asked, key, runId ?? newId(), true));
      return way === 'both' ? { ...cached, run } : { key, kept: null, isCached: false, run };
    },
    cached,
    renew: async (asked) => {
      const orders = ordersOf(asked);
      await Promise.all(orders.map(start)).catch((error: unknown) => {
        log.warning('answers were not renewed', { reason: messageOf(error) });
      });
    },
    run: async (project, id) => {
      const run = await runs.find(project, id);
      return run && withAnswer(run, cache);
    },
    cancel: (run) => runs.end(run.project, run.id, cancelled()),
    idle: () => Promise.resolve(),
  };
}

const ordered = ({ query, insight, dashboard }: AskedQuery): OrderedQuery => ({
  query,
  insight: insight ?? null,
  dashboard: dashboard ?? null,
});

const fits = (order: QueryOrder): boolean => Buffer.byteLength(JSON.stringify(order)) <= MAX_ORDER_BYTES;

/** Queries of one project as few orders that can be sent; a query that is too long for one is left out. */
function ordersOf(asked: readonly AskedQuery[]): QueryOrder[] {
  const orders: QueryOrder[] = [];
  for (const one of asked) {
    const last = orders.at(-1);
    const alone: QueryOrder = { project: one.project.id, queries: [ordered(one)], run: null };
    const joined = { ...alone, queries: [...(last?.queries ?? []), ...alone.queries] };
    if (last !== undefined && fits(joined)) orders.splice(-1, 1, joined);
    else if (fits(alone)) orders.push(alone);
  }
  return orders;
}

/** The runs of queries, in the table. */
function storedRuns({ table, clock }: Pick<Context, 'table' | 'clock'>) {
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
        ttl: expiry(started_at + LONGEST_RUN_MS),
      };
      const unchanged = before === undefined ? 'absent' : { is: { started_at: before.started_at } };
      if (!(await isWritten(table, [{ put: item, if: unchanged }]))) failTaken();
      return runOf(project.id, item, clock());
    },
    /** Notes that nobody waits for a run any more. Throws when it has ended, as who cancels it ends it. */
    goOn: async (run: QueryRun): Promise<QueryRun> => {
      const goesOn = { is: { id: run.id, ended_at: null } };
      const change = keys.queryRun(run.project, run.id);
      if (!(await isWritten(table, [{ change, set: { is_async: true }, if: goesOn }]))) throw cancelled();
      return { ...run, isAsync: true };
    },
    /** Notes the end of a run that has none, and where its answer is: a run that was cancelled stays so. */
    end: async (project: number, id: string, failure: Failure | null, key?: string): Promise<void> => {
      const now = clock();
      const set = {
        ...(key === undefined ? {} : { key }),
        ended_at: now,
        ttl: expiry(now),
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
      const goesOn = { is: { id, ended_at: null } };
      await isWritten(table, [{ change: keys.queryRun(project, id), set, if: goesOn }]);
    },
  };
}

const expiry = (from: number): number => Math.ceil((from + RUN_KNOWN_MS) / SECOND_MS);

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

const interrupted = (): Failure => new Failure('unavailable', { detail: 'The query was interrupted. Ask it again.' });

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

/** Carries out an order. Throws what is nobody's query's fault. */
export type QueryRunner = (order: QueryOrder) => Promise<void>;

export function queryRunner(context: OrderContext): QueryRunner {
  const { table, clock, newId, log, answerer, renewing, background, cancelMs } = context;
  const cache = answerCache(context, OF_MANY);
  const { compute, look } = computations(context, answerer, cache);
  const { compute: renewed } = computations(context, renewing, cache);
  const runs = storedRuns(context);

  const run = async (asked: AskedQuery, id: string): Promise<void> => {
    const project = asked.project.id;
    const key = keyOf(asked);
    const stop = new AbortController();
    const looking = setInterval(() => {
      runs.find(project, id).then(
        (found) => {
          if (found === undefined || found.endedAt !== null) stop.abort(cancelled());
        },
        () => {},
      );
    }, cancelMs);
    const late = setTimeout(() => stop.abort(tooLong()), LATEST_MS);
    try {
      await compute(asked, key, momentOf(asked, clock()), { signal: stop.signal, isBackground: true });
      const isKept = (await cache.find(project, key)) !== undefined;
      await runs.end(project, id, isKept ? null : tooLarge(), key);
    } catch (error) {
      noteFailed(log, error);
      await runs.end(project, id, failureOf(error));
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
    const ttl = Math.ceil((clock() + BEGUN_MS) / SECOND_MS);
    if (!(await isWritten(table, [{ put: { ...claim, holder, ttl }, if: 'absent' }]))) return;
    let turn: SharedTurn | undefined;
    try {
      turn = await background.take(organization, BEGUN_MS);
      await renewed(asked, key, moment, { signal: new AbortController().signal, isBackground: true });
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
        const asked = askedOf(project, one);
        if (named !== null) await run(asked, named.id);
        else if (clock() < last) await renew(asked);
      }
    } finally {
      if (named !== null) await background.giveBack(named.turn);
    }
  };
}

const askedOf = (project: ProjectItem, { query, insight, dashboard }: OrderedQuery): AskedQuery => ({
  project,
  query,
  ...(insight === null ? {} : { insight }),
  ...(dashboard === null ? {} : { dashboard }),
});

/** Why a run that has ended its time has no answer. */
const tooLong = (): Failure =>
  new Failure('validation', {
    attr: 'query',
    detail: `The query takes longer than ${BACKGROUND_MS / SECOND_MS} s. Ask for less: a shorter time, or a filter.`,
  });

/** Why a run whose answer nobody could find has none. */
const tooLarge = (): Failure =>
  new Failure('validation', {
    attr: 'query',
    detail:
      'The answer is too large to be kept until it is asked for. Ask for less (a shorter time, fewer columns, or a limit), ' +
      'or send `"refresh": "blocking"`.',
  });
