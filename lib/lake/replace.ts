/**
 * Files of the lake that take the place of others, with the same rows or fewer: all at once, so that whoever lists files
 * finds the ones or the others (`catalog.ts` lists again where that changed meanwhile). The old files stay for whoever
 * has listed them: a run reads the list that it froze, for up to a day.
 */

import { dayOf } from '../basics/days.ts';
import { DAY_MS } from '../basics/units.ts';
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { type Item, MAX_TRANSACTION, type Op } from '../ports/table/table.ts';
import { tryWrite } from '../ports/table/until-written.ts';
import { filesBetween, type LakeFileItem, publishedAt, rowsOf } from './catalog.ts';
import type { Publishing } from './lease.ts';
import type { WrittenFile } from './publish.ts';
import type { Model } from './schema.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    retiredFiles: RetiredItem;
  }
}

/** Files that are removed at a time, unless a FILE item names them then. */
interface RetiredItem extends Item {
  readonly due: number;
  readonly model: Model;
  readonly day: string;
  readonly paths: JsonText<string[]>;
}

/**
 * A list of files is used for so long at most: an execution ends within a day, and what it repeats within another. Where
 * one machine was off in between, a run that finds a file of its list gone is run again with a new list.
 */
export const RETIRED_MS = 2 * DAY_MS;

/** Beside the files that are replaced, a transaction has the new one, two lists of files, the layout and the project. */
export const MAX_REPLACED = MAX_TRANSACTION - 5;

/** Files of one model and one day of arrival that are replaced together. */
export interface Replacement {
  readonly projectId: number;
  readonly model: Model;
  /** At least one, `MAX_REPLACED` at most. */
  readonly files: readonly LakeFileItem[];
}

/**
 * Writes what takes the files' place into `folder` of the lake, under `name`. Undefined: no row is left. It may hold less
 * than the files do, and must hold nothing else.
 */
type WriteReplacement = (folder: string, name: string) => Promise<WrittenFile | undefined>;

/**
 * Replaces files. Returns false when one of them is not there any more, or the project is gone: then nothing has
 * changed. Killed at any time, it has replaced all or nothing, and what it wrote is removed when it is due.
 */
export async function replaceFiles(
  { table, clock, newId }: Pick<Publishing, 'table' | 'clock' | 'newId'>,
  { projectId, model, files }: Replacement,
  write: WriteReplacement,
): Promise<boolean> {
  const [first] = files;
  if (first === undefined || files.length > MAX_REPLACED) throw new RangeError(`${files.length} files to be replaced`);
  const day = dayOf(first.min_arrival);
  const id = newId();
  // As late as the latest of them: whoever knows the states of persons up to then needs none of it.
  const at = Math.max(...files.map(publishedAt));
  const folder = `${rowsOf(projectId, model)}day=${day}/gen=1/`;
  const name = `${at}-${id}-0.parquet`;
  const due = clock() + RETIRED_MS;
  const retired = (of: string, paths: readonly string[]): RetiredItem => ({
    ...keys.retiredFiles(projectId, due, of),
    due,
    model,
    day,
    paths: toJsonText([...paths]),
  });
  const own = retired(`${id}-new`, [`${folder}${name}`]);
  await table.write([{ put: own }]);
  const written = await write(folder, name);
  const ops: Op[] = [
    { check: keys.project(projectId), if: { is: { id: projectId, deleted_at: null } } },
    { change: keys.lakeLayout(projectId), add: { replacements: 1 } },
    {
      put: retired(
        `${id}-old`,
        files.map(({ path }) => path),
      ),
    },
    ...files.map(({ pk, sk }): Op => ({ remove: { pk, sk }, if: 'present' })),
  ];
  if (written !== undefined) {
    const { name: _name, model: _model, ...about } = written;
    ops.push({ put: { ...keys.lakeFile(projectId, model, day, at, id, 0), path: `${folder}${name}`, ...about } });
    ops.push({ remove: { pk: own.pk, sk: own.sk } });
  }
  return tryWrite(table, ops);
}

/** Removes files that were replaced long enough ago. Returns when the next ones are due; null: there are none. */
export async function removeRetired(
  { table, lake, clock }: Pick<Publishing, 'table' | 'lake' | 'clock'>,
  projectId: number,
): Promise<number | null> {
  for (const { pk, sk, model, day, paths } of await listAll(table, ranges.retiredFiles(projectId, clock()))) {
    const from = Date.parse(day);
    const named = new Set((await filesBetween(table, projectId, model, from, from + DAY_MS)).map(({ path }) => path));
    for (const path of fromJsonText(paths)) if (!named.has(path)) await lake.remove(path);
    await table.write([{ remove: { pk, sk } }]);
  }
  const { items } = await table.list(ranges.retiredFiles(projectId), { limit: 1 });
  return items[0]?.due ?? null;
}
