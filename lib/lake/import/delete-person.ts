/** Deletes persons, as the `$delete_person` of an import does, without an event of it. */
import type { Op } from '../../ports/table/table.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import { hideAnswers, removeForgottenAnswers } from '../forget-answers.ts';
import { adderUnder, type LakeWriter, type Lease, underLease } from '../lease.ts';
import type { FoundPerson, PersonChange } from '../persons/change.ts';
import { adding } from './batch-writer.ts';
import {
  type Forgotten,
  type ForgottenPerson,
  forgetEvents,
  forgetProperties,
  forgottenOf,
  markForgotten,
  type Walk,
} from './forgotten.ts';
import { foundDistinctIds } from './found-persons.ts';

/** Which person: as they were found, with one of their distinct_ids. */
export interface DeletedPerson {
  readonly distinctId: string;
  /** Null: nobody was known by it, and only events with it can go. */
  readonly person: FoundPerson | null;
  /** Are their events to go too, of all distinct_ids? */
  readonly withEvents?: boolean;
  /** What tells of it, written just before the person goes: once more if that was in vain and is asked for again. */
  readonly telling?: readonly Op[];
}

/** Persons of a project that go together: their files are read once. */
export interface Deletion {
  readonly projectId: number;
  readonly persons: readonly DeletedPerson[];
}

/** What happened later than `at`, milliseconds since 1970, is not forgotten. */
interface AskedPerson extends DeletedPerson {
  readonly at: number;
}

interface DeletionOptions extends Walk {
  /** It waits for whoever adds to the project, batch by batch. Default: it throws `ImportUnderWay`. */
  readonly waits?: boolean;
}

/**
 * Deletes persons with all their distinct_ids; exports deliver that as they deliver any change. A later event with
 * such a distinct_id makes a person again, without properties. Who has taken the person over since they were found stays, and
 * so does who was made anew. With their events, what happened until now is gone from the lake, and is not taken again.
 * Answers to queries that are kept are forgotten. Nothing else is done of those who are none. Throws `ImportUnderWay` while
 * somebody else adds to the project.
 */
export async function deleteNow(context: LakeWriter, { projectId, persons }: Deletion): Promise<void> {
  const at = context.clock();
  await deletePersons(context, { projectId, persons: persons.map((person) => ({ ...person, at })) });
}

/**
 * Deletes persons so. What was forgotten is marked first, and the persons go last: whoever begins again after a death
 * anywhere does what was left. Files are read and written between two leases, so nobody waits for them but who adds while
 * those of persons are. Returns the place at which its time was over; null: all is done.
 */
export async function deletePersons(
  context: LakeWriter,
  { projectId, persons }: { readonly projectId: number; readonly persons: readonly AskedPerson[] },
  { waits = false, ...walk }: DeletionOptions = {},
): Promise<string | null> {
  const known = persons.filter(isKnown);
  const theirs = await forgottenOfPersons(context, projectId, known);
  const forgotten = latestOf([...theirs.flatMap((one) => one.forgotten), ...forgottenOfNobody(persons)]);
  if (forgotten.length > 0) {
    const purpose = waits ? 'batch' : 'import';
    await underLease(context, projectId, (lease) => markForgotten(context, lease, forgotten), { purpose });
    const cut = await forgetEvents(context, projectId, forgotten, walk);
    if (cut !== null) return cut;
  }
  const remove = async (lease: Lease): Promise<void> => {
    // A death from here on leaves no answer with their events ...
    await hideAnswers(context.table, projectId);
    // What a call before has told that was cut is there.
    for (const { telling = [] } of persons) if (telling.length > 0) await tryWrite(context.table, telling);
    if (theirs.length > 0) await forgetProperties(context, lease, theirs);
    if (known.length === 0) return;
    await adding(context, adderUnder(lease), { before: async () => [], arrived: 'now' }, async (batches) => {
      for (const { distinctId, person } of known)
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
    // ... and what was computed meanwhile may have what was known of them.
    await hideAnswers(context.table, projectId);
  };
  // What was rewritten is not to be read again because somebody adds at this moment.
  await underLease(context, projectId, remove, { purpose: waits || forgotten.length > 0 ? 'batch' : 'import' });
  // Nobody finds them, so nobody who adds has to wait for this.
  await removeForgottenAnswers(context.table, projectId);
  return null;
}

type KnownPerson = AskedPerson & { readonly person: FoundPerson };

const isKnown = (asked: AskedPerson): asked is KnownPerson => asked.person !== null;

/** Returns what is forgotten where nobody was known by a distinct_id. */
const forgottenOfNobody = (persons: readonly AskedPerson[]): Forgotten[] =>
  persons
    .filter((asked) => !isKnown(asked) && asked.withEvents === true)
    .map(({ distinctId, at }) => forgottenOf(distinctId, at));

/** Returns what is forgotten of those whose events go too. */
async function forgottenOfPersons(
  context: LakeWriter,
  projectId: number,
  persons: readonly KnownPerson[],
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
function latestOf(forgotten: readonly Forgotten[]): Forgotten[] {
  const at = new Map<string, number>();
  for (const one of forgotten) at.set(one.sha256, Math.max(one.at, at.get(one.sha256) ?? one.at));
  return [...at].map(([sha256, instant]) => ({ sha256, at: instant }));
}
