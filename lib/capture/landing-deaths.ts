/**
 * Which requests took down the process that landed them: too much memory, or something worse. The table has it, so that
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
  /** So many attempts have not. */
  readonly times: number;
  /** They are not tried again until then, milliseconds since 1970. */
  readonly until: number;
}

/** One death may have another reason, as a restart; from so many on its requests are set apart. */
const APART_AFTER = 2;
/** For so long, twice as long each time. */
const PAUSE_MS = { first: 5 * MINUTE_MS, most: HOUR_MS };

const pauseAfter = (times: number): number =>
  times < APART_AFTER ? 0 : Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** (times - APART_AFTER));

/** The deaths of those who landed requests of one project. Whoever lands the project has them to themselves. */
export class LandingDeaths {
  readonly #context: Pick<Context, 'table' | 'clock'>;
  readonly #projectId: number;
  #isOpen: boolean;
  readonly #segments: Map<string, SegmentDeaths>;

  constructor(context: Pick<Context, 'table' | 'clock'>, projectId: number, item: LandingDeathsItem | undefined) {
    this.#context = context;
    this.#projectId = projectId;
    this.#isOpen = item?.is_open ?? false;
    this.#segments = new Map(item?.segments === undefined ? [] : Object.entries(fromJsonText(item.segments)));
  }

  /** How many attempts to land its requests in a segment have not ended. */
  timesOf(segment: string): number {
    return this.#segments.get(segment)?.times ?? 0;
  }

  /** Whether its requests in a segment are not to be tried now. */
  isApart(segment: string): boolean {
    return (this.#segments.get(segment)?.until ?? 0) > this.#context.clock();
  }

  /** Whether its requests in a segment are set apart, or were so until now: others need not wait for them. */
  wasApart(segment: string): boolean {
    return this.timesOf(segment) >= APART_AFTER;
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
    const times = this.timesOf(segment) + 1;
    this.#segments.set(segment, { times, until: this.#context.clock() + pauseAfter(times) });
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

/** Reads what is known of projects. */
export async function landingDeaths(
  context: Pick<Context, 'table' | 'clock'>,
  projectIds: readonly number[],
): Promise<ReadonlyMap<number, LandingDeaths>> {
  const items = await context.table.many(projectIds.map((id) => keys.landingDeaths(id)));
  return new Map(projectIds.map((id, n) => [id, new LandingDeaths(context, id, items[n])]));
}
