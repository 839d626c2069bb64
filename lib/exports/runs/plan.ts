/**
 * An export's PLAN: who may run which intervals, and where their edges are. Pure functions.
 *
 * An interval's edges never move once a run has them: `ran` keeps every range that was run with the grid that it was run
 * on, and new intervals are cut at the edges of what is there. So two files of one export never hold the same row,
 * whatever happens to its frequency. Edges are found by `intervalAt` and nowhere else.
 * `docs/architecture.md` tells the states of an interval in it: free, skipped, claimed, active, ran.
 */

import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import {
  type ArrivalRange,
  alignDown,
  chained,
  type Frequency,
  type Interval,
  type Intervals,
  intervalsBetween,
  isOnGrid,
  LENGTH,
  slice,
} from '../../lake/intervals.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';
import type { BatchExportItem } from '../records/model.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    plan: PlanItem;
  }
}

/** A range that is cut on the grid of its frequency. Its ends may be off that grid: then its outer intervals are short. */
export interface GridRange extends ArrivalRange {
  readonly frequency: Frequency;
}

/** A range that an execution runs now. */
export interface Active extends ArrivalRange {
  /** The execution's name. */
  readonly execution: string;
  /** On whose behalf: `schedule`, a backfill's id, or the id of the run that is run again. */
  readonly by: string;
  /** The number of the backfill's batch; null of the others. */
  readonly batch: number | null;
  /** When it was acquired. */
  readonly since: number;
  /** The plan's version from then on; the execution's attempt is `<export id>-<version>`. */
  readonly version: number;
}

/** The range of a backfill that has not ended, and the grids of what in it nobody had run when it began. */
export interface Claim extends ArrivalRange {
  readonly backfill: string;
  readonly grids: readonly GridRange[];
}

export interface Plan {
  readonly version: number;
  /** The end of the last planned interval of the schedule. */
  readonly next: number;
  /** Ranges after `next` that the schedule passes over: their time came while it was paused or out of its bounds. */
  readonly skipped: readonly ArrivalRange[];
  /** Ranges that are run or were run, in order; what is in here keeps its intervals for good. */
  readonly ran: readonly GridRange[];
  readonly claimed: readonly Claim[];
  readonly active: readonly Active[];
}

/** A plan as stored. */
export interface PlanItem extends Item, Pick<Plan, 'version' | 'next'> {
  readonly skipped: JsonText<Plan['skipped']>;
  readonly ran: JsonText<Plan['ran']>;
  readonly claimed: JsonText<Plan['claimed']>;
  readonly active: JsonText<Plan['active']>;
}

/** What the schedule depends on. */
export type Scheduled = Pick<
  BatchExportItem,
  'id' | 'interval' | 'paused' | 'last_paused_at' | 'start_at' | 'end_at' | 'deleted_at'
>;

/** What of the settings decides when an interval is due. */
interface Timing {
  readonly settleSeconds: number;
  readonly isSpread: boolean;
}

/** The intervals of one batch: 96 runs, plan, job, export and backfill fill a transaction of 100. */
export const BATCH_SIZE = 96;

/** The ranges that a plan keeps apart: 60 KB at 60 to 75 bytes each. */
export const MAX_RANGES = 800;

/**
 * The ranges that the schedule leaves apart: each pause of an export would add one for good. With more, the oldest
 * of one frequency become one range with what was passed over between them. The rest of MAX_RANGES is for backfills.
 */
const MAX_RANGES_OF_SCHEDULE = MAX_RANGES / 2;

/**
 * The backfills of one export that have not ended: 40 KB of its plan, where joined ranges count as one. As many as an
 * import names ranges to be backfilled.
 */
export const MAX_CLAIMS = 200;

/** How often an export is looked at while anything of it is under way. */
export const WATCH_MS = 10 * MINUTE_MS;

/** The spread of a frequency: PostHog's. */
const SPREAD_SECONDS: Readonly<Record<Frequency, number>> = {
  'every 5 minutes': 60,
  'every 15 minutes': 180,
  hour: 900,
  day: 1_200,
  week: 1_800,
};

/** Returns the plan of an export that is created now: the schedule's first interval is the one that now is in. */
export function initialPlan(item: Pick<Scheduled, 'interval'>, now: number): Plan {
  return { version: 1, next: alignDown(now, item.interval), skipped: [], ran: [], claimed: [], active: [] };
}

/** Returns the plan in a stored item. */
export function planOf(item: PlanItem): Plan {
  return {
    version: item.version,
    next: item.next,
    skipped: fromJsonText(item.skipped),
    ran: fromJsonText(item.ran),
    claimed: fromJsonText(item.claimed),
    active: fromJsonText(item.active),
  };
}

/** Returns the fields by which a plan is stored. */
export function planFields(plan: Plan): Pick<PlanItem, 'version' | 'next' | 'skipped' | 'ran' | 'claimed' | 'active'> {
  return {
    version: plan.version,
    next: plan.next,
    skipped: toJsonText(plan.skipped),
    ran: toJsonText(plan.ran),
    claimed: toJsonText(plan.claimed),
    active: toJsonText(plan.active),
  };
}

const holds = (range: ArrivalRange, instant: number): boolean => range.from <= instant && instant < range.to;
const overlap = (a: ArrivalRange, b: ArrivalRange): boolean => a.from < b.to && b.from < a.to;

/**
 * Returns the range around an instant in which one grid holds: of what was run, of what a backfill claimed, else of the
 * export's frequency, from the edge before the instant to the edge after it.
 */
function gridAt(plan: Plan, frequency: Frequency, instant: number): GridRange {
  const ran = plan.ran.find((range) => holds(range, instant));
  if (ran !== undefined) return ran;
  const claims = plan.claimed.flatMap((claim) => claim.grids);
  const claim = claims.find((range) => holds(range, instant));
  const bounds = claim === undefined ? [...plan.ran, ...claims, ...plan.skipped] : [claim, ...plan.ran];
  const edges = bounds.flatMap(({ from, to }) => [from, to]);
  if (claim === undefined) edges.push(plan.next);
  const from = Math.max(Number.NEGATIVE_INFINITY, ...edges.filter((edge) => edge <= instant));
  const to = Math.min(Number.POSITIVE_INFINITY, ...edges.filter((edge) => edge > instant));
  return { from, to, frequency: claim?.frequency ?? frequency };
}

/** Returns the interval that an instant is in. */
export function intervalAt(plan: Plan, frequency: Frequency, instant: number): Interval {
  const grid = gridAt(plan, frequency, instant);
  const start = alignDown(instant, grid.frequency);
  return { start: Math.max(start, grid.from), end: Math.min(start + LENGTH[grid.frequency], grid.to) };
}

/** Returns the grids that hold in a range whose ends are edges of intervals: one after the other, without a gap. */
function gridsIn(plan: Plan, frequency: Frequency, range: ArrivalRange): GridRange[] {
  const grids: GridRange[] = [];
  for (let from = range.from; from < range.to; ) {
    const grid = gridAt(plan, frequency, from);
    const to = Math.min(grid.to, range.to);
    grids.push({ ...grid, from, to });
    from = to;
  }
  return grids;
}

/** Returns the intervals of a range whose ends are edges of intervals. */
export function intervalsOf(plan: Plan, frequency: Frequency, range: ArrivalRange): Intervals {
  return chained(gridsIn(plan, frequency, range).map((grid) => intervalsBetween(grid.from, grid.to, grid.frequency)));
}

/** Returns how many batches a number of intervals makes. */
export const batchesOf = (intervals: number): number => Math.ceil(intervals / BATCH_SIZE);

/** Returns the n-th batch's intervals, from 0. */
export const batchOf = (intervals: Intervals, n: number): Interval[] => slice(intervals, n * BATCH_SIZE, BATCH_SIZE);

/** Returns whether the schedule may run anything at all. */
const isScheduled = (item: Scheduled): boolean => !item.paused && item.deleted_at === null;

/** Returns the schedule's first interval at or after an instant; undefined when `end_at` forbids it and all later ones. */
function scheduledFrom(item: Scheduled, plan: Plan, instant: number): Interval | undefined {
  const from = Math.max(instant, plan.next, firstAllowed(item, plan));
  const skipped = plan.skipped.find((range) => holds(range, from));
  if (skipped !== undefined) return scheduledFrom(item, plan, skipped.to);
  const interval = intervalAt(plan, item.interval, from);
  return item.end_at !== null && interval.end > item.end_at ? undefined : interval;
}

/** Returns the start of the first interval that `start_at` allows: the one that ends then, or first after it. */
function firstAllowed(item: Scheduled, plan: Plan): number {
  return item.start_at === null ? plan.next : intervalAt(plan, item.interval, item.start_at - 1).start;
}

/** Returns the start of the first interval that the schedule will run, to which FENCE.live is lowered; null if none. */
export function firstIntervalStart(item: Scheduled, plan: Plan): number | null {
  return scheduledFrom(item, plan, plan.next)?.start ?? null;
}

/**
 * Returns the intervals that the schedule is to run now: those after `next` that ended a settle time ago, in order and
 * without a gap, at most a batch. None while the export is paused, deleted or past its end.
 */
export function dueIntervals(item: Scheduled, plan: Plan, now: number, timing: Timing): Interval[] {
  const due: Interval[] = [];
  if (!isScheduled(item)) return due;
  for (let from = plan.next; due.length < BATCH_SIZE; ) {
    const interval = scheduledFrom(item, plan, from);
    if (interval === undefined || interval.end + timing.settleSeconds * 1000 > now) break;
    if (due.length > 0 && interval.start !== from) break;
    due.push(interval);
    from = interval.end;
  }
  return due;
}

/**
 * Returns when the export must be looked at, in milliseconds since 1970, never before now; null: never, as things
 * stand. While anything of it is under way, at the latest after WATCH_MS: whoever does it may have ended without
 * telling.
 */
export function nextDue(item: Scheduled, plan: Plan, now: number, timing: Timing): number | null {
  const interval = isScheduled(item) ? scheduledFrom(item, plan, plan.next) : undefined;
  const due = interval && Math.max(now, interval.end + timing.settleSeconds * 1000 + spreadOf(item, timing));
  return isUnderWay(plan) ? Math.min(due ?? Number.POSITIVE_INFINITY, now + WATCH_MS) : (due ?? null);
}

/**
 * Returns by how much this export starts after the end of its intervals and the settle time, in milliseconds: always
 * the same, and less than its frequency's spread. It only keeps exports from starting all at once; an interval's edges
 * do not know of it.
 */
export function spreadOf(item: Pick<Scheduled, 'id' | 'interval'>, timing: Timing): number {
  const most = timing.isSpread ? SPREAD_SECONDS[item.interval] * SECOND_MS : 0;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(item.id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return Math.floor((hash / 2 ** 32) * most);
}

/**
 * Lets an execution run the intervals from `from` to `to`, or names the other one that runs some of them now. An execution
 * that has acquired already is given what it has. The range's grids are fixed from here on.
 */
export function acquire(
  plan: Plan,
  frequency: Frequency,
  wanted: Omit<Active, 'version'>,
): { readonly plan: Plan; readonly mine: Active } | { readonly taken: Active } {
  const mine = plan.active.find(({ execution }) => execution === wanted.execution);
  if (mine !== undefined) return { plan, mine };
  const taken = plan.active.find((active) => overlap(active, wanted));
  if (taken !== undefined) return { taken };
  const entry = { ...wanted, version: plan.version + 1 };
  const ran = merged([...plan.ran, ...unrun(plan, frequency, wanted)]);
  const acquired = { ...plan, version: entry.version, ran, active: [...plan.active, entry] };
  return { plan: wanted.by === 'schedule' ? withoutOldGaps(acquired) : acquired, mine: entry };
}

/**
 * Joins the oldest neighbours of what was run, until at most so many ranges are left, across gaps that the schedule has
 * passed over: only a backfill can run these, and their intervals are those of the grid on both sides from here on. What a
 * backfill has claimed there stays as it is claimed.
 */
export function withoutOldGaps(plan: Plan, most = MAX_RANGES_OF_SCHEDULE): Plan {
  const claimed = plan.claimed.flatMap(({ grids }) => grids);
  const ran: GridRange[] = [];
  let surplus = plan.ran.length - most;
  for (const range of plan.ran) {
    const last = ran.at(-1);
    const joins =
      surplus > 0 &&
      last !== undefined &&
      last.frequency === range.frequency &&
      range.from <= plan.next &&
      [last.to, range.from].every((edge) => isOnGrid(edge, range.frequency)) &&
      !claimed.some((grid) => overlap(grid, { from: last.to, to: range.from }));
    if (joins) {
      ran[ran.length - 1] = { ...last, to: range.to };
      surplus -= 1;
    } else ran.push(range);
  }
  return { ...plan, ran };
}

/** Returns what of a range nobody has run yet, on the grids that hold there. */
const unrun = (plan: Plan, frequency: Frequency, range: ArrivalRange): GridRange[] =>
  gridsIn(plan, frequency, range).filter((grid) => !plan.ran.some((ran) => overlap(ran, grid)));

/** Joins neighbours of one frequency where they meet on its grid. Elsewhere the joint is an edge to keep. */
function merged(ranges: readonly GridRange[]): GridRange[] {
  const result: GridRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    const joins =
      last?.to === range.from && last.frequency === range.frequency && isOnGrid(range.from, range.frequency);
    if (joins) result[result.length - 1] = { ...last, to: range.to };
    else result.push(range);
  }
  return result;
}

/** Takes an execution's range back, however its runs ended; the schedule goes on behind it. Unknown: unchanged. */
export function settle(plan: Plan, execution: string): Plan {
  const mine = plan.active.find((active) => active.execution === execution);
  if (mine === undefined) return plan;
  return leapt({
    ...plan,
    version: plan.version + 1,
    next: mine.by === 'schedule' ? Math.max(plan.next, mine.to) : plan.next,
    active: plan.active.filter((active) => active !== mine),
  });
}

/** Lets `next` leap over what is skipped, and forgets what lies behind it. */
function leapt(plan: Plan): Plan {
  let next = plan.next;
  for (const { from, to } of plan.skipped) if (from <= next) next = Math.max(next, to);
  return { ...plan, next, skipped: plan.skipped.filter(({ to }) => to > next) };
}

/**
 * Returns the plan to write with a change of `paused`, `start_at` or `end_at`: intervals whose time came while the export
 * as it was (`before`) did not allow them are passed over by the schedule for good; a backfill may run them. Intervals that
 * ended before a pause and had not been run yet still will be.
 */
export function skipMissed(plan: Plan, before: Scheduled, now: number): Plan {
  const edgeBefore = (instant: number): number => Math.max(plan.next, intervalAt(plan, before.interval, instant).start);
  const until = edgeBefore(now);
  const closed = [before.end_at, before.paused ? (before.last_paused_at ?? plan.next) : null].filter(
    (at) => at !== null,
  );
  const opened = Math.min(until, Math.max(plan.next, firstAllowed(before, plan)));
  const allowed = Math.max(opened, edgeBefore(Math.min(now, ...closed)));
  const missed = [
    { from: plan.next, to: opened },
    { from: allowed, to: until },
  ].filter(({ from, to }) => from < to && !plan.skipped.some((range) => range.from <= from && to <= range.to));
  if (missed.length === 0) return plan;
  const skipped = [...plan.skipped, ...missed].toSorted((a, b) => a.from - b.from);
  return leapt({ ...plan, version: plan.version + 1, skipped });
}

/** Returns whether anything is being run, or claimed by a backfill that has not ended. */
export const isUnderWay = ({ active, claimed }: Plan): boolean => active.length + claimed.length > 0;

/** Returns the range that a pause, not yet over, has kept the schedule from running until now; undefined: none. */
export function pausedRange(plan: Plan, item: Scheduled, now: number): ArrivalRange | undefined {
  const since = item.last_paused_at ?? plan.next;
  const first = item.start_at === null ? since : Math.max(since, firstAllowed(item, plan));
  const from = intervalAt(plan, item.interval, first).start;
  const to = intervalAt(plan, item.interval, Math.min(now, item.end_at ?? now)).start;
  return from < to ? { from, to } : undefined;
}

/**
 * Returns what a backfill of [from, to) runs: whole intervals, so aligned outward, without those that have not ended (the
 * schedule's to run). Undefined: none of them has.
 */
export function backfillRange(plan: Plan, frequency: Frequency, asked: ArrivalRange, now: number) {
  const from = intervalAt(plan, frequency, asked.from).start;
  const last = intervalAt(plan, frequency, asked.to - 1);
  const to = last.end <= now ? last.end : Math.min(last.start, intervalAt(plan, frequency, now).start);
  return from < to ? { from, to } : undefined;
}

/**
 * Reserves a backfill's range, so that its intervals stay what they are until it ends. Refused: it overlaps another one's,
 * MAX_CLAIMS have not ended, or the plan would have to keep more apart than it does, and more than MAX_RANGES.
 */
export function claim(
  plan: Plan,
  frequency: Frequency,
  backfill: string,
  range: ArrivalRange,
):
  | { readonly plan: Plan }
  | { readonly refused: 'overlap'; readonly by: Claim }
  | { readonly refused: 'claims' }
  | { readonly refused: 'ranges' } {
  const other = plan.claimed.find((other) => overlap(other, range));
  if (other !== undefined) return { refused: 'overlap', by: other };
  if (plan.claimed.length >= MAX_CLAIMS) return { refused: 'claims' };
  const grids = unrun(plan, frequency, range);
  const kept = [...plan.ran, ...plan.claimed.flatMap((one) => one.grids)];
  const most = Math.max(MAX_RANGES, merged(kept).length);
  if (merged([...kept, ...grids]).length > most) return { refused: 'ranges' };
  const claimed = [...plan.claimed, { backfill, ...range, grids }];
  return { plan: { ...plan, version: plan.version + 1, claimed } };
}

/** Gives a backfill's range back. Unknown backfill: unchanged. */
export function release(plan: Plan, backfill: string): Plan {
  const claimed = plan.claimed.filter((other) => other.backfill !== backfill);
  return claimed.length === plan.claimed.length ? plan : { ...plan, version: plan.version + 1, claimed };
}
