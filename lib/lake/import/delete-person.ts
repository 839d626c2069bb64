/** Deletes a person, as the `$delete_person` of an import does, without an event of it. */
import { adderUnder, type Publishing, underLease } from '../lease.ts';
import type { PersonChange } from '../persons/change.ts';
import { adding } from './adding.ts';
import { forget } from './forgotten.ts';

/** Which person: the one that a distinct_id of a project has. */
export interface DeletedPerson {
  readonly projectId: number;
  readonly distinctId: string;
  /** All distinct_ids of the person, whose events are to go too. */
  readonly forget?: readonly string[];
}

/**
 * Deletes the person with all their distinct_ids; exports deliver that as they deliver any change. A later event with
 * such a distinct_id makes a person again, without properties. With `forget`, what happened until now is gone from the lake,
 * and is not taken again. Nothing is done when there is none. Throws
 * `ImportUnderWay` while somebody else adds to the project.
 */
export async function deletePerson(
  context: Publishing,
  { projectId, distinctId, forget: forgotten = [] }: DeletedPerson,
  temporaryFolder?: string,
): Promise<void> {
  await underLease(context, projectId, async (lease) => {
    // First: who asks again after this died finds the person still there.
    if (forgotten.length > 0) await forget(context, lease, forgotten, temporaryFolder);
    await adding(
      context,
      adderUnder(lease),
      { before: async () => [], arrived: 'now', temporaryFolder },
      async (batches) => {
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
      },
    );
  });
}
