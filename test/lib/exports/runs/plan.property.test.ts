/**
 * Random histories of one export: rows that arrive live, late, from the past or from a wrong future, ticks, backfills,
 * retries, failures, pauses, changes of the interval and of the bounds. Whatever happens, no row is in two files, no
 * file ever loses a row, and every row that arrived after the export began is delivered, unless its time came while
 * the schedule was closed. Each protection taken away must break this. PLAN_HISTORIES sets how many are tried.
 */
import * as fc from 'fast-check';
import { DAY_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import {
  type Active,
  acquire,
  backfillRange,
  batchesOf,
  batchOf,
  claim,
  dueIntervals,
  firstIntervalStart,
  type GridRange,
  initialPlan,
  intervalsOf,
  type Plan,
  release,
  type Scheduled,
  settle,
  skipMissed,
  withoutOldGaps,
} from '../../../../lib/exports/runs/plan.ts';
import { historyEnd } from '../../../../lib/lake/arrival.ts';
import { alignDown, type Frequency, type Interval, LENGTH } from '../../../../lib/lake/intervals.ts';

const HISTORIES = Number(process.env['PLAN_HISTORIES'] ?? 1_000);
const START = Date.UTC(2026, 0, 7, 13, 20);
const TIMING = { settleSeconds: 30, isSpread: false };
const HISTORY_DAYS = 7;

/** What is taken away. */
type Mutation = 'guard' | 'fence' | 'ran' | 'grid';

type Step =
  | { do: 'wait'; minutes: number }
  | { do: 'import'; age: number; stalled: number }
  | { do: 'tick' }
  | { do: 'finish'; which: number; failed: boolean }
  | { do: 'backfill'; age: number; length: number }
  | { do: 'batch'; which: number }
  | { do: 'cancel'; which: number }
  | { do: 'retry'; which: number }
  | { do: 'pause' | 'unpause' }
  | { do: 'interval'; interval: Frequency }
  | { do: 'start'; inMinutes: number | null }
  | { do: 'end'; inMinutes: number | null };

/** Grids inside one another; shorter ones only make more intervals. */
const INTERVALS_TRIED = ['hour', 'day', 'week'] as const;
const minutes = (days: number) => fc.integer({ min: 0, max: Math.floor(days * 24 * 60) });
/** Minutes, mostly few. */
const some = fc.oneof(minutes(0.1), minutes(1), minutes(9));
const which = fc.nat({ max: 20 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: some }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('import' as const),
      age: fc.oneof(fc.constant(0), minutes(2), minutes(9), minutes(30), fc.integer({ min: -4000, max: 0 })),
      stalled: fc.oneof(fc.constant(0), minutes(0.2)),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'tick' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('finish' as const), which, failed: fc.nat(4).map((n) => n === 0) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('backfill' as const), age: some, length: some }) },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('batch' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('retry' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('pause' as const, 'unpause' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('interval' as const), interval: fc.constantFrom(...INTERVALS_TRIED) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('start' as const, 'end' as const), inMinutes: fc.option(some) }),
  },
);

interface Row {
  readonly id: number;
  readonly arrival: number;
}

/** A batch under way: what it found when it began. */
interface Work {
  readonly mine: Active;
  readonly files: { interval: Interval; rows: Set<number> }[];
}

interface Backfill {
  readonly id: string;
  readonly interval: Frequency;
  readonly range: { from: number; to: number };
  nextBatch: number;
}

class World {
  readonly #mutation: Mutation | undefined;
  /** The ranges that the schedule leaves apart; undefined: as many as it does. */
  readonly #mostRanges: number | undefined;
  #now = START;
  #fence = 0;
  #live: number;
  #item: Scheduled;
  #plan: Plan;
  #count = 0;
  readonly #rows: Row[] = [];
  /** The destination: file by its interval. */
  readonly #files = new Map<string, { interval: Interval; rows: Set<number> }>();
  readonly #working: Work[] = [];
  readonly #backfills: Backfill[] = [];
  readonly #failed: Interval[] = [];
  readonly #delivered: Interval[] = [];
  /** Spans of arrival whose intervals may have been passed over, as the schedule was closed when their time came. */
  readonly #closed: { from: number; to: number }[] = [];
  #longest: Frequency;
  #shortest: Frequency;
  /** Where the plan stood when `start_at` was set. */
  #startSetAt = 0;
  readonly #began: number;

  constructor(frequency: Frequency, mutation?: Mutation, mostRanges?: number) {
    this.#mutation = mutation;
    this.#mostRanges = mostRanges;
    this.#longest = frequency;
    this.#shortest = frequency;
    this.#item = {
      id: '01890000-0000-7000-8000-000000000001',
      interval: frequency,
      paused: false,
      last_paused_at: null,
      start_at: null,
      end_at: null,
      deleted_at: null,
    };
    this.#plan = initialPlan(this.#item, this.#now);
    this.#began = firstIntervalStart(this.#item, this.#plan) ?? 0;
    this.#live = this.#began;
  }

  run(step: Step): void {
    const now = this.#now;
    switch (step.do) {
      case 'wait':
        this.#now += step.minutes * MINUTE_MS;
        break;
      case 'import':
        this.#import(now - step.age * MINUTE_MS, now - step.stalled * MINUTE_MS);
        break;
      case 'tick':
        this.#tick();
        break;
      case 'finish':
        if (this.#working.length > 0) this.#finish(step.which % this.#working.length, step.failed);
        break;
      case 'backfill':
        this.#backfill(now - step.age * MINUTE_MS - step.length * MINUTE_MS, now - step.age * MINUTE_MS);
        break;
      case 'batch':
        if (this.#backfills.length > 0) this.#batch(step.which % this.#backfills.length);
        break;
      case 'cancel':
        if (this.#backfills.length > 0) this.#cancel(step.which % this.#backfills.length);
        break;
      case 'retry':
        if (this.#delivered.length > 0) this.#retry(this.#delivered[step.which % this.#delivered.length] as Interval);
        break;
      case 'pause':
        if (!this.#item.paused) this.#change({ paused: true, last_paused_at: now });
        break;
      case 'unpause':
        this.#change({ paused: false });
        break;
      case 'interval':
        this.#change({ interval: step.interval });
        break;
      case 'start':
        this.#change({ start_at: step.inMinutes === null ? null : now + (step.inMinutes - 600) * MINUTE_MS });
        break;
      case 'end':
        this.#change({ end_at: step.inMinutes === null ? null : now + (step.inMinutes - 600) * MINUTE_MS });
        break;
    }
  }

  /** Lets everything come to its end. */
  end(): void {
    this.#change({ paused: false, start_at: null, end_at: null });
    this.#now += 15 * DAY_MS;
    for (let quiet = false; !quiet; ) {
      while (this.#working.length > 0) this.#finish(0, false);
      for (const interval of this.#failed.splice(0)) this.#retry(interval);
      while (this.#backfills.length > 0) {
        this.#batch(0);
        while (this.#working.length > 0) this.#finish(0, false);
      }
      while (this.#working.length > 0) this.#finish(0, false);
      this.#tick();
      quiet = this.#working.length === 0;
    }
  }

  check(): void {
    const at = new Map<number, string>();
    for (const [name, { rows }] of this.#files) {
      for (const id of rows) {
        if (at.has(id)) throw new Error(`row ${id} is in two files: ${at.get(id)} and ${name}`);
        at.set(id, name);
      }
    }
    const files = [...this.#files.values()].map(({ interval }) => interval).toSorted((a, b) => a.start - b.start);
    for (const [n, { start }] of files.entries()) {
      if (n > 0 && start < (files[n - 1] as Interval).end) throw new Error('two files overlap');
    }
    for (const { id, arrival } of this.#rows) {
      const isExcused = arrival < this.#began || this.#closed.some(({ from, to }) => from <= arrival && arrival < to);
      if (!isExcused && !at.has(id) && arrival < this.#plan.next) throw new Error(`row ${id} was never delivered`);
    }
    if (this.#plan.next < START + 7 * DAY_MS) throw new Error('the schedule stands still');
    if (this.#plan.active.length + this.#plan.claimed.length > 0) throw new Error('something is left');
  }

  #set(plan: Plan): void {
    let ran = this.#mostRanges === undefined ? plan.ran : withoutOldGaps(plan, this.#mostRanges).ran;
    if (this.#mutation === 'ran') ran = [];
    if (this.#mutation === 'grid') ran = joined(ran);
    this.#plan = { ...plan, ran };
  }

  #import(timestamp: number, stamp: number): void {
    const end = this.#mutation === 'guard' ? Number.POSITIVE_INFINITY : historyEnd('auto', this.#live, HISTORY_DAYS);
    const refused = this.#mutation !== 'fence' && stamp < this.#fence;
    const at = refused ? this.#now : stamp;
    this.#rows.push({ id: this.#rows.length, arrival: timestamp < end ? Math.min(timestamp, at) : at });
  }

  #change(fields: Partial<Scheduled>): void {
    const before = this.#item;
    const after = { ...before, ...fields };
    const now = this.#now;
    if (fields.interval === undefined) {
      // What the schedule as it was did not allow until now: never more than this.
      const closed = [before.paused ? before.last_paused_at : null, before.end_at].filter((at) => at !== null);
      const from = alignDown(Math.min(now, ...closed), this.#longest);
      const to = alignDown(now, this.#shortest);
      if (closed.length > 0 && from < to) this.#closed.push({ from, to });
      if (before.start_at !== null) this.#closed.push({ from: this.#startSetAt, to: before.start_at });
      this.#set(skipMissed(this.#plan, before, now));
      if (after.start_at !== before.start_at) this.#startSetAt = this.#plan.next;
    }
    if (LENGTH[after.interval] > LENGTH[this.#longest]) this.#longest = after.interval;
    if (LENGTH[after.interval] < LENGTH[this.#shortest]) this.#shortest = after.interval;
    this.#item = after;
    this.#live = Math.min(this.#live, firstIntervalStart(after, this.#plan) ?? this.#live);
  }

  /** Begins what is wanted: closes the lake behind it, and freezes what is there. False: somebody holds some of it. */
  #begin(by: string, intervals: readonly Interval[]): boolean {
    const [first, last] = [intervals.at(0), intervals.at(-1)];
    if (first === undefined || last === undefined) return false;
    if (last.end + TIMING.settleSeconds * 1000 > this.#now) return false;
    this.#count += 1;
    const wanted = {
      execution: `${by}-${this.#count}`,
      by,
      batch: null,
      from: first.start,
      to: last.end,
      since: this.#now,
    };
    const result = acquire(this.#plan, this.#item.interval, wanted);
    if ('taken' in result) return false;
    this.#set(result.plan);
    this.#fence = Math.max(this.#fence, last.end);
    const files = intervals.map((interval) => ({
      interval,
      rows: new Set(
        this.#rows.filter((row) => interval.start <= row.arrival && row.arrival < interval.end).map(({ id }) => id),
      ),
    }));
    this.#working.push({ mine: result.mine, files });
    return true;
  }

  #tick(): void {
    this.#begin('schedule', dueIntervals(this.#item, this.#plan, this.#now, TIMING));
  }

  #finish(n: number, failed: boolean): void {
    const [work] = this.#working.splice(n, 1) as [Work];
    for (const file of work.files) {
      const name = `${file.interval.start}-${file.interval.end}`;
      if (failed) this.#failed.push(file.interval);
      else {
        for (const id of this.#files.get(name)?.rows ?? []) {
          if (!file.rows.has(id)) throw new Error(`file ${name} lost row ${id}`);
        }
        this.#files.set(name, file);
        this.#delivered.push(file.interval);
      }
    }
    this.#set(settle(this.#plan, work.mine.execution));
  }

  #backfill(from: number, to: number): void {
    if (from >= to || this.#backfills.length > 2) return;
    const { interval: frequency } = this.#item;
    const range = backfillRange(this.#plan, frequency, { from, to }, this.#now);
    if (range === undefined || intervalsOf(this.#plan, frequency, range).count > 300) return;
    this.#count += 1;
    const id = `backfill ${this.#count}`;
    const result = claim(this.#plan, frequency, id, range);
    if ('refused' in result) return;
    this.#set(result.plan);
    this.#backfills.push({ id, interval: frequency, range, nextBatch: 0 });
  }

  #batch(n: number): void {
    const backfill = this.#backfills[n] as Backfill;
    const intervals = intervalsOf(this.#plan, backfill.interval, backfill.range);
    if (backfill.nextBatch >= batchesOf(intervals.count)) {
      this.#cancel(n);
      return;
    }
    const isWaiting = this.#working.some(({ mine }) => mine.by === backfill.id);
    if (!isWaiting && this.#begin(backfill.id, batchOf(intervals, backfill.nextBatch))) backfill.nextBatch += 1;
  }

  #cancel(n: number): void {
    const [backfill] = this.#backfills.splice(n, 1) as [Backfill];
    this.#set(release(this.#plan, backfill.id));
  }

  #retry(interval: Interval): void {
    this.#begin('some run', [interval]);
  }
}

/** The mutation: neighbours are joined wherever they meet. */
function joined(ranges: readonly GridRange[]): GridRange[] {
  const result: GridRange[] = [];
  for (const range of ranges) {
    const last = result.at(-1);
    if (last?.to === range.from && last.frequency === range.frequency)
      result[result.length - 1] = { ...last, to: range.to };
    else result.push(range);
  }
  return result;
}

const holds = (mutation?: Mutation, mostRanges?: number) =>
  fc.property(
    fc.constantFrom(...INTERVALS_TRIED),
    fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
    (frequency, steps) => {
      const world = new World(frequency, mutation, mostRanges);
      for (const one of steps) world.run(one);
      world.end();
      world.check();
    },
  );

test('whatever happens, every row is delivered once, in the file of its arrival', () => {
  const result = fc.check(holds(), { numRuns: HISTORIES, seed: 7 });
  expect([result.counterexample, String(result.errorInstance)]).toEqual([null, 'null']);
});

test.each([1, 3])('so it is where the schedule leaves only %i ranges apart', (mostRanges) => {
  const result = fc.check(holds(undefined, mostRanges), { numRuns: HISTORIES, seed: 7 });
  expect([result.counterexample, String(result.errorInstance)]).toEqual([null, 'null']);
});

test.each<Mutation>(['guard', 'fence', 'ran', 'grid'])('without the %s that is not so', (mutation) => {
  const result = fc.check(holds(mutation), { numRuns: 5_000, seed: 7, endOnFailure: true });
  expect(result.failed).toBe(true);
  expect(String(result.errorInstance)).toMatch(/two files|overlap|never delivered|lost row/);
});
