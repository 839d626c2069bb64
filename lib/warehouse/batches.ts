/**
 * Intervals of a batch, read together: a query for each small interval would open and search the same files again, and
 * that takes longer than its rows do. What was read ahead is held in memory until its interval asks for it.
 */

import { MIB, MINUTE_MS } from '../basics/units.ts';
import type { Interval } from '../lake/intervals.ts';
import { areTogether, type BatchWarehouse } from './duckdb.ts';
import { packingOf } from './packing.ts';
import { piecesOf } from './parts.ts';
import type { FrozenPlan, LineForm, Warehouse } from './warehouse.ts';

/** About so many bytes are read at once. Where that is one interval, it and all others of its batch are streamed. */
const READ_BYTES = 16 * MIB;
/** How many bytes a row is taken to have before any was read, as a line and packed. */
const ROW_BYTES = { line: 500, packed: 100 };
/** The most that all batches hold; beyond it the one that was longest not asked loses what it holds. */
const MAX_HELD_BYTES = 64 * MIB;
/** A batch that is not asked for so long is forgotten. */
const FORGOTTEN_AFTER_MS = MINUTE_MS;

/** What is known of a batch. */
class Batch {
  readonly plan: FrozenPlan;
  readonly controller = new AbortController();
  /** How many rows each interval delivers, once anybody asked. */
  counts: Promise<number[]> | undefined;
  /** The rows that were read ahead, by the number of their interval. */
  readonly held = new Map<number, Buffer[]>();
  heldBytes = 0;
  /** Intervals whose rows were given away: whoever asks again reads alone. */
  readonly given = new Set<number>();
  form: string | undefined;
  reading: Promise<void> | undefined;
  /** Where reading goes on, and how many intervals were read at once the last time. */
  next = 0;
  stride = 0;
  /** The mean of the rows that were read the last time. */
  rowBytes: number | undefined;
  /** Resolves when rows were read ahead. */
  arrival = Promise.withResolvers<void>();
  /** Reading together has failed, or does not help: each interval is read alone. */
  isApart = false;
  waiting = 0;
  timer: NodeJS.Timeout | undefined;

  constructor(plan: FrozenPlan) {
    this.plan = plan;
    this.isApart = plan.intervals.length < 2 || !areTogether(plan, plan.intervals);
  }

  hold(n: number, pieces: Buffer[]): void {
    this.held.set(n, pieces);
    this.heldBytes += bytesOf(pieces);
    this.arrival.resolve();
    this.arrival = Promise.withResolvers<void>();
  }

  give(n: number): Buffer[] {
    const pieces = this.held.get(n) ?? [];
    this.held.delete(n);
    this.heldBytes -= bytesOf(pieces);
    this.given.add(n);
    return pieces;
  }

  /** Waits for what several wait for. When the last of them leaves, it is stopped. */
  async shared<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const { promise: left, reject } = Promise.withResolvers<never>();
    const leave = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', leave);
    this.waiting += 1;
    try {
      return await Promise.race([work, left]);
    } finally {
      this.waiting -= 1;
      signal.removeEventListener('abort', leave);
      if (signal.aborted && this.waiting === 0) this.controller.abort(signal.reason);
    }
  }
}

const bytesOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0);

/** A warehouse that reads intervals of one batch together where they are small. Both give the same bytes. */
export function batched(source: BatchWarehouse, readBytes = READ_BYTES): Warehouse {
  /** The one that was asked last stands last. */
  const batches = new Map<string, Batch>();

  const batchOf = (plan: FrozenPlan): Batch => {
    const { attempt } = plan;
    const known = batches.get(attempt);
    const batch = known === undefined || known.controller.signal.aborted ? new Batch(plan) : known;
    batches.delete(attempt);
    batches.set(attempt, batch);
    forgetLater(batch);
    return batch;
  };

  const forgetLater = (batch: Batch): void => {
    clearTimeout(batch.timer);
    batch.timer = setTimeout(() => {
      if (batch.waiting > 0) return forgetLater(batch);
      batch.controller.abort(new Error('nobody has asked for it for long'));
      if (batches.get(batch.plan.attempt) === batch) batches.delete(batch.plan.attempt);
    }, FORGOTTEN_AFTER_MS).unref();
  };

  const makeRoom = (): void => {
    let sum = [...batches.values()].reduce((bytes, { heldBytes }) => bytes + heldBytes, 0);
    for (const [attempt, batch] of batches) {
      if (sum + readBytes <= MAX_HELD_BYTES) return;
      sum -= batch.heldBytes;
      batches.delete(attempt);
    }
  };

  /** Reads intervals together, from one on. What goes wrong is met, and told, by whoever reads alone then. */
  const readTogether = async (batch: Batch, from: number, form: LineForm): Promise<void> => {
    makeRoom();
    try {
      const all = (await batch.counts)?.slice(from) ?? [];
      const rowBytes = batch.rowBytes ?? ROW_BYTES[packingOf(form) === null ? 'line' : 'packed'];
      const counts = all.slice(0, fitting(all, readBytes / rowBytes));
      const intervals = batch.plan.intervals.slice(from, from + counts.length);
      const { signal } = batch.controller;
      let [n, rows, bytes] = [from, 0, 0];
      let pieces: Buffer[] = [];
      for await (const piece of source.readAll(
        { plan: batch.plan, intervals, counts, form, most: 2 * readBytes },
        signal,
      )) {
        if (piece.length > 0) {
          pieces.push(piece);
          continue;
        }
        bytes += bytesOf(pieces);
        rows += all[n - from] ?? 0;
        if (pieces.length > 0 && !batch.given.has(n)) batch.hold(n, pieces);
        [n, pieces] = [n + 1, []];
      }
      if (rows > 0) batch.rowBytes = bytes / rows;
      batch.next = n;
      batch.stride = n - from;
      if (n - from < 2 && all.length > 1) batch.isApart = true;
    } catch {
      batch.isApart = true;
    }
  };

  const begin = (batch: Batch, from: number, form: LineForm): Promise<void> => {
    batch.reading ??= readTogether(batch, from, form).finally(() => {
      batch.reading = undefined;
    });
    return batch.reading;
  };

  /** Returns the rows of an interval; undefined when they are to be read alone. */
  const together = async (
    batch: Batch,
    n: number,
    form: LineForm,
    signal: AbortSignal,
  ): Promise<Buffer[] | undefined> => {
    if (batch.counts === undefined || batch.given.has(n)) return undefined;
    const text = JSON.stringify(form);
    batch.form ??= text;
    if (batch.form !== text) return undefined;
    while (!batch.held.has(n)) {
      if (batch.isApart) return undefined;
      await batch.shared(Promise.race([begin(batch, n, form), batch.arrival.promise]), signal);
    }
    const pieces = batch.give(n);
    const isShort = batch.held.size < batch.stride / 2;
    if (isShort && !batch.isApart && batch.next < batch.plan.intervals.length) void begin(batch, batch.next, form);
    return pieces;
  };

  return {
    unload: (plan, intervals) => source.unload(plan, intervals),
    count: async (plan, interval, signal) => {
      const batch = batchOf(plan);
      if (!batch.isApart) {
        batch.counts ??= source.counts(plan, plan.intervals, batch.controller.signal);
        // Whoever waits for it is told.
        batch.counts.catch(() => {});
        try {
          return (await batch.shared(batch.counts, signal))[numberOf(plan, interval)] ?? 0;
        } catch {
          signal.throwIfAborted();
          batch.counts = undefined;
          batch.isApart = true;
        }
      }
      return source.count(plan, interval, signal);
    },
    read: async function* (plan, interval, form, signal) {
      const pieces = await together(batchOf(plan), numberOf(plan, interval), form, signal);
      if (pieces === undefined) yield* source.read(plan, interval, form, signal);
      else yield* piecesOf(pieces, form);
    },
    files: (plan, interval, form, signal) => source.files(plan, interval, form, signal),
  };
}

const numberOf = ({ intervals }: FrozenPlan, { start }: Interval): number =>
  intervals.findIndex((interval) => interval.start === start);

/** Returns how many of the counts there are with so much in sum, at least two. */
function fitting(counts: readonly number[], most: number): number {
  let sum = 0;
  const over = counts.findIndex((count) => (sum += count) > most);
  return over === -1 ? counts.length : Math.max(2, over);
}
