/**
 * What became of captured events, by project and day: for whoever wonders where theirs are, and for the quota. Counted in
 * the process and told to the table now and then, so they hold about: what a process had not told when it died is lost.
 */
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import { type Item, Refused } from '../ports/table/table.ts';
import { DAY_MS, SECOND_MS } from '../ports/units.ts';
import type { Refusals } from './content.ts';
import type { EventRefusal } from './normalize.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    captureCounts: CaptureCountsItem;
  }
}

/** Why events were not taken that their project's people may want to know of. */
export type CountedRefusal = EventRefusal | 'over_quota';

/**
 * The counts of a day, in UTC, as stored: `accepted`, `landed` and `known` events, and for each reason `refused_<reason>`
 * and the last such event, `sample_<reason>`, as the JSON text of a `RefusedSample`. What is 0 may be absent.
 */
export interface CaptureCountsItem extends Item {
  readonly day: string;
  readonly ttl: number;
}

/** One event that was refused. */
export interface RefusedSample {
  readonly event: string | null;
  readonly distinct_id: string | null;
  /** When it came, milliseconds since 1970. */
  readonly at: number;
}

/** Counts are kept for so long after their day. */
const KEPT_MS = 90 * DAY_MS;
/** As many characters of a name are shown; names have up to 200. */
const SAMPLE_LENGTH = 200;

interface Count {
  readonly add: Record<string, number>;
  readonly set: Record<string, string>;
}

/** The counts of one process. */
export class CaptureCounts {
  readonly #context: Pick<Context, 'table' | 'clock' | 'log'>;
  /** What the table was not told of, by project and day. */
  #untold = new Map<string, Count & { readonly projectId: number; readonly day: string }>();
  /** Accepted events of the day that is now, by project. */
  readonly #accepted = new Map<number, { readonly day: string; events: Promise<number> }>();

  constructor(context: Pick<Context, 'table' | 'clock' | 'log'>) {
    this.#context = context;
  }

  add(projectId: number, about: Readonly<Partial<Record<'accepted' | 'landed' | 'known', number>>>): void {
    const { add } = this.#countOf(projectId);
    for (const [name, events] of Object.entries(about)) add[name] = (add[name] ?? 0) + events;
    const today = this.#accepted.get(projectId);
    const { accepted = 0 } = about;
    if (today !== undefined) today.events = today.events.then((events) => events + accepted);
  }

  refuse(projectId: number, refused: Readonly<Partial<Record<CountedRefusal, Refusals>>>): void {
    const { add, set } = this.#countOf(projectId);
    for (const [reason, { events, sample }] of Object.entries(refused)) {
      add[`refused_${reason}`] = (add[`refused_${reason}`] ?? 0) + events;
      set[`sample_${reason}`] = JSON.stringify({
        event: sample.event?.slice(0, SAMPLE_LENGTH) ?? null,
        distinct_id: sample.distinctId?.slice(0, SAMPLE_LENGTH) ?? null,
        at: this.#context.clock(),
      } satisfies RefusedSample);
    }
  }

  /** Returns how many events of a project were accepted on the day that is now. */
  acceptedToday(projectId: number): Promise<number> {
    const day = this.#day();
    const known = this.#accepted.get(projectId);
    if (known?.day === day) return known.events;
    const untold = this.#untold.get(`${projectId} ${day}`)?.add['accepted'] ?? 0;
    const read = this.#context.table
      .get(keys.captureCounts(projectId, day))
      .then((item) => Number(item?.['accepted'] ?? 0) + untold);
    this.#accepted.set(projectId, { day, events: read });
    // A failure is not an answer.
    read.catch(() => this.#accepted.delete(projectId));
    return read;
  }

  /** Tells the table. Of a project that is gone nothing is kept; what fails is told the next time. */
  async tell(): Promise<void> {
    const { table } = this.#context;
    for (const [name, { projectId, day, add, set }] of this.#untold) {
      this.#untold.delete(name);
      const ttl = Math.floor((Date.parse(day) + KEPT_MS) / SECOND_MS);
      try {
        await table.write([
          { check: keys.project(projectId), if: { is: { id: projectId, deleted_at: null } } },
          { change: keys.captureCounts(projectId, day), add, set: { ...set, day, ttl } },
        ]);
      } catch (error) {
        if (error instanceof Refused) continue;
        const since = this.#countOf(projectId, day);
        for (const [field, value] of Object.entries(add)) since.add[field] = (since.add[field] ?? 0) + value;
        Object.assign(since.set, { ...set, ...since.set });
        throw error;
      }
    }
  }

  #day(): string {
    return new Date(this.#context.clock()).toISOString().slice(0, 10);
  }

  #countOf(projectId: number, day = this.#day()): Count {
    const name = `${projectId} ${day}`;
    const found = this.#untold.get(name) ?? { projectId, day, add: {}, set: {} };
    this.#untold.set(name, found);
    return found;
  }
}
