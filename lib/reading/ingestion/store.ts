/** What was counted of captured events: what was refused, and what became of them minute by minute. */

import { dayOf, hourOf } from '../../basics/days.ts';
import { DAY_MS, MINUTE_MS } from '../../basics/units.ts';
import { type CountedRefusal, MINUTE_COUNTS, type RefusedSample } from '../../capture/counts.ts';
import { EVENT_REFUSALS, EVENT_WARNINGS } from '../../capture/normalize.ts';
import { wireInstant } from '../../http/instant.ts';
import { PERSON_REFUSALS } from '../../lake/persons/refusals.ts';
import type { Context } from '../../ports/context.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { compareText } from '../../ports/table/semantics.ts';
import { minuteObject } from './model.ts';

/** Warnings are told of so many days, today among them. */
const DAYS = 30;

const REFUSED = 'refused_';

const MESSAGES: Readonly<Record<CountedRefusal, string>> = {
  ...EVENT_REFUSALS,
  ...EVENT_WARNINGS,
  over_quota: 'The quota of the day was used up.',
  ...PERSON_REFUSALS,
};

/** Returns why events of a project, or what they change of persons, were refused lately, the latest reason first. */
export async function warningsOf({ table, clock }: Pick<Context, 'table' | 'clock'>, projectId: number) {
  const days = Array.from({ length: DAYS }, (_, n) => dayOf(clock() - n * DAY_MS));
  const items = await table.many(days.map((day) => keys.captureCounts(projectId, day)));
  const counted = items.filter((item) => item !== undefined);
  const reasons = new Set(counted.flatMap((item) => Object.keys(item).filter((name) => name.startsWith(REFUSED))));
  return [...reasons]
    .map((field) => {
      const type = field.slice(REFUSED.length) as CountedRefusal;
      const found = counted.filter((item) => item[field] !== undefined);
      const samples = found.map((item) => JSON.parse(String(item[`sample_${type}`])) as RefusedSample);
      const byDay = new Map(found.map((item) => [item.day, Number(item[field])]));
      return {
        type,
        lastSeen: wireInstant(Math.max(...samples.map(({ at }) => at))),
        count: [...byDay.values()].reduce((sum, events) => sum + events, 0),
        sparkline: days.toReversed().map((day) => [byDay.get(day) ?? 0, day]),
        warnings: samples
          .toSorted((a, b) => b.at - a.at)
          .map(({ event, distinct_id, at }) => ({
            type,
            timestamp: wireInstant(at),
            details: { event, distinctId: distinct_id, message: MESSAGES[type] },
          })),
      };
    })
    .toSorted((a, b) => compareText(b.lastSeen, a.lastSeen) || b.count - a.count);
}

/** Returns what became of a project's captured events in the last minutes, the one that is now first. */
export async function minutesOf({ table, clock }: Pick<Context, 'table' | 'clock'>, projectId: number, count: number) {
  const now = Math.floor(clock() / MINUTE_MS) * MINUTE_MS;
  const starts = Array.from({ length: count }, (_, n) => now - n * MINUTE_MS);
  const range = ranges.captureMinutes(projectId, hourOf(starts.at(-1) ?? now), hourOf(now));
  const hours = new Map((await listAll(table, range)).map((item) => [item.hour, item]));
  return starts.map((start) => {
    const item = hours.get(hourOf(start));
    const minute = new Date(start).toISOString().slice(14, 16);
    const counted = MINUTE_COUNTS.map((name) => [name, Number(item?.[`${name}_${minute}`] ?? 0)] as const);
    const delay = item?.[`delay_${minute}`];
    const counts = Object.fromEntries(counted) as Record<(typeof MINUTE_COUNTS)[number], number>;
    return minuteObject(start, counts, delay === undefined ? null : Number(delay));
  });
}
