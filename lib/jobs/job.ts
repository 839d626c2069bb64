/**
 * What must happen in time. A job is written in the transaction of the change that it follows from, so it is never
 * forgotten; the tick starts the machine that does it. Starting twice is harmless: machines look what there is to do.
 */
import { fromJsonText, type JsonText, toJsonText } from '../ports/table/json-text.ts';
import { keys, places } from '../ports/table/keys.ts';
import type { Item, Op, Table } from '../ports/table/table.ts';
import { tryWrite, untilWritten } from '../ports/table/until-written.ts';
import type { NotifierInput } from '../workflow/messages.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    job: JobItem;
  }
}

/** What must happen, and when; written in the transaction of what it follows from. */
export interface JobItem extends Item {
  readonly kind:
    | 'export'
    | 'backfill'
    | 'retry'
    | 'purge'
    | 'notice'
    | 'compaction'
    | 'landing'
    | 'deletion'
    | 'alert'
    | 'subscription'
    | 'message';
  readonly id: string;
  readonly due: number;
  readonly attempts: number;
  /** The latest attempt when an execution began what is sent; absent: none has. */
  readonly begun?: number;
  /** What the job needs beyond its id, if anything. */
  readonly about: JsonText<About[JobKind]> | null;
}

export type JobKind = JobItem['kind'];

/** What a job needs beyond its id. An `export` job needs nothing: its id is the export's. */
interface About {
  readonly export: Record<string, never>;
  readonly backfill: { readonly export: string };
  /** The job's id is the run's that ended FailedRetryable. */
  readonly retry: { readonly export: string };
  readonly purge: { readonly kind: 'organization' | 'project' };
  /** The number of the project whose files are joined. */
  readonly compaction: { readonly project: number };
  /** The project whose persons are deleted, and which deletion was asked for last. */
  readonly deletion: { readonly project: number; readonly asked: string };
  /** Since when nothing was found in the inbox, and nobody has asked for a landing: milliseconds since 1970. */
  readonly landing: { readonly quietSince: number };
  /** The export that failed; only who sends the notice looks into the rest. */
  readonly notice: { readonly export: string };
  /** The job's id is made of its project and its own. */
  readonly alert: NotifierInput;
  readonly subscription: NotifierInput;
  /** The message; only who sends it looks into it. */
  readonly message: { readonly organization: string };
}

/** The ops that put a job (`due` in milliseconds since 1970), or remove it (null). A job that is there is replaced. */
export function jobOps<K extends JobKind>(kind: K, id: string, due: number | null, about?: About[K]): Op[] {
  return due === null ? [{ remove: keys.job(kind, id) }] : [{ put: jobOf(kind, id, due, about) }];
}

const jobOf = <K extends JobKind>(kind: K, id: string, due: number, about?: About[K]): JobItem => ({
  ...keys.job(kind, id),
  ...places.dueAt(due, kind, id),
  kind,
  id,
  due,
  attempts: 0,
  about: about === undefined ? null : toJsonText<About[JobKind]>(about),
});

/**
 * Has a job done that all who ask for share, in one transaction with `also`. One that is there is under way, or about to
 * be: it keeps its time and is told what it is about now, so that who ends it can see whether somebody has asked meanwhile.
 */
export async function askForJob<K extends JobKind>(
  table: Table,
  { kind, id, due, about }: { readonly kind: K; readonly id: string; readonly due: number; readonly about: About[K] },
  also: readonly Op[] = [],
): Promise<void> {
  const job = jobOf(kind, id, due, about);
  const isAsked = () => tryWrite(table, [...also, { put: job, if: 'absent' }]);
  const isTold = () =>
    tryWrite(table, [...also, { change: keys.job(kind, id), set: { about: job.about }, if: 'present' }]);
  for (;;) {
    // One that was there may have ended by the time that it is to be told, and then there is none again.
    if ((await isAsked()) || (await isTold())) return;
  }
}

/**
 * Has a job done sooner whose execution has broken: what that has put the job off for is over. One that was taken since
 * keeps its time, for that is what makes a job that nothing comes of less and less frequent. Who is told late may so begin an
 * execution beside one that works.
 */
export const hurryJob = (table: Table, kind: JobKind, id: string, due: number): Promise<void> =>
  untilWritten(async () => {
    const job = await table.get(keys.job(kind, id));
    if (job === undefined || job.due <= due || job.attempts > 0) return;
    const set = { due, ...places.dueAt(due, kind, id) };
    await table.write([{ change: keys.job(kind, id), set, if: { is: { due: job.due, attempts: 0 } } }]);
  });

/** Returns what a job of this kind needs beyond its id. Throws when the job was put without it. */
export function aboutOf<K extends JobKind>(_kind: K, { id, about }: JobItem): About[K] {
  if (about === null) throw new TypeError(`nothing is known about job ${id}`);
  return fromJsonText(about) as About[K];
}
