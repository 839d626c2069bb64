/** Answers to queries: from the cache while they are true, else computed, once for all who ask at the same time. */
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import { wireInstant } from '../../http/instant.ts';
import { allFiles } from '../../lake/catalog.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, fail, invalid, messageOf } from '../../ports/errors.ts';
import { MINUTE_MS } from '../../ports/units.ts';
import { kindOf } from '../kinds/kinds.ts';
import type { SentQuery } from '../kinds/source.ts';
import type { Refresh } from '../queries/model.ts';
import type { Answered, Answerer } from './answerer.ts';
import { type AnswerCache, answerCache, answerKey, type KeptAnswer } from './cache.ts';
import { clockUseOf, filesDigest, meansTheSame } from './freshness.ts';
import type { Moment, WorldFiles } from './world.ts';

/** A query of a project, with the overrides that it was asked with. */
export interface AskedQuery {
  readonly project: ProjectItem;
  readonly query: SentQuery;
  /** What it is asked for, where it is. */
  readonly insight?: number;
  readonly dashboard?: number;
}

/** Who asks. */
export interface Asker {
  readonly callerLeft?: AbortSignal | undefined;
  /** The name that the caller gives to the run. */
  readonly runId?: string | undefined;
  /** Nobody waits at the other end of a request: the turn of what is computed is that of the background. */
  readonly isBackground?: boolean;
}

/** What is told of a query: its answer, if there is one, and of the run that goes on behind it or has made it. */
export interface Told {
  readonly key: string;
  readonly kept: KeptAnswer | null;
  readonly isCached: boolean;
  readonly run: QueryRun | null;
}

/** A run of a query, as it may be asked about. Instants are milliseconds since 1970. */
interface QueryRun {
  readonly id: string;
  readonly project: number;
  readonly key: string;
  readonly isAsync: boolean;
  readonly startedAt: number;
  readonly insight: number | null;
  readonly dashboard: number | null;
  endedAt: number | null;
  failure: Failure | null;
  kept: KeptAnswer | null;
}

export interface Answers {
  /** Answers as `refresh` says. Throws what computing throws, if it is waited for. */
  ask(asked: AskedQuery, refresh: Refresh, asker: Asker): Promise<Told>;
  /** Tells the answers of queries of one project as they are kept, true or not any more. Nothing is computed. */
  cached(asked: readonly AskedQuery[]): Promise<Told[]>;
  /** A run of the project; undefined: there is none, or it has ended more than a quarter of an hour ago. */
  run(project: number, id: string): QueryRun | undefined;
  /** Stops a run that goes on. */
  cancel(run: QueryRun): void;
  /** Ends when nothing is computed any more. */
  idle(): Promise<void>;
}

/** A computation, and those who wait for it. */
interface Flight {
  readonly promise: Promise<KeptAnswer>;
  readonly stop: AbortController;
  waiting: number;
}

/** An ended run is known for so long. */
const RUN_KNOWN_MS = 15 * MINUTE_MS;
/** So many runs are known; the oldest that have ended go first. */
const MAX_RUNS = 2_000;

/** Why a run that somebody stopped has no answer. */
const cancelled = (): Failure => new Failure('validation', { detail: 'The query was cancelled.', attr: 'query' });

export function answersOf(
  context: Pick<Context, 'table' | 'clock' | 'newId' | 'log'>,
  answerer: Answerer,
  cache: AnswerCache = answerCache(context),
): Answers {
  const { table, clock, newId, log } = context;
  const flights = new Map<string, Flight>();
  const runs = new Map<string, QueryRun>();
  const stops = new Map<QueryRun, () => void>();
  const background = new Set<Promise<unknown>>();

  const filesOf = async (project: number): Promise<WorldFiles> => {
    const [events, persons] = await Promise.all([
      allFiles(table, project, 'events'),
      allFiles(table, project, 'persons'),
    ]);
    const named = (files: typeof events) =>
      files.map(({ path, bytes, sha256, min_timestamp, max_timestamp }) => ({
        path,
        bytes,
        ...(sha256 === undefined ? {} : { sha256 }),
        min_timestamp,
        max_timestamp,
      }));
    return { events: named(events), persons: named(persons) };
  };

  const compute = async (
    { project, query }: AskedQuery,
    key: string,
    moment: Moment,
    waiting: { readonly signal: AbortSignal; readonly isBackground: boolean },
  ): Promise<KeptAnswer> => {
    const files = await filesOf(project.id);
    const { answer, looked }: Answered = await answerer.answer(
      { query, moment, files },
      { organization: project.organization_id, ...waiting },
    );
    const kept: KeptAnswer = {
      at: moment.now,
      answer,
      looked,
      clock: clockUseOf(query, looked.now),
      files: filesDigest(files, looked),
    };
    await cache.keep(project.id, key, kept).catch((error) => {
      log.warning('an answer could not be kept', { reason: messageOf(error) });
    });
    return kept;
  };

  /** Joins the computation that is under way, or begins one; it is stopped when all who wait have left. */
  const join = async (
    asked: AskedQuery,
    key: string,
    moment: Moment,
    { signal, isBackground }: { readonly signal: AbortSignal | undefined; readonly isBackground: boolean },
  ): Promise<KeptAnswer> => {
    const name = `${isBackground ? 'background' : 'waited'} ${key}`;
    let flight = flights.get(name);
    if (flight === undefined || flight.stop.signal.aborted) {
      const stop = new AbortController();
      const promise = compute(asked, key, moment, { signal: stop.signal, isBackground });
      const begun: Flight = { promise, stop, waiting: 0 };
      flight = begun;
      flights.set(name, begun);
      const end = (): void => {
        if (flights.get(name) === begun) flights.delete(name);
      };
      promise.then(end, end);
    }
    const joined = flight;
    joined.waiting += 1;
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(signal?.reason);
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave);
    try {
      return await Promise.race([joined.promise, left]);
    } finally {
      signal?.removeEventListener('abort', leave);
      joined.waiting -= 1;
      if (joined.waiting === 0) joined.stop.abort(cancelled());
    }
  };

  const forget = (): void => {
    const now = clock();
    for (const [id, { endedAt }] of runs) {
      const isOver = endedAt !== null && (runs.size > MAX_RUNS || endedAt + RUN_KNOWN_MS <= now);
      if (isOver) runs.delete(id);
    }
  };

  /** Begins a run, under the caller's name for it or a new one. */
  const begin = (
    asked: AskedQuery,
    key: string,
    moment: Moment,
    { callerLeft, runId, isBackground = false }: Asker,
    isAsync: boolean,
  ): { readonly run: QueryRun; readonly promise: Promise<KeptAnswer> } => {
    forget();
    const id = runId ?? newId();
    const name = `${asked.project.id} ${id}`;
    const known = runs.get(name);
    if (known !== undefined && known.endedAt === null)
      invalid('client_query_id', 'A query with this id is being answered already.');
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
      kept: null,
    };
    const stop = new AbortController();
    const signal = isAsync || callerLeft === undefined ? stop.signal : AbortSignal.any([stop.signal, callerLeft]);
    runs.set(name, run);
    stops.set(run, () => stop.abort(cancelled()));
    const promise = join(asked, key, moment, { signal, isBackground: isAsync || isBackground }).then(
      (kept) => {
        Object.assign(run, { endedAt: clock(), kept });
        return kept;
      },
      (error: unknown) => {
        const isLeft = callerLeft?.aborted === true && error === callerLeft.reason;
        const failure = error instanceof Failure ? error : isLeft ? cancelled() : new Failure('server_error');
        if (!(error instanceof Failure) && isAsync) log.error('a query failed', { error });
        Object.assign(run, { endedAt: clock(), failure });
        throw error;
      },
    );
    const done = promise.catch(() => {}).finally(() => (background.delete(done), stops.delete(run)));
    background.add(done);
    return { run, promise };
  };

  /** Begins a run that nobody waits for. Throws when there is no place for it. */
  const behind = async (asked: AskedQuery, key: string, moment: Moment, asker: Asker): Promise<QueryRun> => {
    const { run, promise } = begin(asked, key, moment, asker, true);
    // What is refused at once (too many wait already) is told at once.
    await Promise.race([promise.catch(() => {}), new Promise((resolve) => setImmediate(resolve))]);
    if (run.failure?.kind === 'throttled') throw run.failure;
    return run;
  };

  return {
    ask: async (asked, refresh, asker) => {
      const { project, query } = asked;
      const moment: Moment = { now: clock(), ...insightMoment(project) };
      const key = keyOf(asked);
      const kept = (await cache.find(project.id, [key]))[0] ?? null;
      const cached = { key, kept, isCached: kept !== null, run: null };
      if (refresh === 'force_cache') return cached;
      kindOf(query);

      const isFresh = async (): Promise<boolean> =>
        kept !== null &&
        meansTheSame(kept.clock, kept.at, moment.now, moment.timezone) &&
        kept.files === filesDigest(await filesOf(project.id), kept.looked);
      const now = async (): Promise<Told> => {
        const { run, promise } = begin(asked, key, moment, asker, false);
        return { key, kept: await promise, isCached: false, run };
      };
      const later = async (): Promise<Told> => ({
        ...cached,
        kept: null,
        isCached: false,
        run: await behind(asked, key, moment, asker),
      });
      const both = async (): Promise<Told> => ({ ...cached, run: await behind(asked, key, moment, asker) });

      if (refresh === 'force_blocking') return now();
      if (refresh === 'force_async') return later();
      if (await isFresh()) return cached;
      if (refresh === 'blocking') return now();
      if (refresh === 'async') return later();
      if (kept !== null) return both();
      return refresh === 'lazy_async' ? later() : now();
    },
    cached: async (asked) => {
      const wanted = asked.map(keyOf);
      const [first] = asked;
      const found = first === undefined ? [] : await cache.find(first.project.id, wanted);
      return wanted.map((key, n) => {
        const kept = found[n] ?? null;
        return { key, kept, isCached: kept !== null, run: null };
      });
    },
    run: (project, id) => {
      forget();
      return runs.get(`${project} ${id}`);
    },
    cancel: (run) => stops.get(run)?.(),
    idle: async () => {
      while (background.size > 0) await Promise.all(background);
    },
  };
}

const keyOf = ({ project, query }: AskedQuery): string => answerKey(project.id, query, insightMoment(project));

/** Throws the 400 of a place that computes no answers. */
export function answersIn({ answers }: Pick<Context, 'answers'>): Answers {
  return answers ?? invalid(null, 'Answering queries is not offered on AWS yet. Export the events instead.');
}

const wireTime = (instant: number | null): string | null => (instant === null ? null : wireInstant(instant));

/** The wire form of a run. */
export function queryStatus(run: QueryRun) {
  return {
    id: run.id,
    team_id: run.project,
    query_async: run.isAsync,
    complete: run.endedAt !== null,
    error: run.failure !== null,
    error_message: run.failure?.body.detail ?? null,
    error_code: run.failure?.body.code ?? null,
    results: run.kept?.answer ?? null,
    start_time: wireInstant(run.startedAt),
    pickup_time: wireInstant(run.startedAt),
    end_time: wireTime(run.endedAt),
    expiration_time: run.endedAt === null ? null : wireInstant(run.endedAt + RUN_KNOWN_MS),
    task_id: null,
    insight_id: run.insight,
    dashboard_id: run.dashboard,
    labels: null,
    query_progress: null,
    cache_key: run.key,
  };
}

/** Returns the run of a project. Throws a 404 when it is not known. */
export const foundRun = (answers: Answers, project: number, id: string): QueryRun =>
  answers.run(project, id) ?? fail('not_found');
