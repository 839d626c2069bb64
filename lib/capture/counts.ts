/**
 * What became of captured events, by project and day: for whoever wonders where theirs are, and for the quota. Counted in
 * the process and flushed to the table now and then, so they hold about: what is pending when a process dies is lost.
 */

import { dayOf, hourOf } from '../basics/days.ts';
import { wasLately } from '../basics/lately.ts';
import { getOrMake } from '../basics/maps.ts';
import { beginningOf } from '../basics/text.ts';
import { DAY_MS, SECOND_MS } from '../basics/units.ts';
import { type PersonRefusal, type RefusedChanges, refusalsIn } from '../lake/persons/refusals.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import { type Item, type Op, Refused } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import type { EventWarnings, Refusals } from './content.ts';
import type { EventRefusal, EventWarning } from './normalize.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    captureCounts: CaptureCountsItem;
    captureMinutes: CaptureMinutesItem;
  }
}

/** Why events were not taken, or not as they were meant, or what they say of persons was not: for their project's people. */
export type CountedRefusal = EventRefusal | EventWarning | 'over_quota' | PersonRefusal;

/**
 * The counts of a day, in UTC, as stored: `accepted`, `landed` and `known` events, and for each reason `refused_<reason>`
 * and the last such event, `sample_<reason>`, as the JSON text of a `RefusedSample`. What is 0 may be absent.
 */
interface CaptureCountsItem extends Item {
  readonly day: string;
  readonly ttl: number;
}

/** What is counted of a minute; `late` events had happened over an hour before they came. */
export const MINUTE_COUNTS = ['accepted', 'refused', 'late', 'landed', 'known'] as const;
type MinuteCount = (typeof MINUTE_COUNTS)[number];

/**
 * The counts of the minutes of an hour, in UTC, as stored: `<count>_<minute>` (two digits), and `delay_<minute>`, how long
 * the slowest landing of the minute took, from the arrival of its oldest request, in milliseconds.
 */
interface CaptureMinutesItem extends Item {
  /** `2026-01-01T10`. */
  readonly hour: string;
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
/** And those of minutes so long after their hour. */
const MINUTES_KEPT_MS = 8 * DAY_MS;
/** How often counts are flushed at most: a write for each project that events came for. */
const FLUSH_MS = 10 * SECOND_MS;
/** As many characters of a name are shown; names have up to 200. */
const SAMPLE_LENGTH = 200;

interface Count {
  readonly add: Record<string, number>;
  readonly set: Record<string, string | number>;
}

/** What is not in the table yet: of a project's day, and of the minutes in its hours. */
interface Pending extends Count {
  readonly projectId: number;
  readonly day: string;
  readonly hours: Map<string, Count>;
}

/** The counts of one process. */
export class CaptureCounts {
  readonly #context: Pick<Context, 'table' | 'clock' | 'log'>;
  /** What is not in the table yet, by project and day. */
  #pending = new Map<string, Pending>();
  /** Accepted events of the day that is now, by project. */
  readonly #accepted = new Map<number, { readonly day: string; events: Promise<number> }>();
  /** What the table said of a minute at the last flush, by project. */
  readonly #minutes = new Map<number, { readonly minute: string; readonly accepted: number }>();

  #flushedAt: number;

  constructor(context: Pick<Context, 'table' | 'clock' | 'log'>) {
    this.#context = context;
    this.#flushedAt = context.clock();
  }

  /** `delayMs`: of a landing. */
  add(projectId: number, about: Readonly<Partial<Record<Exclude<MinuteCount, 'refused'> | 'delayMs', number>>>): void {
    const { delayMs, late = 0, ...daily } = about;
    const { add } = this.#countOf(projectId);
    for (const [name, events] of Object.entries(daily)) add[name] = (add[name] ?? 0) + events;
    this.#addToMinute(projectId, { ...daily, late }, delayMs);
    const today = this.#accepted.get(projectId);
    const { accepted = 0 } = about;
    if (today !== undefined) today.events = today.events.then((events) => events + accepted);
  }

  refuse(
    projectId: number,
    refused: Readonly<Partial<Record<Exclude<CountedRefusal, EventWarning | PersonRefusal>, Refusals>>>,
  ): void {
    this.#addToMinute(projectId, { refused: Object.values(refused).reduce((sum, { events }) => sum + events, 0) });
    for (const [reason, refusals] of Object.entries(refused)) this.#refuseFor(projectId, reason, refusals);
  }

  /** Of events that were taken: no minute counts them as refused. */
  warn(projectId: number, warned: EventWarnings): void {
    for (const [warning, events] of Object.entries(warned)) this.#refuseFor(projectId, warning, events);
  }

  /** The same. */
  refuseChanges(projectId: number, refused: RefusedChanges): void {
    for (const [reason, { changes, distinctId }] of refusalsIn(refused))
      this.#refuseFor(projectId, reason, { events: changes, sample: { event: null, distinctId } });
  }

  /** Returns how many events of a project were accepted on the day that is now. */
  acceptedToday(projectId: number): Promise<number> {
    const day = this.#day();
    const known = this.#accepted.get(projectId);
    if (known?.day === day) return known.events;
    const pending = this.#pendingOf(projectId, day);
    const read = this.#context.table
      .many([keys.captureCounts(projectId, day)])
      .then(([item]) => Number(item?.['accepted'] ?? 0) + pending);
    this.#accepted.set(projectId, { day, events: read });
    // A failure is not an answer.
    read.catch(() => this.#accepted.delete(projectId));
    return read;
  }

  /**
   * Returns how many events of a project were accepted in the minute that is now: by this process, and by the others as
   * far as they had flushed their counts when this one did so last.
   */
  acceptedThisMinute(projectId: number): number {
    const minute = this.#minute();
    const flushed = this.#minutes.get(projectId);
    return this.#pendingOfMinute(projectId, minute) + (flushed?.minute === minute ? flushed.accepted : 0);
  }

  /** Flushes if that was not done lately, or `atOnce`. Never throws. */
  async flushIfDue(atOnce = false): Promise<void> {
    const { clock, log } = this.#context;
    const now = clock();
    if (!atOnce && wasLately(this.#flushedAt, now, FLUSH_MS)) return;
    this.#flushedAt = now;
    await this.flush().catch((error: unknown) => log.warning('counts were not flushed', { error }));
  }

  /**
   * Adds what is pending to the table. Of a project that is gone nothing is kept; what fails is flushed the next time, and so
   * is what of a project is counted after its turn.
   */
  async flush(): Promise<void> {
    const { table } = this.#context;
    const names = [...this.#pending.keys()];
    for (const name of names) {
      const pending = this.#pending.get(name);
      if (pending === undefined) continue;
      this.#pending.delete(name);
      const { projectId, day, add, set, hours } = pending;
      const ttl = ttlAt(Date.parse(day) + KEPT_MS);
      const minutes = [...hours].map(
        ([hour, count]): Op => ({
          change: keys.captureMinutes(projectId, hour),
          add: count.add,
          set: { ...count.set, hour, ttl: ttlAt(Date.parse(day) + DAY_MS + MINUTES_KEPT_MS) },
        }),
      );
      try {
        await table.write([
          { check: keys.project(projectId), if: { is: { id: projectId, deleted_at: null } } },
          { change: keys.captureCounts(projectId, day), add, set: { ...set, day, ttl } },
          ...minutes,
        ]);
      } catch (error) {
        if (error instanceof Refused) continue;
        const since = this.#countOf(projectId, day);
        addTo(since, { add, set });
        for (const [hour, count] of hours) addTo(getOrMake(since.hours, hour, emptyCount), count);
        throw error;
      }
      await this.#learn(projectId);
    }
  }

  /** Takes in what all processes have accepted, where it is asked for. */
  async #learn(projectId: number): Promise<void> {
    const minute = this.#minute();
    const day = minute.slice(0, 10);
    const [ofDay, ofHour] = await this.#context.table.many([
      keys.captureCounts(projectId, day),
      keys.captureMinutes(projectId, minute.slice(0, 13)),
    ]);
    this.#minutes.set(projectId, { minute, accepted: Number(ofHour?.[`accepted_${minute.slice(14)}`] ?? 0) });
    if (this.#accepted.get(projectId)?.day !== day) return;
    const events = Number(ofDay?.['accepted'] ?? 0) + this.#pendingOf(projectId, day);
    this.#accepted.set(projectId, { day, events: Promise.resolve(events) });
  }

  /** What this process has accepted on a day and not flushed yet. */
  #pendingOf(projectId: number, day: string): number {
    return this.#pending.get(`${projectId} ${day}`)?.add['accepted'] ?? 0;
  }

  /** The same in a minute. */
  #pendingOfMinute(projectId: number, minute: string): number {
    const hours = this.#pending.get(`${projectId} ${minute.slice(0, 10)}`)?.hours;
    return hours?.get(minute.slice(0, 13))?.add[`accepted_${minute.slice(14)}`] ?? 0;
  }

  /** `2026-01-01T10:07`, in UTC. */
  #minute(): string {
    return new Date(this.#context.clock()).toISOString().slice(0, 16);
  }

  #day(): string {
    return dayOf(this.#context.clock());
  }

  #countOf(projectId: number, day = this.#day()): Pending {
    return getOrMake(this.#pending, `${projectId} ${day}`, () => ({
      projectId,
      day,
      ...emptyCount(),
      hours: new Map(),
    }));
  }

  #refuseFor(projectId: number, reason: string, { events, sample }: Refusals): void {
    const { add, set } = this.#countOf(projectId);
    add[`refused_${reason}`] = (add[`refused_${reason}`] ?? 0) + events;
    set[`sample_${reason}`] = JSON.stringify({
      event: beginning(sample.event),
      distinct_id: beginning(sample.distinctId),
      at: this.#context.clock(),
    } satisfies RefusedSample);
  }

  #addToMinute(projectId: number, counts: Readonly<Partial<Record<MinuteCount, number>>>, delayMs?: number): void {
    const now = this.#context.clock();
    const minute = new Date(now).toISOString().slice(14, 16);
    const { add, set } = getOrMake(this.#countOf(projectId).hours, hourOf(now), emptyCount);
    for (const [name, events] of Object.entries(counts))
      if (events > 0) add[`${name}_${minute}`] = (add[`${name}_${minute}`] ?? 0) + events;
    if (delayMs === undefined) return;
    set[`delay_${minute}`] = Math.max(Number(set[`delay_${minute}`] ?? 0), delayMs);
  }
}

const beginning = (name: string | null): string | null => name && beginningOf(name, SAMPLE_LENGTH);

const emptyCount = (): Count => ({ add: {}, set: {} });

/** Adds what was counted before; what was set since stays. */
function addTo(since: Count, before: Count): void {
  for (const [field, value] of Object.entries(before.add)) since.add[field] = (since.add[field] ?? 0) + value;
  Object.assign(since.set, { ...before.set, ...since.set });
}
