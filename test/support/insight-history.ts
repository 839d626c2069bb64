/** Random events and persons, and what a naive program knows of them: whose an event is, and on which day it was. */
import * as fc from 'fast-check';
import type { WorldEvent, WorldPerson } from './insight-world.ts';

export interface History {
  readonly events: readonly (WorldEvent & { readonly timestamp: number })[];
  readonly persons: readonly (WorldPerson & { readonly created_at: number })[];
  readonly timezone: string;
  readonly weekStartDay: 0 | 1;
  readonly now: number;
}

/** Zones, and an instant near which their clocks are moved. */
const PLACES = [
  { timezone: 'UTC', around: '2026-03-01T00:00:00Z' },
  { timezone: 'Europe/Berlin', around: '2026-03-29T01:00:00Z' },
  { timezone: 'America/New_York', around: '2025-11-02T06:00:00Z' },
  { timezone: 'Australia/Lord_Howe', around: '2026-04-04T15:00:00Z' },
  { timezone: 'Asia/Kolkata', around: '2026-01-31T18:30:00Z' },
] as const;

const IDS = ['a', 'b', 'c', 'd', 'e'] as const;
const QUARTER_MS = 15 * 60_000;

/**
 * Returns histories of at most so many days: few persons, some of whom become one, many events at the same or at special
 * times, properties that are there or not.
 */
export function histories({ days, events: most = 40 }: { days: number; events?: number }): fc.Arbitrary<History> {
  const steps = Math.round((days * 24 * 60) / 15);
  // Few times of the day, so that persons meet; now and then a time next to the edge of something.
  const offset = fc.oneof(
    fc.integer({ min: -Math.floor(steps / 2), max: Math.ceil(steps / 2) }),
    fc.integer({ min: -Math.floor(days / 2), max: Math.ceil(days / 2) }).map((day) => day * 96),
  );
  const shift = fc.constantFrom(0, 0, 0, 0.001, -0.001, 1, -1);
  const event = fc.record({
    at: fc.tuple(offset, shift),
    event: fc.constantFrom('$pageview', '$pageview', 'buy'),
    distinct_id: fc.constantFrom(...IDS),
    plan: fc.constantFrom('pro', 'free', undefined),
    price: fc.constantFrom(1, 2.5, '4', 'none', undefined),
    isPersonless: fc.boolean().map((yes) => yes || undefined),
  });
  const person = fc.record({
    id: fc.constantFrom(
      '01900000-0000-7000-8000-00000000000a',
      '01900000-0000-7000-8000-00000000000b',
      '01900000-0000-7000-8000-00000000000c',
    ),
    distinct_ids: fc.uniqueArray(fc.constantFrom(...IDS), { minLength: 1, maxLength: 3 }),
    created: offset,
  });
  return fc
    .record({
      place: fc.constantFrom(...PLACES),
      weekStartDay: fc.constantFrom<0 | 1>(0, 1),
      events: fc.array(event, { minLength: 1, maxLength: most }),
      persons: fc.array(person, { maxLength: 4 }),
      personless: fc.boolean(),
    })
    .map(({ place: { timezone, around }, weekStartDay, events, persons, personless }) => {
      const at = Date.parse(around);
      return {
        timezone,
        weekStartDay,
        now: at + (steps / 2 + 4) * QUARTER_MS,
        events: events.map(({ at: [quarters, more], event: name, distinct_id, plan, price, isPersonless }) => ({
          event: name,
          distinct_id,
          timestamp: at + quarters * QUARTER_MS + more,
          properties: {
            ...(plan === undefined ? {} : { plan }),
            ...(price === undefined ? {} : { price }),
            ...(personless && isPersonless ? { $process_person_profile: false } : {}),
          },
        })),
        // All states of a person say the same of when they came to be.
        persons: persons.map(({ created: _created, ...one }) => ({
          ...one,
          created_at: at + (persons.find(({ id }) => id === one.id)?.created ?? 0) * QUARTER_MS,
        })),
      };
    });
}

/** Returns the newest state of whose a distinct_id is; undefined: nobody's. */
export const stateOf = ({ persons }: History, distinctId: string): History['persons'][number] | undefined =>
  persons.findLast(({ distinct_ids }) => distinct_ids.includes(distinctId));

/** Returns who did an event. */
export const personOf = (history: History, { distinct_id }: { distinct_id: string }): string =>
  stateOf(history, distinct_id)?.id ?? distinct_id;

const formats = new Map<string, Intl.DateTimeFormat>();

function localOf(timezone: string, instant: number): Date {
  let format = formats.get(timezone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formats.set(timezone, format);
  }
  const parts = new Map(format.formatToParts(Math.floor(instant)).map(({ type, value }) => [type, Number(value)]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')));
}

/** Returns the name of the interval in which an instant is, as the clocks of the place tell it; hours that occur twice are two. */
export function intervalOf(
  { timezone, weekStartDay }: History,
  interval: 'hour' | 'day' | 'week' | 'month',
  instant: number,
): string {
  const local = localOf(timezone, instant);
  if (interval === 'hour') {
    const offset = local.getTime() - Math.floor(instant / 1000) * 1000;
    return `${local.toISOString().slice(0, 13)} ${offset}`;
  }
  if (interval === 'month') return local.toISOString().slice(0, 7);
  if (interval === 'week') local.setUTCDate(local.getUTCDate() - ((local.getUTCDay() - weekStartDay + 7) % 7));
  return local.toISOString().slice(0, 10);
}

/** Returns the names of the last so many intervals up to that of an instant, in order. */
export function intervalsBack(
  history: History,
  interval: 'hour' | 'day' | 'week' | 'month',
  last: number,
  count: number,
): string[] {
  const stepMs = interval === 'hour' ? QUARTER_MS : 4 * 3_600_000;
  const found: string[] = [];
  for (let at = last; ; at -= stepMs) {
    const name = intervalOf(history, interval, at);
    if (!found.includes(name)) found.unshift(name);
    if (found.length > count) return found.slice(1);
  }
}
