/**
 * Batches that are committed, but whose files may not all stand at their place yet. Anybody may finish them, at any
 * time, beside anybody (`publish.ts` tells the four steps).
 */
import { hash } from 'node:crypto';
import type { Context } from '../ports/context.ts';
import { Damaged } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import { ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { type Item, type Key, MAX_TRANSACTION, type Op } from '../ports/table/table.ts';
import { incomingOf, type LakeFile } from './catalog.ts';
import type { Model } from './schema.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    pendingBatch: PendingItem;
  }
}

/** FILE items in one transaction, beside the check of PENDING. */
const FILES_AT_ONCE = MAX_TRANSACTION - 1;

/** The name of a batch's manifest, in the batch's folder. */
export const MANIFEST = 'batch.json';

/** A committed batch, as stored until its files stand at their place. */
interface PendingItem extends Item {
  readonly batch: string;
  readonly at: number;
  /** Of its manifest. Absent: it is older than digests. */
  readonly sha256?: string;
}

/** What step 3 needs, written to the batch's folder before the commit: however many files, PENDING stays small. */
export interface Manifest {
  readonly files: readonly {
    readonly from: string;
    readonly key: Key;
    readonly model: Model;
    readonly file: LakeFile;
  }[];
}

/** The folder of a batch, in which its files wait. */
export const incoming = (projectId: number, batch: string): string => `${incomingOf(projectId)}${batch}/`;

/** Reads the manifest of each committed batch of a project. Throws `Damaged` for one that is not what was committed. */
export async function checkPending({ table, lake }: Pick<Context, 'table' | 'lake'>, projectId: number): Promise<void> {
  for (const pending of await listAll(table, ranges.pendingBatches(projectId))) {
    try {
      await manifestIn(lake, incoming(projectId, pending.batch), pending);
    } catch (error) {
      // Somebody has finished it meanwhile.
      if ((await table.get({ pk: pending.pk, sk: pending.sk })) !== undefined) throw error;
    }
  }
}

/** Steps 3 and 4 for every committed batch of the project. Anybody may do it, at any time, beside anybody. */
export async function finishPending(context: Pick<Context, 'table' | 'lake'>, projectId: number): Promise<void> {
  for (const item of await listAll(context.table, ranges.pendingBatches(projectId)))
    await finish(context, projectId, item);
}

/** Steps 3 and 4 for one batch. */
export async function finish(
  { table, lake }: Pick<Context, 'table' | 'lake'>,
  projectId: number,
  pending: PendingItem,
): Promise<void> {
  const pendingKey: Key = { pk: pending.pk, sk: pending.sk };
  const folder = incoming(projectId, pending.batch);
  try {
    const { files } = await manifestIn(lake, folder, pending);
    for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
      const some = files.slice(at, at + FILES_AT_ONCE);
      for (const { from, file } of some) await lake.move(from, file.path);
      // Only while PENDING is there: whoever comes back late must not bring back what was removed since.
      await table.write([
        { check: pendingKey, if: 'present' },
        ...some.map(({ key, file }): Op => ({ put: { ...key, ...file } })),
      ]);
    }
    await table.write([{ remove: pendingKey }]);
    await lake.remove(folder);
  } catch (error) {
    // PENDING is gone: somebody else has finished all of it, and what this one looked for is no longer where it was.
    if ((await table.get(pendingKey)) !== undefined) throw error;
  }
}

/** Returns the manifest of a batch. Throws `Damaged` when it is not what was committed. */
async function manifestIn(lake: FileStore, folder: string, { sha256 }: PendingItem): Promise<Manifest> {
  const path = `${folder}${MANIFEST}`;
  const text = await lake.read(path);
  if (text === undefined) throw new Damaged(path, 'it is not there');
  if (sha256 !== undefined && hash('sha256', text) !== sha256) throw new Damaged(path, 'it is not what was written');
  return JSON.parse(text.toString()) as Manifest;
}
