/**
 * Deletions of persons that were asked for, where a request cannot wait for them: each is recorded with the job that has
 * them done, and done beside the lake, those of a project together.
 */
import { askForJob } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Item, MAX_TRANSACTION, type Op } from '../../ports/table/table.ts';
import { isWritten } from '../../ports/table/until-written.ts';
import type { Writing } from '../lease.ts';
import type { FoundPerson } from '../persons/change.ts';
import { type DeletedPerson, type Deletion, deletePersons } from './delete-person.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    personDeletion: PersonDeletionItem;
  }
}

interface PersonDeletionItem extends Item {
  /** One of the person's. */
  readonly distinctId: string;
  /** Null: nobody was known by it. */
  readonly person: JsonText<FoundPerson | null>;
  /** When it was asked for, milliseconds since 1970. */
  readonly at: number;
  /** Their events go too. */
  readonly withEvents: boolean;
  /** Files before it have none of them; null: that is not known of any. */
  readonly place: string | null;
}

/** The port to who does them, which needs a processor and memory of its own. */
export interface PersonDeletions {
  /** Does what was asked for in a project, for ten minutes at most. Returns whether there may be more. */
  walk(projectId: number): Promise<boolean>;
}

/** The id of the job that has the persons of a project deleted who were asked to be. */
export const personDeletionJob = (projectId: number): string => `persons-${projectId}`;

/**
 * Records a deletion with what tells of it, and has it done. It is done for certain once this has resolved; of many persons,
 * some may be if it fails.
 */
export async function askForDeletion(
  { table, clock, newId }: Pick<Context, 'table' | 'clock' | 'newId'>,
  { projectId, persons }: Deletion,
): Promise<void> {
  const at = clock();
  for (const ops of transactionsOf(persons.map((person) => recording(projectId, newId(), at, person)))) {
    const about = { project: projectId, asked: newId() };
    await askForJob(table, { kind: 'deletion', id: personDeletionJob(projectId), due: at, about }, ops);
  }
}

/** The ops that record the deletion of a person and tell of it. */
function recording(
  projectId: number,
  id: string,
  at: number,
  { distinctId, person, withEvents = false, telling = [] }: DeletedPerson,
): readonly Op[] {
  const put = {
    ...keys.personDeletion(projectId, id),
    distinctId,
    person: toJsonText(person),
    at,
    withEvents,
    place: null,
  };
  return [{ put }, ...telling];
}

/** Returns ops together, those of a person always, as many as a transaction may have beside a job. */
function transactionsOf(recordings: readonly (readonly Op[])[]): readonly (readonly Op[])[] {
  const transactions: Op[][] = [];
  for (const ops of recordings) {
    const last = transactions.at(-1);
    if (last !== undefined && last.length + ops.length < MAX_TRANSACTION) last.push(...ops);
    else transactions.push([...ops]);
  }
  return transactions;
}

/** So many persons are deleted together at most. */
const MAX_TOGETHER = 1_000;

interface WalkOptions {
  /** It begins no other file then, milliseconds since 1970. */
  readonly until: number;
}

/** Does what was asked for in a project. Returns whether there may be more. Killed anywhere, the next walk goes on. */
export async function walkDeletions(context: Writing, projectId: number, options: WalkOptions): Promise<boolean> {
  const { table } = context;
  const project = await table.get(keys.project(projectId));
  if (project === undefined || project.deleted_at !== null) return false;
  const asked = together(await listAll(table, ranges.personDeletions(projectId)));
  if (asked.length === 0) return false;
  const place = asked.map((one) => one.place ?? '').reduce((least, one) => (one < least ? one : least));
  const persons = asked.map((one) => ({ ...one, person: fromJsonText(one.person) }));
  const cut = await deletePersons(context, { projectId, persons }, { ...options, waits: true, place });
  for (const { pk, sk, place: known } of asked) {
    if (cut === null) await table.write([{ remove: { pk, sk } }]);
    else if (cut > (known ?? '')) await isWritten(table, [{ change: { pk, sk }, set: { place: cut }, if: 'present' }]);
  }
  return true;
}

/**
 * Returns those of which a walk was cut: who was asked for since waits, or each walk would begin at the first file again.
 * Where there are none, the first of all, as many as are done together.
 */
function together(asked: readonly PersonDeletionItem[]): readonly PersonDeletionItem[] {
  const begun = asked.filter(({ place }) => place !== null);
  return begun.length > 0 ? begun : asked.slice(0, MAX_TOGETHER);
}
