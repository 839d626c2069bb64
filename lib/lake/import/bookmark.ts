/**
 * How far a growing file was imported, so that the next import of it reads on from there. Which file it is, its first
 * line says; that it is the same up to there, its size and the bytes before that place.
 *
 * An equal line gets its uuid by how many there are before it (`import.ts`), and equal lines have one timestamp. So it
 * is read on from a place before which every timestamp is less than those of new lines: some of what was imported is
 * read again, and known. Should an older line come after all, it is read on from further back.
 */

import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import type { ImportFormat } from '../sources/formats.ts';
import type { LinePlace } from '../sources/lines.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    importBookmark: BookmarkItem;
  }
}

/** A place from which a file can be read on, as long as what is new happened after `after` (microseconds). */
export interface RestartPlace extends LinePlace {
  /** The greatest timestamp before it. */
  readonly after: number;
}

/** A bookmark as stored. */
interface BookmarkItem extends Item {
  readonly format: ImportFormat;
  /** Of the file, when it was read, in bytes. */
  readonly size: number;
  /** Where the line begins that was not read. */
  readonly offset: number;
  readonly lines: number;
  /** Of the bytes before `offset`, `COMPARED_BYTES` of them. */
  readonly sha256: string;
  /** In the order of offsets. */
  readonly restarts: JsonText<RestartPlace[]>;
  readonly ttl: number;
}

/** What is known of a file that has grown since it was imported. */
export interface Bookmark {
  readonly format: ImportFormat;
  /** How many lines of it were imported. */
  readonly lines: number;
  /** The latest place first; the beginning is not among them. */
  readonly restarts: readonly RestartPlace[];
}

/** A first line is compared as far as this, and what is before a place too. */
const COMPARED_BYTES = 64 * 1024;

/** How much earlier than the newest event the places lie from which a file may be read on. */
const BACK_MS = [MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, DAY_MS];

/** A file that is not imported for so long is read whole then. */
const KEPT_MS = 90 * DAY_MS;

/** Returns the bookmark of a file of so many bytes, if it has grown since, and begins as it was. */
export async function bookmarkOf(
  { table }: Pick<Context, 'table'>,
  projectId: number,
  path: string,
  size: number,
): Promise<Bookmark | undefined> {
  await using file = await open(path);
  const name = await nameOf(file);
  if (name === undefined) return undefined;
  const item = await table.get(keys.importBookmark(projectId, name));
  if (item === undefined || size <= item.size || (await before(file, item.offset)) !== item.sha256) return undefined;
  return { format: item.format, lines: item.lines, restarts: fromJsonText(item.restarts).toReversed() };
}

/** What was read of a file, all of which is in the lake. */
export interface FileRead {
  readonly path: string;
  readonly format: ImportFormat;
  readonly size: number;
  readonly end: LinePlace;
  /** Places that were passed, in the order of offsets. */
  readonly passed: readonly RestartPlace[];
  /** The greatest timestamp of all, microseconds. */
  readonly newest: number;
}

/** Keeps how far a file was imported. */
export async function keepBookmark(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  projectId: number,
  { path, format, size, end, passed, newest }: FileRead,
): Promise<void> {
  await using file = await open(path);
  const name = await nameOf(file);
  if (name === undefined) return;
  const restarts = BACK_MS.map((back) => passed.findLast(({ after }) => after < newest - back * 1000))
    .filter((place) => place !== undefined)
    .toSorted((a, b) => a.offset - b.offset);
  await table.write([
    {
      put: {
        ...keys.importBookmark(projectId, name),
        offset: end.offset,
        lines: end.lines,
        format,
        size,
        sha256: await before(file, end.offset),
        restarts: toJsonText(restarts),
        ttl: ttlAt(clock() + KEPT_MS),
      },
    },
  ]);
}

type OpenFile = Awaited<ReturnType<typeof open>>;

/** Returns what a file is known by, however it grows; undefined while it has no whole first line. */
async function nameOf(file: OpenFile): Promise<string | undefined> {
  const bytes = await bytesOf(file, 0, COMPARED_BYTES);
  const end = bytes.indexOf(10);
  if (end === -1 && bytes.length < COMPARED_BYTES) return undefined;
  return hash('sha256', end === -1 ? bytes : bytes.subarray(0, end + 1));
}

async function before(file: OpenFile, offset: number): Promise<string> {
  const from = Math.max(0, offset - COMPARED_BYTES);
  return hash('sha256', await bytesOf(file, from, offset - from));
}

async function bytesOf(file: OpenFile, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}
