/**
 * The log that customers read about their exports. A step writes its lines as one item when it ends or waits, in the
 * transaction of what it says where it can; a run's lines are found by time and id.
 */

import { shortened } from '../../basics/text.ts';
import { DAY_MS, MINUTE_MS } from '../../basics/units.ts';
import { uuidOf } from '../../http/fields.ts';
import type { Context } from '../../ports/context.ts';
import type { Level } from '../../ports/log.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { pagesOf } from '../../ports/table/list-all.ts';
import type { Item, Op, Range, Table } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import type { RunItem } from './runs/model.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    logLines: LogItem;
  }
}

export interface LogLine {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly level: Level;
  readonly message: string;
  /** The run, backfill or export that the line is about. */
  readonly instance: string;
}

/** Which lines are asked for. Instants are exclusive bounds, in milliseconds since 1970. */
export interface LogQuery {
  readonly after: number;
  readonly before: number;
  /** Empty: all. */
  readonly levels: readonly Level[];
  /** A part of the message, in any case; % stands for any text, _ for one character. Empty: all. */
  readonly search: string;
  /** The run, backfill or export; undefined: all. */
  readonly instanceId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Returns which lines a request asks for; by default all that are kept. */
export function logsAsked(
  { clock, settings }: Pick<Context, 'clock' | 'settings'>,
  query: {
    readonly after?: number | undefined;
    readonly before?: number | undefined;
    readonly level?: readonly Level[] | undefined;
    readonly search?: string | undefined;
    readonly instance_id?: string | undefined;
  },
  { limit, offset }: { readonly limit: number; readonly offset: number },
): LogQuery {
  return {
    after: query.after ?? clock() - settings.logDays * DAY_MS,
    before: query.before ?? clock() + 1,
    levels: query.level ?? [],
    search: query.search ?? '',
    instanceId: uuidOf(query.instance_id) ?? query.instance_id,
    limit,
    offset,
  };
}

/** Lines of a run are of no earlier than this before it was made, and, where it ended well or was cancelled, no later after. */
const AROUND_RUN_MS = 15 * MINUTE_MS;
/** The failure of a run is told for a day, which its log tells: the last try comes a little later. */
const TOLD_MS = 2 * DAY_MS;

/** Returns which lines of a run a request asks for: read of the log of its export is only what may hold one. */
export function linesOfRun(
  { after, before, ...asked }: LogQuery,
  run: Pick<RunItem, 'id' | 'status' | 'created_at' | 'finished_at' | 'last_updated_at'>,
): LogQuery {
  const isUntold = run.status === 'Completed' || run.status === 'Cancelled';
  const end = run.finished_at === null ? before : run.last_updated_at + (isUntold ? AROUND_RUN_MS : TOLD_MS);
  return {
    ...asked,
    instanceId: run.id,
    after: Math.max(after, run.created_at - AROUND_RUN_MS),
    before: Math.min(before, end),
  };
}

/** A line as stored. */
type Row = [at: number, level: Level, message: string, instance: string];

interface LogItem extends Item {
  /** Oldest first. */
  readonly lines: JsonText<Row[]>;
}

/** The limits of the lines of one item: bytes of JSON, and the time between the first and the last. */
const MAX_ITEM_BYTES = 100_000;
const MAX_ITEM_SPAN_MS = 15 * MINUTE_MS;
/** The characters of a message; a longer one is cut. */
const MAX_MESSAGE_LENGTH = 4_000;
/** The number of parts of the time asked for that are read beside one another, and of items that are read at once. */
const SEGMENTS = 8;
const PAGE_SIZE = 100;

/**
 * Returns the ops that write a step's lines: none for no lines, one where they fit into an item (96 lines of this
 * service's own do). The same step writing the same lines again replaces them.
 */
export function lineOps(
  { settings }: Pick<Context, 'settings'>,
  exportId: string,
  execution: string,
  step: string,
  lines: readonly LogLine[],
): Op[] {
  const parts: { at: number; bytes: number; rows: Row[] }[] = [];
  for (const { at, level, message, instance } of lines) {
    const row: Row = [at, level, shortened(message, MAX_MESSAGE_LENGTH), instance];
    const bytes = Buffer.byteLength(JSON.stringify(row)) + 1;
    const last = parts.at(-1);
    if (last === undefined || last.bytes + bytes > MAX_ITEM_BYTES || at - last.at > MAX_ITEM_SPAN_MS) {
      parts.push({ at, bytes, rows: [row] });
    } else {
      last.bytes += bytes;
      last.rows.push(row);
    }
  }
  return parts.map(({ at, rows }, n) => ({
    put: {
      ...keys.logLines(exportId, at, execution, n === 0 ? step : `${step}.${n}`),
      ttl: ttlAt(at + settings.logDays * DAY_MS),
      lines: toJsonText(rows),
    },
  }));
}

/** Writes a step's lines by themselves. */
export async function writeLines(
  context: Pick<Context, 'table' | 'settings'>,
  exportId: string,
  execution: string,
  step: string,
  lines: readonly LogLine[],
): Promise<void> {
  const ops = lineOps(context, exportId, execution, step, lines);
  if (ops.length > 0) await context.table.write(ops, { apart: true });
}

/** Returns the lines that match, newest first; `count` is how many match in all. */
export async function readLines(
  table: Table,
  exportId: string,
  { after, before, levels, search, instanceId, limit, offset }: LogQuery,
): Promise<{ count: number; lines: LogLine[] }> {
  const isSought = pattern(search);
  const matches = (line: LogLine): boolean =>
    line.at > after &&
    line.at < before &&
    (levels.length === 0 || levels.includes(line.level)) &&
    (instanceId === undefined || line.instance === instanceId) &&
    isSought(line.message);
  const parts = segments(Math.max(0, after - MAX_ITEM_SPAN_MS), before);
  const found = await Promise.all(
    parts.map(({ from, to }) => newestLines(table, ranges.logLines(exportId, from, to), matches, offset + limit)),
  );
  const lines = newestFirst(found.toReversed().flatMap((part) => part.lines));
  return { count: found.reduce((sum, part) => sum + part.count, 0), lines: lines.slice(offset, offset + limit) };
}

/** Of lines of one instant those that were written last come first. */
const newestFirst = (lines: readonly LogLine[]): LogLine[] => lines.toSorted((a, b) => b.at - a.at);

/**
 * Counts the lines of a range that match, and returns the newest, `most` of them. A backfill writes some hundred thousand,
 * of which no more than a page of items is held.
 */
async function newestLines(
  table: Table,
  range: Range<LogItem>,
  matches: (line: LogLine) => boolean,
  most: number,
): Promise<{ count: number; lines: readonly LogLine[] }> {
  let count = 0;
  let lines: readonly LogLine[] = [];
  for await (const items of pagesOf(table, range, PAGE_SIZE)) {
    const found = items.flatMap(linesOf).filter(matches);
    count += found.length;
    lines = newestFirst([...found.toReversed(), ...lines]).slice(0, most);
  }
  return { count, lines };
}

/** Returns whether a text holds a pattern; what lies between two % is found at its first place, without going back. */
function pattern(search: string): (text: string) => boolean {
  const pieces = search
    .split('%')
    .map((piece) => piece.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll('_', '[^]'))
    .map((source) => new RegExp(source, 'giu'));
  return (text) => {
    let at = 0;
    return pieces.every((piece) => {
      piece.lastIndex = at;
      const isFound = piece.test(text);
      at = piece.lastIndex;
      return isFound;
    });
  };
}

/** Returns [from, to] in parts of one length, which share no instant. */
function segments(from: number, to: number): { from: number; to: number }[] {
  const length = Math.max(1, Math.ceil((to - from + 1) / SEGMENTS));
  return Array.from({ length: SEGMENTS }, (_, n) => ({
    from: from + n * length,
    to: Math.min(to, from + (n + 1) * length - 1),
  })).filter((part) => part.from <= part.to);
}

const linesOf = (item: LogItem): LogLine[] =>
  fromJsonText(item.lines).map(([at, level, message, instance]) => ({ at, level, message, instance }));
