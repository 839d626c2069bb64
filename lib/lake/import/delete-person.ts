/** Deletes persons, as the `$delete_person` of an import does, without an event of it. */
import type { Op } from '../../ports/table/table.ts';
import { adderUnder, type Lease, underLease, type Writing } from '../lease.ts';
import type { FoundPerson, PersonChange } from '../persons/change.ts';
import { adding } from './adding.ts';
import { type Forgotten, type ForgottenPerson, forgetEvents, forgetProperties, markForgotten } from './forgotten.ts';
import { foundDistinctIds } from './found-persons.ts';

/** Which person: as they were found, with one of their distinct_ids. */
export interface DeletedPerson {
  readonly projectId: number;
  readonly distinctId: string;
  readonly person: FoundPerson;
  /** Are their events to go too, of all distinct_ids? */
  readonly withEvents?: boolean;
  /** What tells of it, written just before the person goes: once more if that was in vain and is asked for again. */
  readonly telling?: readonly Op[];
}

/** Persons of a project that go together: their files are read once. */
interface DeletedPersons {
  readonly projectId: number;
  /** What happened later than `at`, milliseconds since 1970, is not forgotten. */
  readonly persons: readonly (Omit<DeletedPerson, 'projectId'> & { readonly at: number })[];
}

interface DeletionOptions {
  /** It waits for whoever adds to the project, batch by batch. Default: it throws `ImportUnderWay`. */
  readonly waits?: boolean;
  /** Where an earlier call was cut; null: nowhere. */
  readonly place?: string | null;
  /** It is cut then, milliseconds since 1970. */
  readonly until?: number;
}

/**
 * Deletes the person with all their distinct_ids; exports deliver that as they deliver any change. A later event with
 * such a distinct_id makes a person again, without properties. Who has taken the person over since they were found stays, and
 * so does who was made anew. With their events, what happened until now is gone from the lake, and is not taken again.
 * Nothing is done when there is none. Throws `ImportUnderWay` while somebody else adds to the project.
 */
export async function deletePerson(context: Writing, { projectId, ...person }: DeletedPerson): Promise<void> {
  await deletePersons(context, { projectId, persons: [{ ...person, at: context.clock() }] });
}

/**
 * Deletes persons so. What was forgotten is marked first, and the persons go last: whoever begins again after a death
 * anywhere does what was left. Files are read and written between two leases, so nobody waits for them but who adds while
 * those of persons are. Returns the place at which its time was over; null: all is done.
 */
export async function deletePersons(
  context: Writing,
  { projectId, persons }: DeletedPersons,
  { waits = false, ...walk }: DeletionOptions = {},
): Promise<string | null> {
  const theirs = await forgottenOfPersons(context, projectId, persons);
  const forgotten = together(theirs);
  if (forgotten.length > 0) {
    const purpose = waits ? 'batch' : 'import';
    await underLease(context, projectId, (lease) => markForgotten(context, lease, forgotten), { purpose });
    const cut = await forgetEvents(context, projectId, forgotten, walk);
    if (cut !== null) return cut;
  }
  const telling = persons.flatMap((person) => person.telling ?? []);
  const remove = async (lease: Lease): Promise<void> => {
    if (telling.length > 0) await context.table.write(telling);
    if (forgotten.length > 0) await forgetProperties(context, lease, theirs);
    await adding(context, adderUnder(lease), { before: async () => [], arrived: 'now' }, async (batches) => {
      for (const { distinctId, person } of persons)
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
          personChange: JSON.stringify({ remove: person } satisfies PersonChange),
        });
      await batches.end();
    });
  };
  // What was rewritten is not to be read again because somebody adds at this moment.
  await underLease(context, projectId, remove, { purpose: waits || forgotten.length > 0 ? 'batch' : 'import' });
  return null;
}

/** Returns what is forgotten of those whose events go too. */
async function forgottenOfPersons(
  context: Writing,
  projectId: number,
  persons: DeletedPersons['persons'],
): Promise<ForgottenPerson[]> {
  const asked = persons.filter(({ withEvents }) => withEvents === true);
  if (asked.length === 0) return [];
  const found = await foundDistinctIds(
    context,
    projectId,
    asked.map(({ person }) => person),
  );
  return asked.map(({ person, at }, n) => ({ person, forgotten: (found[n] ?? []).map((sha256) => ({ sha256, at })) }));
}

/** Returns what is forgotten of them. One may be asked for twice, and of two times the later counts. */
function together(persons: readonly ForgottenPerson[]): Forgotten[] {
  const at = new Map<string, number>();
  for (const { forgotten } of persons)
    for (const one of forgotten) at.set(one.sha256, Math.max(one.at, at.get(one.sha256) ?? one.at));
  return [...at].map(([sha256, instant]) => ({ sha256, at: instant }));
}
