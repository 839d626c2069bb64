/**
 * Deletions of persons that were asked for, where a request cannot wait for them, or was cut while it did: each is recorded
 * with the job that has them done, and done beside the lake, those of a project together.
 */
import { MINUTE_MS } from '../../basics/units.ts';
import { askForJob } from '../../jobs/job.ts';
import type { Context } from '../../ports/context.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { type Item, MAX_TRANSACTION, type Op } from '../../ports/table/table.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import type { LakeWriter } from '../lease.ts';
import type { FoundPerson } from '../persons/change.ts';
import { type DeletedPerson, type Deletion, deletePersons } from './delete-person.ts';
import type { Walk } from './forgotten.ts';

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
  /** What tells of it, written just before the person goes; absent: it is told of already. */
  readonly telling?: JsonText<readonly Op[]>;
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
export async function askForDeletion(context: Recording, deletion: Deletion): Promise<void> {
  await record(context, deletion, {
    wait: 0,
    opsOf: (item, { telling = [] }) => [{ put: item }, ...telling],
  });
}

/** Most of what a request waits for is done by then. What is not, it and the job may do beside each other. */
const UNDER_WAY_MS = 5 * MINUTE_MS;

/**
 * Records a deletion that a request begins now, so that the job finishes it should it be cut. Returns what takes the records
 * away: it is done, or nothing of it was begun. A record that is left is done once more, which changes nothing.
 */
export async function recordDeletion(context: Recording, deletion: Deletion): Promise<() => Promise<void>> {
  const recorded = await record(context, deletion, {
    wait: UNDER_WAY_MS,
    opsOf: (item, { telling }) => [{ put: telling === undefined ? item : { ...item, telling: toJsonText(telling) } }],
  });
  return async () => {
    const ops = recorded.map(({ pk, sk }): Op => ({ remove: { pk, sk } }));
    await context.table.write(ops, { apart: true }).catch(() => {});
  };
}

type Recording = Pick<Context, 'table' | 'clock' | 'newId'>;

interface RecordOptions {
  /** So long the job waits, in milliseconds, if it is not there already. */
  readonly wait: number;
  /** What records the deletion of a person, who is in the item. */
  readonly opsOf: (item: PersonDeletionItem, person: DeletedPerson) => readonly Op[];
}

async function record(
  { table, clock, newId }: Recording,
  { projectId, persons }: Deletion,
  { wait, opsOf }: RecordOptions,
): Promise<readonly PersonDeletionItem[]> {
  const at = clock();
  const items = persons.map(
    ({ distinctId, person, withEvents = false }): PersonDeletionItem => ({
      ...keys.personDeletion(projectId, newId()),
      distinctId,
      person: toJsonText(person),
      at,
      withEvents,
      place: null,
    }),
  );
  for (const ops of transactionsOf(items.map((item, n) => opsOf(item, persons[n] as DeletedPerson)))) {
    const about = { project: projectId, asked: newId() };
    await askForJob(table, { kind: 'deletion', id: personDeletionJob(projectId), due: at + wait, about }, ops);
  }
  return items;
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

/** Does what was asked for in a project. Returns whether there may be more. Killed anywhere, the next walk goes on. */
export async function walkDeletions(
  context: LakeWriter,
  projectId: number,
  { until }: Required<Pick<Walk, 'until'>>,
): Promise<boolean> {
  const { table } = context;
  const project = await table.get(keys.project(projectId));
  if (project === undefined || project.deleted_at !== null) return false;
  const asked = together(readable(context, await listAll(table, ranges.personDeletions(projectId))));
  if (asked.length === 0) return false;
  const place = asked.map((one) => one.place ?? '').reduce((least, one) => (one < least ? one : least));
  const persons = asked.map((one) => ({
    ...one,
    person: fromJsonText(one.person),
    telling: one.telling === undefined ? [] : fromJsonText(one.telling),
  }));
  const cut = await deletePersons(context, { projectId, persons }, { until, waits: true, place });
  for (const { pk, sk, place: known } of asked) {
    if (cut === null) await table.write([{ remove: { pk, sk } }]);
    else if (cut > (known ?? '')) await tryWrite(table, [{ change: { pk, sk }, set: { place: cut }, if: 'present' }]);
  }
  return true;
}

/**
 * Returns those that say who was found, and whether their events go. Versions from before recorded less: by a distinct_id alone
 * somebody else could be deleted.
 */
function readable({ log }: LakeWriter, asked: readonly PersonDeletionItem[]): readonly PersonDeletionItem[] {
  const isReadable = ({ person, withEvents }: Partial<PersonDeletionItem>) =>
    person !== undefined && withEvents !== undefined;
  for (const { pk, sk } of asked.filter((one) => !isReadable(one)))
    log.error('a deletion that an earlier version recorded cannot be done: ask for it again', {
      lake: pk,
      deletion: sk,
    });
  return asked.filter(isReadable);
}

/**
 * Returns those of which a walk was cut: who was asked for since waits, or each walk would begin at the first file again.
 * Where there are none, the first of all, as many as are done together.
 */
function together(asked: readonly PersonDeletionItem[]): readonly PersonDeletionItem[] {
  const begun = asked.filter(({ place }) => place !== null);
  return begun.length > 0 ? begun : asked.slice(0, MAX_TOGETHER);
}
