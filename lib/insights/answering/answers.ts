/** Answers to queries: from the cache while they are true, else computed, once for all who ask at the same time. */

import { messageOf } from '../../basics/text.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, fail, invalid } from '../../ports/errors.ts';
import type { Refresh } from '../queries/model.ts';
import type { Answerer } from './answerer.ts';
import { type AnswerCache, answerCache, type KeptAnswer } from './cache.ts';
import { type AskedQuery, computations, computedToBeFound, type KnownAnswer, type SeenFiles } from './computations.ts';
import { sharedComputations } from './flights.ts';
import type { Moment } from './looking-world.ts';
import {
  cancelled,
  failTaken,
  failureOfRun,
  noteFailed,
  type QueryRun,
  RUN_KNOWN_MS,
  type ToldRun,
  withAnswer,
} from './runs.ts';

/** Who asks. */
export interface Asker {
  readonly callerLeft?: AbortSignal | undefined;
  /** The name that the caller gives to the run. */
  readonly runId?: string | undefined;
  /** Whose turn it takes beside the organization's, by their uuid. */
  readonly user?: string | undefined;
  /** An alert or a subscription asks, which has a line of its own. */
  readonly isNotifier?: boolean;
  /**
   * The files of projects as questions of one request see them, which then list them once to find out whether answers are
   * still true. What is computed is made of the files as they are by then.
   */
  readonly seen?: SeenFiles;
}

export interface Answers {
  /** Answers as `refresh` says. Throws what computing throws, if it is waited for. */
  ask(asked: AskedQuery, refresh: Refresh, asker: Asker): Promise<KnownAnswer>;
  /**
   * Tells the answers of queries of one project as they are kept, true or not any more, as long as they have no more than
   * MOST_TOLD characters together. Nothing is computed.
   */
  cached(asked: readonly AskedQuery[]): Promise<KnownAnswer[]>;
  /** Has answers computed that are missing or not true any more, if they can be. Nobody waits for that. */
  renew(asked: readonly AskedQuery[]): Promise<void>;
  /** A run of the project; undefined: there is none, or it has ended more than a quarter of an hour ago. */
  run(project: number, id: string): Promise<ToldRun | undefined>;
  /** Stops a run that goes on: from then on it is told as cancelled. */
  cancel(run: QueryRun): Promise<void>;
  /** Ends when nothing is computed any more. */
  idle(): Promise<void>;
}

/** So many runs are known, about; of those that have ended the oldest go first, of the organization that has most of them. */
const MAX_RUNS = 2_000;

/** A run, whose it is, and what stops it while it goes on. */
interface KnownRun {
  readonly run: QueryRun;
  readonly organization: string;
  readonly stop: AbortController;
}

const nameOf = (project: number, id: string): string => `${project} ${id}`;

export function answersOf(
  context: Pick<Context, 'table' | 'clock' | 'newId' | 'log'>,
  answerer: Answerer,
  cache: AnswerCache = answerCache(context),
): Answers {
  const { clock, newId, log } = context;
  const runs = new Map<string, KnownRun>();
  const background = new Set<Promise<unknown>>();
  const { cached, look, ...computing } = computations(context, answerer, cache);
  const computed = sharedComputations(computing);

  const forget = (): void => {
    const now = clock();
    for (const [name, { run }] of runs)
      if (run.endedAt !== null && run.endedAt + RUN_KNOWN_MS <= now) runs.delete(name);
    if (runs.size <= MAX_RUNS) return;
    const ended = [...runs].filter(([, { run }]) => run.endedAt !== null);
    const shares = [...Map.groupBy(ended, ([, { organization }]) => organization).values()];
    const [largest = []] = shares.toSorted((a, b) => b.length - a.length);
    for (const [name] of largest.slice(0, runs.size - MAX_RUNS)) runs.delete(name);
  };

  /** Forgets a run that had no turn: who has begun it is told so at once, and has nothing to ask about. */
  const forgetRefused = (run: QueryRun): void => {
    const name = nameOf(run.project, run.id);
    if (run.failure?.kind === 'throttled' && runs.get(name)?.run === run) runs.delete(name);
  };

  /** Begins a run, under the caller's name for it or a new one. */
  const begin = (
    asked: AskedQuery,
    key: string,
    moment: Moment,
    { callerLeft, runId, user, isNotifier = false }: Asker,
    how: 'waited' | 'behind',
  ): { readonly run: QueryRun; readonly promise: Promise<KeptAnswer> } => {
    forget();
    const isAsync = how === 'behind';
    const id = runId ?? newId();
    const name = nameOf(asked.project.id, id);
    if (runs.get(name)?.run.endedAt === null) failTaken();
    const run: QueryRun = {
      id,
      project: asked.project.id,
      key,
      isAsync,
      startedAt: clock(),
      insight: asked.insight ?? null,
      dashboard: asked.dashboard ?? null,
      endedAt: null,
      failure: null,
    };
    const stop = new AbortController();
    const signal = isAsync || callerLeft === undefined ? stop.signal : AbortSignal.any([stop.signal, callerLeft]);
    runs.set(name, { run, organization: asked.project.organization_id, stop });
    const line = isNotifier ? 'notifier' : isAsync ? 'background' : 'waited';
    const made = (one: AskedQuery): Promise<KeptAnswer> => computed(one, key, moment, { signal, line, user });
    const promise = (isAsync ? computedToBeFound(context, asked, made) : made(asked)).then(
      (kept) => {
        run.endedAt = clock();
        return kept;
      },
      (error: unknown) => {
        const isLeft = callerLeft?.aborted === true && error === callerLeft.reason;
        const failure = isLeft && !(error instanceof Failure) ? cancelled() : failureOfRun(error);
        if (isAsync) noteFailed(log, error);
        Object.assign(run, { endedAt: clock(), failure });
        throw error;
      },
    );
    const done = promise.catch(() => {}).finally(() => background.delete(done));
    background.add(done);
    return { run, promise };
  };

  /** Begins a run that nobody waits for. Throws when there is no place for it. */
  const behind = async (asked: AskedQuery, key: string, moment: Moment, asker: Asker): Promise<QueryRun> => {
    const { run, promise } = begin(asked, key, moment, asker, 'behind');
    // What is refused at once (too many wait already) is told at once: until its place in line is asked for only the table is
    // awaited, which on one machine answers within this turn of the event loop. Of a refusal that comes later the run tells.
    await Promise.race([promise.catch(() => {}), new Promise((resolve) => setImmediate(resolve))]);
    forgetRefused(run);
    if (run.failure?.kind === 'throttled') throw run.failure;
    return run;
  };

  const answers: Answers = {
    ask: async (asked, refresh, asker) => {
      if (refresh !== 'force_cache') {
        // With the first question: a command line opens all that a service has, and asks none.
        const { kindOf } = await import('../kinds/kinds.ts');
        kindOf(asked.query);
      }
      const { key, moment, way, cached } = await look(asked, refresh, asker.seen);
      if (way === 'cached') return cached;
      if (way === 'now') {
        const { run, promise } = begin(asked, key, moment, asker, 'waited');
        const kept = await promise.finally(() => forgetRefused(run));
        return { key, state: 'computed', kept, run };
      }
      const run = await behind(asked, key, moment, asker);
      return way === 'both' ? { ...cached, run } : { key, state: 'missing', kept: null, run };
    },
    renew: (asked) => {
      const seen: SeenFiles = new Map();
      for (const one of asked)
        answers.ask(one, 'lazy_async', { seen }).catch((error: unknown) => {
          // What was asked cannot be answered, or too many wait: editors are told so where they look.
          if (error instanceof Failure) return;
          log.warning('an answer was not computed', { insight: one.insight ?? null, reason: messageOf(error) });
        });
      return Promise.resolve();
    },
    cached,
    run: async (project, id) => {
      forget();
      const known = runs.get(nameOf(project, id));
      return known && withAnswer(known.run, cache, context.table);
    },
    cancel: (run) => {
      runs.get(nameOf(run.project, run.id))?.stop.abort(cancelled());
      return Promise.resolve();
    },
    idle: async () => {
      while (background.size > 0) await Promise.all(background);
    },
  };
  return answers;
}

/** Throws the 400 of a place that computes no answers. */
export function answersIn({ answers }: Pick<Context, 'answers'>): Answers {
  return answers ?? invalid(null, 'Answering queries is not offered here. Export the events instead.');
}

/** Returns the run of a project. Throws a 404 when it is not known. */
export const foundRun = async (answers: Answers, project: number, id: string): Promise<ToldRun> =>
  (await answers.run(project, id)) ?? fail('not_found');
