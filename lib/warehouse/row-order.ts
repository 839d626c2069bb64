/**
 * In which order, and how, files are read so that rows come out by arrival, timestamp and uuid without a big sort.
 *
 * Each file is sorted. Where only one has rows of a time, it is read as it lies; where several have, the time is cut
 * into stretches that are small enough to sort in memory.
 */

import { MIB } from '../basics/units.ts';
import type { RowGroup } from '../duckdb/parquet.ts';

/** Rows with arrival in [from, to), microseconds. `sorted`: they must be; else the files lie in order, one after another. */
export interface Stretch {
  readonly from: bigint;
  readonly to: bigint;
  readonly paths: readonly string[];
  readonly sorted: boolean;
  /** Of the one file that it has then: only rows with these numbers in it, the second exclusive. */
  readonly rows?: readonly [from: number, to: number];
}

/** What is sorted at once: 200,000 rows of 400 bytes are 80 MB, four times that while they are sorted. */
const SORTED_ROWS = 200_000;
const SORTED_BYTES = 64 * MIB;

/** Stretches in order and without overlap that hold every row of [from, to). */
export function stretches(groups: readonly RowGroup[], from: bigint, to: bigint): Stretch[] {
  const touching = groups.filter(({ min, max }) => min < to && max >= from).toSorted((a, b) => compare(a.min, b.min));
  // Between two edges the same row groups are open: an edge is where one begins, or right after one has ended.
  const edges = new Set(touching.flatMap(({ min, max }) => [min < from ? from : min, max + 1n]).filter((x) => x < to));
  const found: Stretch[] = [];
  let current: Growing | undefined;
  let open: RowGroup[] = [];
  let next = 0;
  for (const edge of [...edges].toSorted(compare)) {
    open = open.filter(({ max }) => max >= edge);
    for (let group = touching[next]; group !== undefined && group.min <= edge; group = touching[next]) {
      open.push(group);
      next += 1;
    }
    if (open.length === 0) continue;
    const grown: Growing | undefined = current && grow(current, open);
    if (current !== undefined && grown === undefined) found.push(stretch(current, edge));
    current = grown ?? begin(edge, open);
  }
  if (current !== undefined) found.push(stretch(current, to));
  return found;
}

/**
 * DuckDB takes 2,048 rows at a time, and holds some copies of them while it makes lines. Where they have more bytes than
 * `LONG_BYTES`, so many rows are read at once as have about `READ_BYTES`: twice as many take 150 MB more, half as many a
 * fifth more time.
 */
const VECTOR_ROWS = 2_048;
const LONG_BYTES = 8 * MIB;
const READ_BYTES = 4 * MIB;

const isLong = ({ rows, bytes }: RowGroup): boolean => (bytes / rows) * Math.min(rows, VECTOR_ROWS) > LONG_BYTES;

/** Cuts stretches that need no sorting, where their rows are long, into some that memory holds. `groups`: of all paths. */
export function cutLongRows(all: readonly Stretch[], groups: readonly RowGroup[]): Stretch[] {
  return all.flatMap((whole) => {
    if (whole.sorted || !groups.some((group) => whole.paths.includes(group.path) && isLong(group))) return [whole];
    return whole.paths.flatMap((path) => {
      const found: Stretch[] = [];
      let begin = 0;
      for (const { rows, bytes, min, max } of groups.filter((group) => group.path === path)) {
        const most = Math.max(1, Math.floor(READ_BYTES / (bytes / rows)));
        if (min < whole.to && max >= whole.from)
          for (let from = begin; from < begin + rows; from += most)
            found.push({ ...whole, paths: [path], rows: [from, Math.min(from + most, begin + rows)] });
        begin += rows;
      }
      return found;
    });
  });
}

interface Growing {
  readonly from: bigint;
  readonly groups: ReadonlySet<RowGroup>;
  /** The files one after another; undefined: they overlap, and must be sorted. */
  readonly paths: readonly string[] | undefined;
}

const begin = (from: bigint, open: readonly RowGroup[]): Growing => {
  const only = onlyPath(open);
  return { from, groups: new Set(open), paths: only === undefined ? undefined : [only] };
};

/** Undefined: it would have to be sorted, and is too big for that. */
function grow({ from, groups, paths }: Growing, open: readonly RowGroup[]): Growing | undefined {
  const all = new Set([...groups, ...open]);
  const only = onlyPath(open);
  if (paths !== undefined && only !== undefined) {
    if (only === paths.at(-1)) return { from, groups: all, paths };
    if (!paths.includes(only)) return { from, groups: all, paths: [...paths, only] };
  }
  return isSmall(all) ? { from, groups: all, paths: undefined } : undefined;
}

const stretch = ({ from, groups, paths }: Growing, to: bigint): Stretch => ({
  from,
  to,
  paths: paths ?? [...new Set([...groups].map(({ path }) => path))],
  sorted: paths === undefined,
});

function onlyPath(open: readonly RowGroup[]): string | undefined {
  const path = open[0]?.path;
  return open.every((group) => group.path === path) ? path : undefined;
}

function isSmall(groups: ReadonlySet<RowGroup>): boolean {
  let rows = 0;
  let bytes = 0;
  for (const group of groups) {
    rows += group.rows;
    bytes += group.bytes;
  }
  return rows <= SORTED_ROWS && bytes <= SORTED_BYTES;
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
