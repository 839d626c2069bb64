/**
 * The one door into the lake, and the fence that readers close behind them.
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

import type { Context } from '../ports/context.ts';
import type { Spool } from '../ports/files/files.ts';
import { keys, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { type Item, type Key, MAX_TRANSACTION, type Op, Refused, type Table } from '../ports/table/table.ts';
import { MODELS, type Model } from './schema.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    fence: FenceItem;
    lease: LeaseItem;
    pendingBatch: PendingItem;
    lakeFile: LakeFileItem;
  }
}

/** What whoever adds to the lake needs: a running service, or a command beside one. */
export type Publishing = Pick<Context, 'table' | 'lake' | 'clock' | 'newId' | 'random' | 'log' | 'settings'>;

/**
 * What a file of the lake holds. Instants are milliseconds since 1970, rounded down; `min` and `max` are inclusive.
 * A file holds one model's rows of one arrival day, sorted by arrival, timestamp and uuid.
 */
export interface LakeFile {
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly min_arrival: number;
  readonly max_arrival: number;
  readonly min_timestamp: number;
  readonly max_timestamp: number;
  /** JSON of 24 numbers: rows by the UTC hour of their arrival. */
  readonly hours: string;
}

export type LakeFileItem = Item & LakeFile;

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
export type WriteBatch = (stamp: Stamp, folder: string) => Promise<readonly WrittenFile[]>;

/** The hold that one importer has on a project. `signal` is aborted when it is lost. */
export interface Lease {
  readonly projectId: number;
  readonly holder: string;
  readonly signal: AbortSignal;
}

/** Somebody else is importing into the project. */
export class ImportUnderWay extends Error {
  override readonly name = 'ImportUnderWay';
}

/** The import was stalled for so long that another one took its place; what it has not committed is dropped. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The project was deleted, or never was. */
export class ProjectGone extends Error {
  override readonly name = 'ProjectGone';
}

/** A holder renews this often ... */
const RENEWAL = 20_000;
/** ... and is taken for dead after three renewals that did not come, in milliseconds. */
const LEASE = 60_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** FILE items in one transaction, beside the check of PENDING. */
const FILES_AT_ONCE = MAX_TRANSACTION - 1;

const MANIFEST = 'batch.json';

/** Where the project's lake is closed (`at`), and from when on its rows matter to an export (`live`). */
interface FenceItem extends Item {
  readonly at?: number;
  readonly live?: number | null;
}

/** Who imports into the project, since when, and until when they need not renew it. */
interface LeaseItem extends Item {
  readonly holder: string;
  readonly since: number;
  readonly until: number;
}

/** A batch that is committed and not finished. */
interface PendingItem extends Item {
  readonly batch: string;
  readonly at: number;
}

/** What step 3 needs, written to the batch's folder before the commit: however many files, PENDING stays small. */
interface Manifest {
  readonly files: readonly {
    readonly from: string;
    readonly key: Key;
    readonly model: Model;
    readonly file: LakeFile;
  }[];
}

const incomingOf = (projectId: number): string => `incoming/team_id=${projectId}/`;
const rowsOf = (projectId: number, model: Model): string => `${model}/team_id=${projectId}/`;

/** Where the states of a project's persons lie, for its next import. */
export const personStates = (projectId: number): string => `persons_state/team_id=${projectId}/`;

/** Every folder of the lake that belongs to a project. */
export const projectFolders = (projectId: number): string[] => [
  ...MODELS.map((model) => rowsOf(projectId, model)),
  personStates(projectId),
  incomingOf(projectId),
];
const incoming = (projectId: number, batch: string): string => `${incomingOf(projectId)}${batch}/`;

/** The day of an instant (milliseconds), as paths and keys have it: `2015-05-17`. */
export const dayOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10);

/**
 * Closes the project's lake up to `upTo` (milliseconds): finishes what was committed, and from then on nothing that
 * arrives as live can appear before `upTo`. History may still be added. The fence never goes back.
 */
export async function fence(context: Pick<Context, 'table' | 'lake'>, projectId: number, upTo: number): Promise<void> {
  const lift: Op = { change: keys.fence(projectId), set: { at: upTo }, if: { notAbove: { at: upTo } } };
  await context.table.write([lift]).catch(ignoreRefusal);
  await finishPending(context, projectId);
}

/** Steps 3 and 4 for every committed batch of the project. Anybody may do it, at any time, beside anybody. */
export async function finishPending(context: Pick<Context, 'table' | 'lake'>, projectId: number): Promise<void> {
  for (const item of await listAll(context.table, ranges.pendingBatches(projectId)))
    await finish(context, projectId, item as PendingItem);
}

/** The files of a model that hold rows with arrival in [from, to), milliseconds, in the order of arrival days. */
export async function filesBetween(
  table: Table,
  projectId: number,
  model: Model,
  from: number,
  to: number,
): Promise<LakeFileItem[]> {
  if (to <= from || to <= 0) return [];
  const range = ranges.lakeFiles(projectId, model, dayOf(Math.max(from, 0)), dayOf(to - 1));
  const files = (await listAll(table, range)) as LakeFileItem[];
  return files.filter((file) => isTouched(file, from, to));
}

/** After any arrival. */
const END_OF_TIME = Date.UTC(9999, 0);

/** All files of a model, in the order of arrival days. */
export const allFiles = (table: Table, projectId: number, model: Model): Promise<LakeFileItem[]> =>
  filesBetween(table, projectId, model, 0, END_OF_TIME);

/** Can the file hold a row with arrival in [from, to)? Exact to the hour, and to the file's first and last row. */
export function isTouched(file: LakeFile, from: number, to: number): boolean {
  const first = Math.max(from, file.min_arrival);
  const last = Math.min(to - 1, file.max_arrival);
  if (first > last) return false;
  const hours = JSON.parse(file.hours) as number[];
  const midnight = Math.floor(file.min_arrival / DAY) * DAY;
  const hour = (instant: number): number => Math.floor((instant - midnight) / HOUR);
  return hours.slice(hour(first), hour(last) + 1).some((rows) => rows > 0);
}

/**
 * What the transaction that creates an export, or moves its start, must hold, so that no import takes rows of its
 * slots for history: at most one op, that lowers `live` to the start (milliseconds) of its first slot. `live` never
 * rises. Refused: another export lowered it at the same moment; ask again.
 */
export async function lowerLiveOps(table: Table, projectId: number, firstSlotStart: number): Promise<Op[]> {
  const live = liveOf(await table.get(keys.fence(projectId)));
  if (live !== null && live <= firstSlotStart) return [];
  return [{ change: keys.fence(projectId), set: { live: firstSlotStart }, if: { is: { live } } }];
}

/**
 * Does `work` as the one importer of the project. First it finishes what a dead importer committed, and removes what
 * it did not. Throws `ImportUnderWay`, and `LeaseLost` when it was taken for dead on the way.
 */
export async function underLease<T>(
  context: Publishing,
  projectId: number,
  work: (lease: Lease) => Promise<T>,
): Promise<T> {
  const lost = new AbortController();
  const lease: Lease = { projectId, holder: context.newId(), signal: lost.signal };
  await takeLease(context, lease);
  const renewal = setInterval(() => {
    // Only a refusal means that it is lost; what else failed may go well the next time.
    renewLease(context, lease).catch((error) => error instanceof Refused && lost.abort(leaseLost()));
  }, RENEWAL).unref();
  try {
    await recover(context, lease);
    return await work(lease);
  } finally {
    clearInterval(renewal);
    const key = keys.lease(projectId);
    await context.table.write([{ remove: key, if: { is: { holder: lease.holder } } }]).catch(ignoreRefusal);
  }
}

/**
 * What was committed is finished, what was not is removed. What lay in `incoming` while the lease was held is of
 * earlier holders, whom the lease keeps from committing it; what came later may be a later holder's.
 */
async function recover({ table, lake }: Publishing, { projectId, holder }: Lease): Promise<void> {
  const folders = new Set<string>();
  for await (const { path } of lake.list(incomingOf(projectId))) folders.add(path.slice(0, path.lastIndexOf('/') + 1));
  if ((await table.get(keys.lease(projectId)))?.['holder'] !== holder) throw leaseLost();
  await finishPending({ table, lake }, projectId);
  for (const folder of folders) await lake.remove(folder);
}

const leaseLost = (): LeaseLost => new LeaseLost('The import was stalled, and another one has taken its place.');

/** A file as it stands in the lake. */
export type PublishedFile = LakeFile & { readonly model: Model };

/** When the batch of a file was stamped, milliseconds. */
export const publishedAt = ({ path }: LakeFile): number => Number.parseInt(path.slice(path.lastIndexOf('/') + 1), 10);

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
    const at = Math.max(context.clock(), Number(found?.['at'] ?? 0), after + 1);
    const stamp: Stamp = { at, live: liveOf(found) };
    const batch = context.newId();
    const folder = incoming(projectId, batch);
    const files = await write(stamp, folder);
    if (files.length === 0) return [];
    const manifest = manifestOf({ projectId, batch, folder, stamp, files });
    await lake.write(`${folder}${MANIFEST}`, JSON.stringify(manifest));
    const pending = { ...keys.pendingBatch(projectId, stamp.at, batch), batch, at: stamp.at };
    try {
      await table.write([
        { check: keys.fence(projectId), if: { notAbove: { at: stamp.at }, is: { live: stamp.live } } },
        { check: keys.lease(projectId), if: { is: { holder: lease.holder } } },
        { check: keys.project(projectId), if: { is: { id: projectId, deleted_at: null } } },
        { put: pending, if: 'absent' },
      ]);
    } catch (error) {
      // Any other failure may have committed: the files stay, for whoever comes next.
      if (!(error instanceof Refused)) throw error;
      await lake.remove(folder);
      if (error.op === 1) throw leaseLost();
      if (error.op === 2) throw new ProjectGone(`There is no project ${projectId}.`);
      found = error.found;
      continue;
    }
    await finish(context, projectId, pending);
    return manifest.files.map(({ model, file }) => ({ ...file, model }));
  }
}

function manifestOf(batch: {
  projectId: number;
  batch: string;
  folder: string;
  stamp: Stamp;
  files: readonly WrittenFile[];
}): Manifest {
  const { projectId, stamp } = batch;
  return {
    files: batch.files.map(({ name, model, ...about }, n) => {
      const day = dayOf(about.min_arrival);
      const path = `${rowsOf(projectId, model)}day=${day}/gen=0/${stamp.at}-${batch.batch}-${n}.parquet`;
      return {
        from: `${batch.folder}${name}`,
        key: keys.lakeFile(projectId, model, day, stamp.at, batch.batch, n),
        model,
        file: { path, ...about },
      };
    }),
  };
}

async function finish(
  { table, lake }: Pick<Context, 'table' | 'lake'>,
  projectId: number,
  pending: PendingItem,
): Promise<void> {
  const pendingKey: Key = { pk: pending.pk, sk: pending.sk };
  const folder = incoming(projectId, pending.batch);
  try {
    const { files } = await manifestIn(lake, folder);
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

async function manifestIn(lake: Spool, folder: string): Promise<Manifest> {
  const text = await lake.read(`${folder}${MANIFEST}`);
  if (text === undefined) throw new Error(`the lake has lost ${folder}${MANIFEST}`);
  return JSON.parse(text.toString()) as Manifest;
}

/** Writes while the lease is held, in one transaction with the proof of it. Throws `LeaseLost`. */
export async function writeUnderLease({ table }: Publishing, { projectId, holder }: Lease, ops: readonly Op[]) {
  try {
    await table.write([{ check: keys.lease(projectId), if: { is: { holder } } }, ...ops]);
  } catch (error) {
    throw error instanceof Refused && error.op === 0 ? leaseLost() : error;
  }
}

async function takeLease({ table, clock }: Publishing, { projectId, holder }: Lease): Promise<void> {
  const key = keys.lease(projectId);
  const now = clock();
  const hold = { ...key, holder, since: now, until: now + LEASE };
  const held = await table.get(key);
  if (held !== undefined && Number(held['until']) > now) throw new ImportUnderWay(underWay(projectId, held));
  try {
    const unchanged =
      held === undefined ? 'absent' : { is: { holder: held['holder'] ?? null, until: held['until'] ?? null } };
    await table.write([{ put: hold, if: unchanged }]);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new ImportUnderWay(underWay(projectId, error.found));
  }
}

const underWay = (projectId: number, held: Item | undefined): string => {
  const at = (field: string): string => new Date(Number(held?.[field] ?? 0)).toISOString();
  return held === undefined
    ? `Another import into project ${projectId} has just ended; try again.`
    : `Another import into project ${projectId} is under way since ${at('since')}. ` +
        `If it has died, the next one may start at ${at('until')}.`;
};

async function renewLease({ table, clock }: Publishing, { projectId, holder }: Lease): Promise<void> {
  await table.write([{ change: keys.lease(projectId), set: { until: clock() + LEASE }, if: { is: { holder } } }]);
}

const liveOf = (item: FenceItem | undefined): number | null => item?.live ?? null;

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refused)) throw error;
}
