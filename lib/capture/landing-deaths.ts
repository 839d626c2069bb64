/**
 * Which requests took down the process that landed them: too much memory, or something worse. An attempt that failed for
 * what they are counts as one that did. The table has it, so that
 * whoever lands next, wherever that is, lets all others go first. A lease that a landing has left tells of the first death
 * of a project, which is noted when it is taken over, and costs nothing before; from then on its segments are tried one by
 * one, and each is noted before it is.
 */

import { HOUR_MS, MINUTE_MS } from '../basics/units.ts';
import { DEATHS_KEPT_MS } from '../lake/lease.ts';
import type { Context } from '../ports/context.ts';
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import { type Deaths, MOST_DEATHS } from '../workers/under-way.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    landingDeaths: LandingDeathsItem;
  }
}

interface LandingDeathsItem extends Item {
  /** Somebody died landing the project, and of which segment is not known. */
  readonly is_open: boolean;
  /** By the names of segments. Absent: nothing is known of any. */
  readonly segments?: JsonText<Readonly<Record<string, SegmentDeaths>>>;
  readonly ttl: number;
}

/** What is known of the requests of a project in one segment, of which an attempt to land them has not ended. */
interface SegmentDeaths {
  /** So many attempts before the last one took down the process that landed, and the service went on. */
  readonly times: number;
  /** With so many before the last one the whole service ended. Absent: with none. */
  readonly with_service?: number;
  /** When the last attempt began, milliseconds since 1970. */
  readonly begun: number;
  /** For which service. Absent: there is none that would outlive whoever lands. */
  readonly service?: string;
}

/**
 * From so many deaths on requests are set apart. One may have another reason; and why a whole service ended is seldom that
 * it landed something, but what does end it has to end, too.
 */
const APART_AFTER: Deaths = { own: 2, withService: MOST_DEATHS.withService };
/** For so long, twice as long each time. */
const PAUSE_MS = { first: 5 * MINUTE_MS, most: HOUR_MS };

/** How many deaths there were beyond those after which requests are set apart; less than 0: they are not. */
const beyond = ({ own, withService }: Deaths): number =>
  Math.max(own - APART_AFTER.own, withService - APART_AFTER.withService);

const pauseAfter = (deaths: Deaths): number =>
  beyond(deaths) < 0 ? 0 : Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** beyond(deaths));

/** The deaths of those who landed requests of one project. Whoever lands the project has them to themselves. */
export class LandingDeaths {
  readonly #context: Pick<Context, 'table' | 'clock'>;
  readonly #projectId: number;
  readonly #service: string | undefined;
  #isOpen: boolean;
  readonly #segments: Map<string, SegmentDeaths>;

  /** `service`: which one this landing is for. An attempt for another one that has not ended is one with which that ended. */
  constructor(
    context: Pick<Context, 'table' | 'clock'>,
    projectId: number,
    item: LandingDeathsItem | undefined,
    service: string | undefined,
  ) {
    this.#context = context;
    this.#projectId = projectId;
    this.#service = service;
    this.#isOpen = item?.is_open ?? false;
    this.#segments = new Map(item?.segments === undefined ? [] : Object.entries(fromJsonText(item.segments)));
  }

  /** How many attempts to land its requests in a segment have not ended. */
  timesOf(segment: string): number {
    const { own, withService } = this.#deathsOf(segment);
    return own + withService;
  }

  /** Whether its requests in a segment are not to be tried now. */
  isApart(segment: string): boolean {
    const { begun = 0 } = this.#segments.get(segment) ?? {};
    return begun + pauseAfter(this.#deathsOf(segment)) > this.#context.clock();
  }

  /** Whether its requests in a segment are set apart, or were so until now: others need not wait for them. */
  wasApart(segment: string): boolean {
    return beyond(this.#deathsOf(segment)) >= 0;
  }

  /** Whether its requests in a segment are to be tried by themselves, after all others. */
  isSuspect(segment: string): boolean {
    return this.#isOpen || this.#segments.has(segment);
  }

  /** Somebody has died landing it, as the table knows: each segment is a suspect until all were tried. */
  open(): void {
    this.#isOpen = true;
  }

  /** An attempt to land its requests in a segment begins, and counts unless it ends. */
  async begin(segment: string): Promise<void> {
    const { own, withService } = this.#deathsOf(segment);
    const service = this.#service === undefined ? {} : { service: this.#service };
    const begun = this.#context.clock();
    this.#segments.set(segment, { times: own, with_service: withService, begun, ...service });
    await this.#write();
  }

  /** The attempt has ended, well or not. The table learns of it with the next write. */
  end(segment: string): void {
    this.#segments.delete(segment);
  }

  /** Notes what has ended. `isOver`: all suspects were tried. */
  async settle(isOver: boolean): Promise<void> {
    this.#isOpen &&= !isOver;
    await this.#write();
  }

  #deathsOf(segment: string): Deaths {
    const found = this.#segments.get(segment);
    if (found === undefined) return { own: 0, withService: 0 };
    const { times, with_service: withService = 0, service } = found;
    return service === this.#service ? { own: times + 1, withService } : { own: times, withService: withService + 1 };
  }

  async #write(): Promise<void> {
    const { table, clock } = this.#context;
    const key = keys.landingDeaths(this.#projectId);
    if (!this.#isOpen && this.#segments.size === 0) {
      await table.write([{ remove: key }]);
      return;
    }
    const ttl = ttlAt(clock() + DEATHS_KEPT_MS);
    const segments = toJsonText(Object.fromEntries(this.#segments));
    await table.write([{ put: { ...key, is_open: this.#isOpen, segments, ttl } }]);
  }
}

/** Reads what is known of projects, in their order, for a landing of the service; undefined: for one that nothing outlives. */
export async function landingDeaths(
  context: Pick<Context, 'table' | 'clock'>,
  projectIds: readonly number[],
  service: string | undefined,
): Promise<{ readonly projectId: number; readonly deaths: LandingDeaths }[]> {
  const items = await context.table.many(projectIds.map((id) => keys.landingDeaths(id)));
  const deathsOf = (id: number, n: number): LandingDeaths => new LandingDeaths(context, id, items[n], service);
  return projectIds.map((projectId, n) => ({ projectId, deaths: deathsOf(projectId, n) }));
}
