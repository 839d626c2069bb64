/**
 * The one way into the lake.
 *
 * A batch becomes visible in four steps, and anybody may repeat the last two:
 *   1. stamp it with T, the server's time, and write its files to `incoming/`;
 *   2. commit: one transaction puts PENDING, if the fence is not above T, `live` is as the stamp assumed, the import
 *      still holds its lease and the project is there. Refused by the fence: a new T, and step 1 again;
 *   3. move each file to its place and put its FILE item;
 *   4. remove PENDING.
 * Whoever reads up to an instant first lifts the fence to it and finishes every pending batch: from then on no row
 * that arrives as live can appear before that instant, whatever clocks do and whoever dies.
 */
import { hash } from 'node:crypto';
import { dayOf } from '../basics/days.ts';
import { keys } from '../ports/table/keys.ts';
import { Refused } from '../ports/table/table.ts';
import { type LakeFile, type PublishedFile, rowsOf } from './catalog.ts';
import { askForCompaction } from './compaction-job.ts';
import { liveOf } from './fence.ts';
import { LEASE_LOST, type Lease, leaseHeld, leaseLost, type Publishing } from './lease.ts';
import { finish, incoming, MANIFEST, type Manifest } from './pending.ts';
import type { Model } from './schema.ts';

/** A file of a batch that is not committed: its name below the batch's own folder, whose rows, and what it holds. */
export type WrittenFile = Omit<LakeFile, 'path'> & { readonly name: string; readonly model: Model };

/** What step 1 stamps a batch with, in milliseconds. `live` is null while the project has no export. */
export interface Stamp {
  readonly at: number;
  readonly live: number | null;
}

/**
 * Writes the batch's files, so stamped, into `folder` of the lake. Called again with a new folder and stamp when the
 * commit was refused. A file's rows are of one arrival day, none later than `at`. No files: nothing is published.
 */
type WriteBatch = (stamp: Stamp, folder: string) => Promise<readonly WrittenFile[]>;

/** The project was deleted, or never was. */
export class ProjectGone extends Error {
  override readonly name = 'ProjectGone';
}

/**
 * Publishes one batch, of one model or of several, through the four steps, and returns its files as they now stand in
 * the lake. It is stamped later than `after` (milliseconds). Throws `LeaseLost` and `ProjectGone`; then nothing of it
 * is there. After any other error it may be, whole.
 */
export async function publish(
  context: Publishing,
  lease: Lease,
  write: WriteBatch,
  after = -1,
): Promise<readonly PublishedFile[]> {
  const { table, lake } = context;
  const { projectId } = lease;
  let found = await table.get(keys.fence(projectId));
  for (;;) {
    lease.signal.throwIfAborted();
    // A clock that is behind the fence would be refused until it has caught up.
    const at = Math.max(context.clock(), found?.at ?? 0, after + 1);
    const live = liveOf(found);
    const batch = context.newId();
    const folder = incoming(projectId, batch);
    const files = await write({ at, live }, folder);
    if (files.length === 0) return [];
    const manifest = manifestOf(projectId, batch, at, files);
    const text = JSON.stringify(manifest);
    await lake.write(`${folder}${MANIFEST}`, text);
    const pending = { ...keys.pendingBatch(projectId, at, batch), batch, at, sha256: hash('sha256', text) };
    try {
      await table.write([
        { check: keys.fence(projectId), if: { notAbove: { at }, is: { live } } },
        leaseHeld(lease),
        { check: keys.project(projectId), if: { is: { id: projectId, deleted_at: null } }, else: 'project_gone' },
        { put: pending, if: 'absent' },
      ]);
    } catch (error) {
      // Any other failure may have committed: the files stay, for whoever comes next.
      if (!(error instanceof Refused)) throw error;
      await lake.remove(folder);
      if (error.reason === LEASE_LOST) throw leaseLost();
      if (error.reason === 'project_gone') throw new ProjectGone(`There is no project ${projectId}.`);
      found = error.foundAt(keys.fence(projectId));
      continue;
    }
    await finish(context, projectId, pending);
    await askForCompaction(context, projectId);
    return manifest.files.map(({ model, file }) => ({ ...file, model }));
  }
}

function manifestOf(projectId: number, batch: string, at: number, files: readonly WrittenFile[]): Manifest {
  return {
    files: files.map(({ name, model, ...about }, n) => {
      const day = dayOf(about.min_arrival);
      const path = `${rowsOf(projectId, model)}day=${day}/gen=0/${at}-${batch}-${n}.parquet`;
      const key = keys.lakeFile(projectId, model, day, at, batch, n);
      return { from: `${incoming(projectId, batch)}${name}`, key, model, file: { path, ...about } };
    }),
  };
}
