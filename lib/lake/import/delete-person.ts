/** Deletes a person, as the `$delete_person` of an import does, without an event of it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Publishing, underLease } from '../lease.ts';
import type { PersonChange } from '../persons/change.ts';
import { BatchWriter } from './batch-writer.ts';
import { openStaging } from './staging.ts';

/** Which person: the one that a distinct_id of a project has. */
export interface DeletedPerson {
  readonly projectId: number;
  readonly distinctId: string;
}

/**
 * Deletes the person with all their distinct_ids; exports deliver that as they deliver any change. A later event with
 * such a distinct_id makes a person again, without properties. Nothing is done when there is none. Throws
 * `ImportUnderWay` while somebody else adds to the project.
 */
export async function deletePerson(
  context: Publishing,
  { projectId, distinctId }: DeletedPerson,
  temporaryFolder = tmpdir(),
): Promise<void> {
  const folder = await mkdtemp(join(temporaryFolder, 'deletion-'));
  try {
    await underLease(context, projectId, async (lease) => {
      const staging = await openStaging(folder, projectId, context.lake);
      const batches = new BatchWriter({ context, lease, staging, before: [], arrived: 'now', folder });
      try {
        batches.add({
          uuid: context.newId(),
          own: false,
          file: 0,
          event: null,
          distinctId,
          properties: '{}',
          timestamp: context.clock() * 1000,
          created: null,
          personId: null,
          personProperties: null,
          elementsChain: null,
          personChange: JSON.stringify({ delete: true } satisfies PersonChange),
        });
        await batches.end();
      } finally {
        await batches.settled();
        staging.close();
      }
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
