/** An answer is computed over the files that a project has, and kept; it is true until they, or the dates, are others. */
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import { messageOf } from '../../basics/text.ts';
import { allFiles, filesAsListed, type LakeFile } from '../../lake/catalog.ts';
import { propertyReads } from '../../lake/learned-properties.ts';
import type { Model } from '../../lake/schema.ts';
import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { SentQuery } from '../kinds/source.ts';
import type { Refresh } from '../queries/model.ts';
import type { Answerer, AnswerTurn, ComputedAnswer } from './answerer.ts';
import { type AnswerCache, answerKey, forgottenBy, type KeptAnswer } from './cache.ts';
import { clockUseOf, filesDigest, meansTheSame } from './freshness.ts';
import type { Moment, WorldFile, WorldFiles } from './looking-world.ts';
import { forgotten, type QueryRun } from './runs.ts';

/** A query of a project, with the overrides that it was asked with. */
export interface AskedQuery {
  readonly project: ProjectItem;
  readonly query: SentQuery;
  /** What it is asked for, where it is. */
  readonly insight?: number;
  readonly dashboard?: number;
}

/** What is known of the answer of a query, and of the run that goes on behind it or has made it. */
export type KnownAnswer = { readonly key: string; readonly run: QueryRun | null } & (
  | { readonly state: 'kept' | 'computed'; readonly kept: KeptAnswer }
  /** `left_out`: one is kept, but with it those of the request would be too large. */
  | { readonly state: 'missing' | 'left_out'; readonly kept: null }
);

/** The answers of one request have at most so many characters of JSON together: they are put together in one turn. */
export const MOST_TOLD = 10_000_000;

/** The files of projects, by the project's number and their model, as they were listed once. */
export type SeenFiles = Map<string, Promise<readonly WorldFile[]>>;

export const keyOf = ({ project, query }: AskedQuery): string => answerKey(project.id, query, insightMoment(project));

export const momentOf = ({ project }: AskedQuery, now: number): Moment => ({ now, ...insightMoment(project) });

export function computations(
  context: Pick<Context, 'table' | 'clock' | 'log'>,
  answerer: Answerer,
  cache: AnswerCache,
) {
  const { table, clock, log } = context;
  const reads = propertyReads(context);
  const filesOf = async (project: number): Promise<WorldFiles> => {
    const [events, persons] = await Promise.all([
      allFiles(table, project, 'events'),
      allFiles(table, project, 'persons'),
    ]);
    return { events: events.map(worldFile), persons: persons.map(worldFile) };
  };

  /** Finds out whether an answer is true at a moment, of the files that there are. */
  const isFresh = async (
    project: number,
    kept: KeptAnswer,
    moment: Moment,
    seen: SeenFiles = new Map(),
  ): Promise<boolean> => {
    if (!meansTheSame(kept.clock, kept.at, moment.now, moment.timezone)) return false;
    const seenFiles = (model: Model): Promise<readonly WorldFile[]> => {
      const name = `${project} ${model}`;
      const files = seen.get(name) ?? filesAsListed(table, project, model);
      seen.set(name, files);
      return files;
    };
    const { looked } = kept;
    // Only what was looked at can make it untrue.
    const [events, persons] = await Promise.all([
      looked.events.length > 0 ? seenFiles('events') : [],
      looked.persons ? seenFiles('persons') : [],
    ]);
    return kept.files === filesDigest({ events, persons }, looked);
  };

  return {
    isFresh,
    compute: async (
      { project, query, dashboard }: AskedQuery,
      key: string,
      moment: Moment,
      waiting: Omit<AnswerTurn, 'organization'>,
    ): Promise<KeptAnswer> => {
      const files = await filesOf(project.id);
      const found: ComputedAnswer = await answerer.answer(
        { query, moment, files, ...(dashboard !== undefined && { isTile: true }) },
        { organization: project.organization_id, ...waiting },
      );
      for (const reason of found.warnings ?? [])
        log.warning('an answer was made without what is kept of its events', { reason });
      const { properties = [], ...looked } = found.looked;
      const kept: KeptAnswer = {
        at: moment.now,
        answer: found.answer,
        ...(typeof query['interval'] === 'string' && { interval: query['interval'] }),
        looked,
        clock: clockUseOf(query, looked.now),
        files: filesDigest(files, looked),
      };
      const keeping = cache.keep(project, key, kept).catch((error) => {
        log.warning('an answer could not be kept', { reason: messageOf(error) });
      });
      await Promise.all([keeping, reads.note(project.id, properties)]);
      return kept;
    },
    cached: async (asked: readonly AskedQuery[]) => {
      const wanted = asked.map(keyOf);
      const [first] = asked;
      const found = first === undefined ? [] : await cache.findMany(first.project, wanted, MOST_TOLD);
      return wanted.map((key, n) => cachedOf(key, found[n]));
    },
    /** Finds out what is kept of a query, and what becomes of it as `refresh` says. */
    look: async (asked: AskedQuery, refresh: Refresh, seen?: SeenFiles) => {
      const moment = momentOf(asked, clock());
      const key = keyOf(asked);
      const kept = await cache.find(asked.project, key);
      const way = await wayOf(refresh, kept, (one) => isFresh(asked.project.id, one, moment, seen));
      return { key, moment, way, cached: cachedOf(key, kept) };
    },
  };
}

/**
 * Has a query computed for who looks for its answer later: once more, of the project as it is then, if that has forgotten its
 * answers meanwhile. Throws the failure that says to ask again when it has done so both times.
 */
export async function computedToBeFound<T>(
  { table }: Pick<Context, 'table'>,
  asked: AskedQuery,
  compute: (asked: AskedQuery) => Promise<T>,
): Promise<T> {
  /** Returns the project if it has forgotten its answers since it was read so. Nobody looks for those of one that is gone. */
  const changed = async (project: ProjectItem): Promise<ProjectItem | undefined> => {
    const now = await table.get(keys.project(project.id));
    return now !== undefined && forgottenBy(now) !== forgottenBy(project) ? now : undefined;
  };
  const first = await compute(asked);
  const project = await changed(asked.project);
  if (project === undefined) return first;
  const second = await compute({ ...asked, project });
  if ((await changed(project)) !== undefined) throw forgotten();
  return second;
}

const cachedOf = (key: string, kept: KeptAnswer | null | undefined): KnownAnswer =>
  kept
    ? { key, state: 'kept', kept, run: null }
    : { key, state: kept === null ? 'left_out' : 'missing', kept: null, run: null };

/** What a world knows of a file. */
const worldFile = ({ path, bytes, sha256, min_timestamp, max_timestamp }: LakeFile): WorldFile => ({
  path,
  bytes,
  ...(sha256 === undefined ? {} : { sha256 }),
  min_timestamp,
  max_timestamp,
});

/** What becomes of a query: `cached` is told as it is, `both` as it is while it is computed anew behind. */
type Way = 'cached' | 'now' | 'later' | 'both';

/** Returns what becomes of a query, as `refresh` says; `isFresh`: there is an answer, and it is true. */
async function wayOf(
  refresh: Refresh,
  kept: KeptAnswer | undefined,
  isFresh: (kept: KeptAnswer) => Promise<boolean>,
): Promise<Way> {
  if (refresh === 'force_cache') return 'cached';
  if (refresh === 'force_blocking') return 'now';
  if (refresh === 'force_async') return 'later';
  if (kept !== undefined && (await isFresh(kept))) return 'cached';
  if (refresh === 'blocking') return 'now';
  if (refresh === 'async') return 'later';
  if (kept !== undefined) return 'both';
  return refresh === 'lazy_async' ? 'later' : 'now';
}
