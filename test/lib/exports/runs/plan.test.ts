import * as fc from 'fast-check';
import { HOUR_MS } from '../../../../lib/basics/units.ts';
import {
  type Active,
  acquire,
  BATCH_SIZE,
  backfillRange,
  batchesOf,
  batchOf,
  claim,
  dueIntervals,
  firstIntervalStart,
  initialPlan,
  intervalAt,
  intervalsOf,
  MAX_RANGES,
  nextDue,
  type Plan,
  planFields,
  planOf,
  release,
  type Scheduled,
  settle,
  skipMissed,
  spreadOf,
} from '../../../../lib/exports/runs/plan.ts';
import { alignDown, FREQUENCIES, type Interval, LENGTH, slice } from '../../../../lib/lake/intervals.ts';
import { CLOUD_SETTINGS } from '../../../../lib/ports/settings.ts';

const at = (text: string): number => Date.parse(`2026-${text}Z`);
const TIMING = { settleSeconds: 30, isSpread: false };
const text = ({ start, end }: Interval): string =>
  `${new Date(start).toISOString().slice(5, 16)} ${new Date(end).toISOString().slice(5, 16)}`;

const hourly = (fields: Partial<Scheduled> = {}): Scheduled => ({
  id: '01890000-0000-7000-8000-000000000001',
  interval: 'hour',
  paused: false,
  last_paused_at: null,
  start_at: null,
  end_at: null,
  deleted_at: null,
  ...fields,
});

const wanted = (from: string, to: string, fields: Partial<Active> = {}): Omit<Active, 'version'> => ({
  execution: 'somebody',
  by: 'schedule',
  batch: null,
  from: at(from),
  to: at(to),
  since: at(to),
  ...fields,
});

function ran(plan: Plan, item: Scheduled, from: string, to: string, by = 'schedule'): Plan {
  const result = acquire(plan, item.interval, wanted(from, to, { by }));
  if ('taken' in result) throw new Error('taken');
  return settle(result.plan, 'somebody');
}

/** Created at 13:20 on 7 January, a Wednesday. */
const item = hourly();
const plan = initialPlan(item, at('01-07T13:20:00'));

describe('the schedule', () => {
  test('begins with the interval in which the export was made', () => {
    expect(dueIntervals(item, plan, at('01-07T14:00:29'), TIMING)).toEqual([]);
    expect(dueIntervals(item, plan, at('01-07T14:00:30'), TIMING).map(text)).toEqual(['01-07T13:00 01-07T14:00']);
    expect(firstIntervalStart(item, plan)).toBe(at('01-07T13:00:00'));
    expect(nextDue(item, plan, at('01-07T13:20:00'), TIMING)).toBe(at('01-07T14:00:30'));
  });

  test('makes up for three days in order, a batch at a time', () => {
    const now = at('01-10T13:59:00');
    const due = dueIntervals(item, plan, now, TIMING);
    expect(due).toHaveLength(72);
    expect(due.map(text).at(-1)).toBe('01-10T12:00 01-10T13:00');
    const short = hourly({ interval: 'every 5 minutes' });
    const batch = dueIntervals(short, plan, now, TIMING);
    expect(batch).toHaveLength(BATCH_SIZE);
    expect(batch.map(text).at(-1)).toBe('01-07T20:55 01-07T21:00');
  });

  test('is due at once for what it missed, and never in the past', () => {
    const now = at('01-10T13:59:00');
    expect(nextDue(item, plan, now, TIMING)).toBe(now);
  });

  test('runs nothing of an export that is paused, deleted or past its end', () => {
    const now = at('01-07T20:00:00');
    for (const fields of [{ paused: true }, { deleted_at: now }, { end_at: at('01-07T13:59:59') }]) {
      expect(dueIntervals(hourly(fields), plan, now, TIMING)).toEqual([]);
      expect(nextDue(hourly(fields), plan, now, TIMING)).toBeNull();
    }
  });

  test('takes intervals that end exactly at start_at and at end_at', () => {
    const bounded = hourly({ start_at: at('01-07T16:00:00'), end_at: at('01-07T18:00:00') });
    expect(dueIntervals(bounded, plan, at('01-08T00:00:00'), TIMING).map(text)).toEqual([
      '01-07T15:00 01-07T16:00',
      '01-07T16:00 01-07T17:00',
      '01-07T17:00 01-07T18:00',
    ]);
    expect(firstIntervalStart(bounded, plan)).toBe(at('01-07T15:00:00'));
    const between = hourly({ start_at: at('01-07T16:00:00') + 1, end_at: at('01-07T18:00:00') - 1 });
    expect(dueIntervals(between, plan, at('01-08T00:00:00'), TIMING).map(text)).toEqual(['01-07T16:00 01-07T17:00']);
  });

  test('on AWS starts hourly exports over a quarter of the hour, each always at the same time', () => {
    const ids = Array.from({ length: 500 }, (_, n) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`);
    const spread = ids.map((id) => spreadOf(hourly({ id }), CLOUD_SETTINGS));
    expect(spread).toEqual(ids.map((id) => spreadOf(hourly({ id }), CLOUD_SETTINGS)));
    expect(Math.min(...spread)).toBeLessThan(30_000);
    expect(Math.max(...spread)).toBeGreaterThan(870_000);
    expect(Math.max(...spread)).toBeLessThan(900_000);
    expect(spread.every((each) => each < 900_000)).toBe(true);
    const early = ids.filter((_, n) => (spread[n] ?? 0) < 450_000).length;
    expect(early).toBeGreaterThan(200);
    expect(early).toBeLessThan(300);
    expect(spreadOf(item, TIMING)).toBe(0);
  });
});

describe('a pause', () => {
  const ranTill14 = ran(plan, item, '01-07T13:00:00', '01-07T14:00:00');

  test('passes over the intervals that end in it, and only over those', () => {
    const paused = hourly({ paused: true, last_paused_at: at('01-07T14:10:00') });
    const after = skipMissed(ranTill14, paused, at('01-07T17:30:00'));
    expect(dueIntervals(item, after, at('01-07T19:00:30'), TIMING).map(text)).toEqual([
      '01-07T17:00 01-07T18:00',
      '01-07T18:00 01-07T19:00',
    ]);
  });

  test('that begins before an interval has settled, or after a long outage, loses nothing that ended before it', () => {
    const paused = hourly({ paused: true, last_paused_at: at('01-07T16:00:10') });
    const after = skipMissed(ranTill14, paused, at('01-07T18:30:00'));
    const first = dueIntervals(item, after, at('01-07T19:30:00'), TIMING);
    expect(first.map(text)).toEqual(['01-07T14:00 01-07T15:00', '01-07T15:00 01-07T16:00']);
    const caughtUp = ran(after, item, '01-07T14:00:00', '01-07T16:00:00');
    expect(dueIntervals(item, caughtUp, at('01-07T19:30:00'), TIMING).map(text)).toEqual(['01-07T18:00 01-07T19:00']);
    expect(caughtUp.skipped).toEqual([]);
  });

  test('that ends within its interval passes over nothing', () => {
    const paused = hourly({ paused: true, last_paused_at: at('01-07T14:10:00') });
    expect(skipMissed(ranTill14, paused, at('01-07T14:50:00'))).toBe(ranTill14);
  });

  test('leaves its intervals to a backfill', () => {
    const paused = hourly({ paused: true, last_paused_at: at('01-07T14:10:00') });
    const after = skipMissed(ranTill14, paused, at('01-07T17:30:00'));
    const range = { from: at('01-07T14:10:00'), to: at('01-07T17:30:00') };
    expect(backfillRange(after, 'hour', range, at('01-07T17:30:00'))).toEqual({
      from: at('01-07T14:00:00'),
      to: at('01-07T17:00:00'),
    });
  });
});

describe('what the schedule has passed over', () => {
  /** Runs one hour and pauses for the next, so many times, from 13:00 on. */
  function pausedOften(times: number, first = plan): Plan {
    let after = first;
    for (let n = 0; n < times; n += 1) {
      const { next } = after;
      const result = acquire(after, 'hour', {
        ...wanted('01-07T13:00:00', '01-07T14:00:00'),
        from: next,
        to: next + HOUR_MS,
      });
      if ('taken' in result) throw new Error('taken');
      const paused = hourly({ paused: true, last_paused_at: next + HOUR_MS });
      after = skipMissed(settle(result.plan, 'somebody'), paused, next + 2 * HOUR_MS);
    }
    return after;
  }

  test('in 6,000 pauses leaves a plan that is as small as after 400, and room for backfills', () => {
    const often = pausedOften(6_000);
    expect(often.next).toBe(plan.next + 12_000 * HOUR_MS);
    expect(often.ran).toHaveLength(400);
    expect(JSON.stringify(planFields(often)).length).toBeLessThan(30_720);
    expect('plan' in claim(often, 'hour', 'of long ago', { from: 0, to: HOUR_MS })).toBe(true);
    const [oldest] = often.ran;
    expect(oldest).toEqual({ from: plan.next, to: plan.next + (2 * 5_600 + 1) * HOUR_MS, frequency: 'hour' });
  });

  test('of a plan from before, which holds thousands of ranges, becomes one with the next run', () => {
    const nth = (n: number) => ({ from: n * 2 * HOUR_MS, to: (n * 2 + 1) * HOUR_MS, frequency: 'hour' as const });
    const large = { ...plan, ran: Array.from({ length: 5_000 }, (_, n) => nth(n)) };
    expect(pausedOften(1, large).ran).toHaveLength(400);
  });

  test('keeps the edges that it had while the frequency is what it was', () => {
    const often = pausedOften(500);
    for (let n = 0; n < 1_000; n += 1) {
      const start = plan.next + n * HOUR_MS;
      expect(intervalAt(often, 'hour', start)).toEqual({ start, end: start + HOUR_MS });
    }
  });

  test('stays apart where a backfill has claimed it, or its ranges have not one grid', () => {
    const range = { from: plan.next + HOUR_MS, to: plan.next + 2 * HOUR_MS };
    const once = pausedOften(1);
    const claimed = claim(once, 'every 5 minutes', 'mine', range);
    if ('refused' in claimed) throw new Error('refused');
    const often = pausedOften(500, claimed.plan);
    expect(often.ran.slice(0, 2).map(({ from, to }) => to - from)).toEqual([HOUR_MS, (2 * 102 - 1) * HOUR_MS]);
    expect(intervalsOf(often, 'hour', range).count).toBe(12);
    const ranges = Array.from({ length: 500 }, (_, n) => ({
      from: n * 2 * HOUR_MS,
      to: (n * 2 + 1) * HOUR_MS,
      frequency: n % 2 === 0 ? ('hour' as const) : ('every 5 minutes' as const),
    }));
    expect(pausedOften(1, { ...plan, ran: ranges }).ran).toHaveLength(501);
  });
});

test('what start_at or end_at forbade when its time came is not made up for when they are taken away', () => {
  const late = hourly({ start_at: at('01-08T00:00:00') });
  const freed = skipMissed(plan, late, at('01-07T18:30:00'));
  expect(dueIntervals(item, freed, at('01-07T19:00:30'), TIMING).map(text)).toEqual(['01-07T18:00 01-07T19:00']);
  const ended = hourly({ end_at: at('01-07T14:00:00') });
  const again = skipMissed(plan, ended, at('01-07T18:30:00'));
  expect(dueIntervals(item, again, at('01-07T19:00:30'), TIMING).map(text)).toEqual(['01-07T13:00 01-07T14:00']);
});

describe('a change of the interval', () => {
  const ranTill14 = ran(plan, item, '01-07T13:00:00', '01-07T14:00:00');
  const daily = hourly({ interval: 'day' });

  test('goes on from the last planned end, with a short first window', () => {
    expect(dueIntervals(daily, ranTill14, at('01-09T01:00:00'), TIMING).map(text)).toEqual([
      '01-07T14:00 01-08T00:00',
      '01-08T00:00 01-09T00:00',
    ]);
  });

  test('lets ranges that were run keep their intervals in a backfill, and cuts new ones at their edges', () => {
    const range = { from: at('01-06T00:00:00'), to: at('01-09T00:00:00') };
    const later = ran(ranTill14, daily, '01-07T14:00:00', '01-09T00:00:00');
    expect(slice(intervalsOf(later, 'day', range), 0, 9).map(text)).toEqual([
      '01-06T00:00 01-07T00:00',
      '01-07T00:00 01-07T13:00',
      '01-07T13:00 01-07T14:00',
      '01-07T14:00 01-08T00:00',
      '01-08T00:00 01-09T00:00',
    ]);
  });

  test('widens a backfill to whole old intervals', () => {
    const oneDay = ran(plan, daily, '01-05T00:00:00', '01-06T00:00:00', 'a backfill');
    const range = { from: at('01-05T10:00:00'), to: at('01-05T11:00:00') };
    expect(backfillRange(oneDay, 'hour', range, at('01-07T13:20:00'))).toEqual({
      from: at('01-05T00:00:00'),
      to: at('01-06T00:00:00'),
    });
  });
});

test('the schedule does not come back to what it has passed over when what was running then ends', () => {
  const running = acquire(plan, 'hour', wanted('01-07T13:00:00', '01-07T14:00:00'));
  if ('taken' in running) throw new Error('taken');
  const later = { ...item, start_at: at('01-07T18:00:00') };
  const passed = skipMissed(running.plan, later, at('01-07T20:10:00'));
  expect(passed.next).toBe(at('01-07T17:00:00'));
  expect(settle(passed, 'somebody').next).toBe(passed.next);
});

describe('who holds a range', () => {
  test('keeps others out until it is settled, and is given the same again', () => {
    const first = acquire(plan, 'hour', wanted('01-07T13:00:00', '01-07T15:00:00', { execution: 'first' }));
    if ('taken' in first) throw new Error('taken');
    expect(first.mine.version).toBe(plan.version + 1);
    const second = wanted('01-07T14:00:00', '01-07T16:00:00', { execution: 'second' });
    expect(acquire(first.plan, 'hour', second)).toEqual({ taken: first.mine });
    expect(acquire(first.plan, 'hour', { ...wanted('01-07T13:00:00', '01-07T15:00:00'), execution: 'first' })).toEqual(
      first,
    );
    const beside = acquire(first.plan, 'hour', wanted('01-07T15:00:00', '01-07T16:00:00', { execution: 'second' }));
    expect('mine' in beside).toBe(true);
    const settled = settle(first.plan, 'first');
    expect(settled.next).toBe(at('01-07T15:00:00'));
    expect('mine' in acquire(settled, 'hour', second)).toBe(true);
    expect(settle(settled, 'first')).toBe(settled);
  });

  test('on behalf of a backfill does not move the schedule', () => {
    expect(ran(plan, item, '01-07T13:00:00', '01-07T14:00:00', 'a backfill').next).toBe(plan.next);
  });
});

test('ranges that were run grow together on their grid, and keep the edges that are off it', () => {
  let grown = plan;
  for (const hour of ['13', '14', '15']) {
    grown = ran(grown, item, `01-07T${hour}:00:00`, `01-07T${Number(hour) + 1}:00:00`);
  }
  expect(grown.ran).toEqual([{ from: at('01-07T13:00:00'), to: at('01-07T16:00:00'), frequency: 'hour' }]);
  const daily = hourly({ interval: 'day' });
  const off = ran(ran(plan, daily, '01-07T00:00:00', '01-07T13:00:00', 'b'), daily, '01-07T13:00:00', '01-08T00:00:00');
  expect(off.ran).toHaveLength(2);
});

describe('a backfill', () => {
  test('is aligned outward, and leaves intervals that have not ended', () => {
    const now = at('01-07T13:20:00');
    expect(backfillRange(plan, 'hour', { from: at('01-07T09:59:59'), to: at('01-07T10:00:01') }, now)).toEqual({
      from: at('01-07T09:00:00'),
      to: at('01-07T11:00:00'),
    });
    expect(backfillRange(plan, 'hour', { from: at('01-07T12:30:00'), to: now }, now)).toEqual({
      from: at('01-07T12:00:00'),
      to: at('01-07T13:00:00'),
    });
    expect(backfillRange(plan, 'hour', { from: at('01-07T13:00:00'), to: now }, now)).toBeUndefined();
  });

  test('keeps another one off its range until it is released', () => {
    const range = { from: at('01-01T00:00:00'), to: at('01-02T00:00:00') };
    const first = claim(plan, 'hour', 'first', range);
    if ('refused' in first) throw new Error('refused');
    expect(claim(first.plan, 'hour', 'second', { from: range.to - 1, to: range.to + 1 })).toMatchObject({
      refused: 'overlap',
      by: { backfill: 'first' },
    });
    expect('plan' in claim(first.plan, 'hour', 'second', { from: range.to, to: range.to + HOUR_MS })).toBe(true);
    expect('plan' in claim(release(first.plan, 'first'), 'hour', 'second', range)).toBe(true);
    expect(release(plan, 'unknown')).toBe(plan);
  });

  test('makes another version of the plan, and its release another one again: who read it before changes nothing', () => {
    const claimed = claim(plan, 'hour', 'mine', { from: at('01-01T00:00:00'), to: at('01-02T00:00:00') });
    if ('refused' in claimed) throw new Error('refused');
    expect([claimed.plan.version, release(claimed.plan, 'mine').version]).toEqual([plan.version + 1, plan.version + 2]);
  });

  test('keeps its intervals when the interval changes and the schedule goes on meanwhile', () => {
    const late = at('01-08T10:00:00');
    const range = { from: at('01-06T00:00:00'), to: at('01-08T00:00:00') };
    const claimed = claim(plan, 'hour', 'mine', range);
    if ('refused' in claimed) throw new Error('refused');
    const daily = hourly({ interval: 'day' });
    const before = slice(intervalsOf(claimed.plan, 'hour', range), 0, 96).map(text);
    const due = dueIntervals(daily, claimed.plan, late, TIMING);
    expect(due.map(text).slice(0, 2)).toEqual(['01-07T13:00 01-07T14:00', '01-07T14:00 01-07T15:00']);
    const after = ran(claimed.plan, daily, '01-07T13:00:00', '01-08T00:00:00');
    expect(slice(intervalsOf(after, 'day', range), 0, 96).map(text)).toEqual(before);
    expect(before).toHaveLength(48);
  });

  test('of 200,000 intervals is counted and cut into batches without being held in memory', () => {
    const from = alignDown(at('01-07T13:00:00') - 200_000 * 300_000, 'every 5 minutes');
    const intervals = intervalsOf(plan, 'every 5 minutes', { from, to: at('01-07T13:00:00') });
    expect(intervals.count).toBe(200_000);
    expect(batchesOf(intervals.count)).toBe(2_084);
    expect(batchOf(intervals, 2_083)).toHaveLength(200_000 - 2_083 * BATCH_SIZE);
    expect(batchOf(intervals, 2_083).at(-1)?.end).toBe(at('01-07T13:00:00'));
    expect(batchOf(intervals, 2_084)).toEqual([]);
  });

  test('of up to 100,000 intervals has its intervals without gap or overlap, those that were run as they were', () => {
    const MOST = 100_000;
    const piece = fc.record({
      interval: fc.constantFrom(...FREQUENCIES),
      after: fc.integer({ min: 0, max: 200 }),
      count: fc.integer({ min: 1, max: BATCH_SIZE }),
    });
    const pieces = fc.array(piece, { maxLength: 12 });
    const asked = fc.record({ interval: fc.constantFrom(...FREQUENCIES), count: fc.integer({ min: 1, max: MOST }) });
    const places = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, asked, places, (all, { interval: frequency, count }, looks) => {
        const begin = at('01-07T13:00:00') - count * LENGTH[frequency];
        let known = plan;
        let edge = begin;
        const run: Interval[] = [];
        for (const one of all) {
          const { start } = intervalAt(known, one.interval, edge + one.after * LENGTH['every 5 minutes']);
          const from = Math.max(start, edge);
          const to = Math.min(alignDown(from, one.interval) + one.count * LENGTH[one.interval], plan.next);
          if (from >= to) continue;
          const mine = { ...wanted('01-01T00:00:00', '01-01T00:00:00'), by: 'b', from, to };
          const acquired = acquire(known, one.interval, mine);
          if ('taken' in acquired) throw new Error('taken');
          run.push(...slice(intervalsOf(acquired.plan, one.interval, { from, to }), 0, BATCH_SIZE));
          known = settle(acquired.plan, 'somebody');
          edge = to;
        }
        const range = backfillRange(known, frequency, { from: begin, to: plan.next }, plan.next);
        if (range === undefined) throw new Error('nothing has ended');
        const intervals = intervalsOf(known, frequency, range);
        expect([intervals.at(0).start, intervals.at(intervals.count - 1).end]).toEqual([range.from, range.to]);
        for (const look of looks) {
          const n = Math.floor(look * intervals.count);
          const interval = intervals.at(n);
          expect(interval.start).toBeLessThan(interval.end);
          expect(intervalAt(known, frequency, interval.start)).toEqual(interval);
          expect(n === 0 ? range.from : intervals.at(n - 1).end).toBe(interval.start);
          expect(batchOf(intervals, Math.floor(n / BATCH_SIZE))[n % BATCH_SIZE]).toEqual(interval);
        }
        for (const interval of run) expect(intervalAt(known, frequency, interval.start)).toEqual(interval);
      }),
    );
  });

  test('is refused when the plan would have to keep too much apart, which then still fits into 60 KB', () => {
    let scattered = plan;
    const hour = HOUR_MS;
    for (let n = 0; n < MAX_RANGES; n++) {
      const from = at('01-01T00:00:00') - 2 * n * hour;
      const result = acquire(scattered, 'hour', {
        ...wanted('01-01T00:00:00', '01-01T01:00:00'),
        by: 'b',
        from,
        to: from + hour,
      });
      if ('taken' in result) throw new Error('taken');
      scattered = settle(result.plan, 'somebody');
    }
    expect(claim(scattered, 'hour', 'one more', { from: 0, to: hour })).toEqual({ refused: 'ranges' });
    const joining = { from: at('01-01T00:00:00') - 2 * hour, to: at('01-01T00:00:00') };
    expect('plan' in claim(scattered, 'hour', 'joins', joining)).toBe(true);
    expect(JSON.stringify(planFields(scattered)).length).toBeLessThan(61_440);
  });

  test('of what was run is taken however much the plan keeps apart, and so is one that joins two ranges of it', () => {
    const nth = (n: number) => ({ from: n * 2 * HOUR_MS, to: (n * 2 + 1) * HOUR_MS });
    const ranges = Array.from({ length: MAX_RANGES + 3 }, (_, n) => ({ ...nth(n), frequency: 'hour' as const }));
    const scattered = { ...plan, ran: ranges };
    expect('plan' in claim(scattered, 'hour', 'a retry', nth(7))).toBe(true);
    expect('plan' in claim(scattered, 'hour', 'joins', { from: nth(7).to, to: nth(8).from })).toBe(true);
    expect(claim(scattered, 'hour', 'one more', nth(MAX_RANGES + 9))).toEqual({ refused: 'ranges' });
  });

  test('is refused when it would have to keep too much apart with those that are claimed, and no sooner', () => {
    const nth = (n: number) => ({ from: n * 2 * HOUR_MS, to: (n * 2 + 1) * HOUR_MS });
    const ranges = Array.from({ length: MAX_RANGES - 1 }, (_, n) => ({ ...nth(n), frequency: 'hour' as const }));
    const last = claim({ ...plan, ran: ranges }, 'hour', 'last', nth(MAX_RANGES));
    if ('refused' in last) throw new Error('refused');
    expect(claim(last.plan, 'hour', 'one more', nth(MAX_RANGES + 1))).toEqual({ refused: 'ranges' });
  });

  test('is refused beyond 200 that have not ended, also where their ranges join: a plan with them is far from too large', () => {
    const range = (n: number) => ({
      from: at('01-01T00:00:00') - (n + 1) * HOUR_MS,
      to: at('01-01T00:00:00') - n * HOUR_MS,
    });
    const id = (n: number) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`;
    let full = plan;
    for (let n = 0; n < 200; n++) {
      const claimed = claim(full, 'hour', id(n), range(n));
      if ('refused' in claimed) throw new Error(`the ${n + 1}th is refused`);
      full = claimed.plan;
    }
    expect(claim(full, 'hour', id(200), range(200))).toEqual({ refused: 'claims' });
    expect('plan' in claim(release(full, id(7)), 'hour', id(200), range(200))).toBe(true);
    expect(JSON.stringify(planFields(full)).length).toBeLessThan(61_440);
  });
});

test('a plan is read as it was written', () => {
  const claimed = claim(plan, 'hour', 'b', { from: at('01-01T00:00:00'), to: at('01-02T00:00:00') });
  const held = acquire(
    'plan' in claimed ? claimed.plan : plan,
    'hour',
    wanted('01-01T00:00:00', '01-01T05:00:00', { by: 'b' }),
  );
  if ('taken' in held) throw new Error('taken');
  expect(planOf({ pk: 'a', sk: 'b', ...planFields(held.plan) })).toEqual(held.plan);
});
