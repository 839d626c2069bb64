/** Imports into a project of a lake in a folder. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { neededBackfills } from '../../lib/exports/resource/import-backfills.ts';
import { type ImportFile, type ImportOptions, importEvents } from '../../lib/lake/import/import.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import type { Item, Ops } from '../../lib/ports/table/table.ts';
import { type TestContext, testContext } from './context.ts';
import { tableWith } from './table-override.ts';

export const PROJECT = 7;

/** Returns a context with two projects, where files can be made and the lake can be read. */
export async function importContext() {
  const context = testContext();
  for (const id of [PROJECT, 8])
    await context.table.write([{ put: { ...keys.project(id), id, organization_id: 'o', deleted_at: null } }]);
  return context;
}

export function fileIn(context: TestContext<object>, name: string, content: string | Uint8Array): string {
  const file = join(context.folder, name);
  writeFileSync(file, content);
  return file;
}

/** Imports files, and returns the report of it and which backfills are needed then. */
export async function run(
  context: TestContext<object>,
  files: string | readonly ImportFile[],
  options: Partial<ImportOptions> = {},
) {
  const { hours, ...report } = await importEvents(context, {
    projectId: PROJECT,
    files: [files].flat(),
    rejectedFolder: join(context.folder, 'rejected'),
    ...options,
  });
  return { ...report, backfills: await neededBackfills(context.table, { id: PROJECT, organization_id: 'o' }, hours) };
}

/** Imports records into a project, as lines of JSON; a text is a line as it is. */
export async function importRecords(
  context: Pick<TestContext<object>, 'folder'> & Parameters<typeof importEvents>[0],
  projectId: number,
  records: readonly (object | string)[],
): Promise<void> {
  const file = join(context.folder, `${context.newId()}.jsonl`);
  writeFileSync(
    file,
    records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join(''),
  );
  await importEvents(context, { projectId, files: [file], rejectedFolder: join(context.folder, 'rejected') });
}

/**
 * Returns a context whose process dies right before the n-th change of the table or the lake. As nothing is changed after
 * a death, to die right after a change leaves what the death before the next one does.
 */
export function killableContext(context: TestContext<object>, n: number) {
  const death = new Error('killed');
  let changes = 0;
  let dead = false;
  const killable =
    <A extends unknown[], R>(call: (...values: A) => Promise<R>) =>
    async (...values: A): Promise<R> => {
      if (dead) throw death;
      changes += 1;
      if (changes < n) return call(...values);
      dead = true;
      throw death;
    };
  const { table, lake } = context;
  const dying = {
    ...context,
    table: tableWith(table, {
      write: killable(<T extends Item>(ops: Ops<T>, options?: { apart?: boolean }) => table.write(ops, options)),
    }),
    lake: {
      ...lake,
      write: killable((...values: Parameters<typeof lake.write>) => lake.write(...values)),
      move: killable((...values: Parameters<typeof lake.move>) => lake.move(...values)),
      take: killable((...values: Parameters<typeof lake.take>) => lake.take(...values)),
      remove: killable((...values: Parameters<typeof lake.remove>) => lake.remove(...values)),
    },
  };
  return { dying, hasDied: () => dead, changes: () => changes };
}
