/** The files of the lake: what each holds, where it lies, and which hold rows of a time. */

import { dayOf } from '../basics/days.ts';
import { DAY_MS, HOUR_MS } from '../basics/units.ts';
import { fromJsonText, type JsonText } from '../ports/table/json-text.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import type { Item, Table } from '../ports/table/table.ts';
import type { FileDigest } from './intact.ts';
import { MODELS, type Model } from './schema.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    lakeFile: LakeFileItem;
    lakeLayout: LayoutItem;
  }
}

/**
 * What a file of the lake holds. Instants are milliseconds since 1970, rounded down; `min` and `max` are inclusive.
 * A file holds one model's rows of one arrival day, sorted by arrival, timestamp and uuid.
 */
export interface LakeFile extends FileDigest {
  readonly path: string;
  readonly rows: number;
  readonly min_arrival: number;
  readonly max_arrival: number;
  readonly min_timestamp: number;
  readonly max_timestamp: number;
  /** 24 numbers: rows by the UTC hour of their arrival. */
  readonly hours: JsonText<number[]>;
}

/** A file as stored. */
export type LakeFileItem = Item & LakeFile;

/** Changes whenever files take the place of others. */
interface LayoutItem extends Item {
  readonly replacements: number;
}

/** A file as it stands in the lake. */
export type PublishedFile = LakeFile & { readonly model: Model };

/** When the batch of a file was stamped, milliseconds. */
export const publishedAt = ({ path }: LakeFile): number => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10);

/** Where batches of all projects wait until they are committed; nothing stays here. */
export const INCOMING = 'incoming/';

/** Where those of a project do, each in a folder of its own. */
export const incomingOf = (projectId: number): string => `${INCOMING}team_id=${projectId}/`;

/** Where the rows of a model lie. */
export const rowsOf = (projectId: number, model: Model): string => `${model}/team_id=${projectId}/`;

/** Where the states of a project's persons lie, for its next import. */
export const personStates = (projectId: number): string => `persons_state/team_id=${projectId}/`;

/** Every folder of the lake that belongs to a project. */
export const projectFolders = (projectId: number): string[] => [
  ...MODELS.map((model) => rowsOf(projectId, model)),
  personStates(projectId),
  incomingOf(projectId),
];

/** The files of a model that hold rows with arrival in [from, to), milliseconds, in the order of arrival days. */
export async function filesBetween(
  table: Table,
  projectId: number,
  model: Model,
  from: number,
  to: number,
): Promise<LakeFileItem[]> {
  if (to <= from || to <= 0) return [];
  const range = ranges.lakeFiles(projectId, model, dayOf(Math.max(from, 0)), dayOf(to - 1));
  const files = await unreplaced(table, projectId, () => listAll(table, range));
  return files.filter((file) => isTouched(file, from, to));
}

/** Lists files, again if some took the place of others meanwhile: a list would have both, or neither. */
async function unreplaced<T>(table: Table, projectId: number, list: () => Promise<T>): Promise<T> {
  const replacements = async () => (await table.get(keys.lakeLayout(projectId)))?.replacements;
  for (let before = await replacements(); ; ) {
    const listed = await list();
    const after = await replacements();
    if (after === before) return listed;
    before = after;
  }
}

/** After any arrival. */
const END_OF_TIME = Date.UTC(9999, 0);

/** The files of a model that hold rows with arrival at or after an instant, milliseconds, in the order of arrival days. */
export const filesSince = (table: Table, projectId: number, model: Model, from: number): Promise<LakeFileItem[]> =>
  filesBetween(table, projectId, model, from, END_OF_TIME);

/**
 * All files of a model, as one list tells them: of files that take the place of others meanwhile it may have both, or
 * neither. It is for who compares it with files of before: a list of just these was true when it was begun, for of a file
 * that is replaced it either misses the old one or has read that before the new one came.
 */
export const filesAsListed = (table: Table, projectId: number, model: Model): Promise<LakeFileItem[]> =>
  listAll(table, ranges.lakeFiles(projectId, model, dayOf(0), dayOf(END_OF_TIME)));

/** All files of a model, in the order of arrival days. */
export const allFiles = (table: Table, projectId: number, model: Model): Promise<LakeFileItem[]> =>
  filesSince(table, projectId, model, 0);

/** The first of a time of files, which may be too many for the arguments of one call; Infinity: there are none. */
export const firstOf = (files: readonly LakeFile[], time: 'min_arrival' | 'min_timestamp'): number =>
  files.reduce((first, file) => Math.min(first, file[time]), Infinity);

/** The last of a time of files; -Infinity: there are none. */
export const lastOf = (files: readonly LakeFile[], time: 'max_arrival' | 'max_timestamp'): number =>
  files.reduce((last, file) => Math.max(last, file[time]), -Infinity);

/** Some of a file's rows: those with arrival in [start, end). */
interface Arrivals {
  readonly start: number;
  readonly end: number;
  readonly rows: number;
}

/** Returns the rows of a file by the UTC hour of their arrival, none for an hour without; the file's own ends cut the first and the last. */
export function arrivalsOf({ hours, min_arrival, max_arrival }: LakeFile): Arrivals[] {
  const midnight = Math.floor(min_arrival / DAY_MS) * DAY_MS;
  return fromJsonText(hours)
    .map((rows, hour) => ({
      start: Math.max(midnight + hour * HOUR_MS, min_arrival),
      end: Math.min(midnight + (hour + 1) * HOUR_MS, max_arrival + 1),
      rows,
    }))
    .filter(({ rows }) => rows > 0);
}

/** Returns how many rows of the files surely arrived in [from, to): those of hours that lie in it, as far as a file has them. */
export function rowsWithin(files: readonly LakeFile[], from: number, to: number): number {
  let sum = 0;
  for (const file of files) {
    if (file.max_arrival < from || file.min_arrival >= to) continue;
    for (const { start, end, rows } of arrivalsOf(file)) if (from <= start && end <= to) sum += rows;
  }
  return sum;
}

/** Can the file hold a row with arrival in [from, to)? Exact to the hour, and to the file's first and last row. */
export const isTouched = (file: LakeFile, from: number, to: number): boolean =>
  from <= file.max_arrival &&
  file.min_arrival < to &&
  arrivalsOf(file).some(({ start, end }) => start < to && from < end);
