import type * as z from 'zod';
import type { ActivityOps } from '../accounts/activity/model.ts';
import type { OrganizationItem, ProjectItem } from '../accounts/organizations/model.ts';
import { userLookup } from '../accounts/users/lookup.ts';
import type { UserItem } from '../accounts/users/model.ts';
import { bytesText } from '../basics/text.ts';
import { DAY_MS, MINUTE_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { fail, invalid } from '../ports/errors.ts';
import { toJsonText } from '../ports/table/json-text.ts';
import { keys, places, ranges } from '../ports/table/keys.ts';
import { listAll } from '../ports/table/list-all.ts';
import { type Op, Refused } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import { lineOf } from '../workers/turns.ts';
import { type Imports, offeredImports } from './imports.ts';
import {
  type ImportInput,
  type ImportItem,
  type ImportState,
  importObject,
  OPEN_STATES,
  PART_BYTES,
  type ReadingOptions,
} from './model.ts';
import { keepPart, partsIn, removeImport, removeParts, sizeOf } from './spool.ts';

type Importing = Pick<Context, 'table' | 'clock' | 'newId' | 'imports' | 'settings'>;

/** Imports of one organization that have not ended, or have failed and may be started again. */
const MAX_OPEN = 10;

/** An import that did not come to its end is begun so often, and then is failed. */
export const MAX_IMPORT_ATTEMPTS = 5;

/** Whether an import was interrupted so often that it is given up, for which whoever made it may not be why. */
const isInterrupted = ({ state, is_interrupted }: ImportItem): boolean => state === 'failed' && is_interrupted === true;

/** Where there is no room, it is looked for again after so many seconds. */
const RETRY_AFTER = { 'Retry-After': '60' };

/** So much of the disk is not given to files: the lake grows by what they hold, and captured events must land. */
const RESERVED_BYTES = 1e9;

/** A file whose upload takes longer has no more room kept for it than for what is there, and the parts that come next. */
const KEPT_FREE_MS = 10 * MINUTE_MS;
const NEXT_PARTS_BYTES = 8 * PART_BYTES.max;

const unavailable = (detail: string): never => fail('unavailable', { detail, headers: RETRY_AFTER });

const noRoom = (what: 'file' | 'part'): never =>
  unavailable(`The disk of the service has no room for the ${what}: space must be freed there.`);

/** What is known of an import that has ended is kept for so long. */
const KEPT_MS = 90 * DAY_MS;

/** Takes an import from among the open ones. */
export const CLOSED = ['first_pk', 'first_sk'] as const;

/** The fields that an import has when it ends. One that has failed may be started again, and is open until it is given up. */
export const endOf = (state: ImportState, now: number) => ({
  set: { state, finished_at: now, ttl: ttlAt(now + KEPT_MS) },
  unset: state === 'failed' ? [] : CLOSED,
});

/** Throws a 429 where an organization has as many open imports as it may. */
function checkOpen(own: readonly ImportItem[]): void {
  if (own.filter((item) => !isInterrupted(item)).length >= MAX_OPEN)
    fail('throttled', {
      detail: `${MAX_OPEN} imports of the organization have not ended, or have failed and are kept to be started again. Wait for one of them, or cancel it.`,
      headers: RETRY_AFTER,
    });
}

interface Author {
  readonly organization: Pick<OrganizationItem, 'id'>;
  readonly project: Pick<ProjectItem, 'id'>;
  readonly user: string;
  readonly idempotencyOps: (id: string) => Op[];
  readonly activityOps: ActivityOps;
}

/** One is made, or made an open one again, after the other: what each may take depends on those that are open. One process serves a data directory. */
const inLine = lineOf(1);

/** Makes an import, whose file is not there yet. Throws a 413, a 429, or the 503 of a disk without room for the file, or of one where it is kept for others. */
export async function createImport(
  context: Importing,
  { name, bytes }: z.output<typeof ImportInput>,
  author: Author,
): Promise<ImportItem> {
  const { table, clock, newId, settings } = context;
  const imports = offeredImports(context);
  const { importBytes } = settings;
  if (importBytes !== null && bytes > importBytes)
    fail('request_too_large', {
      attr: 'bytes',
      detail: `The file has ${bytesText(bytes)}, and one import takes ${bytesText(importBytes)} at most. Split it, or import it with the command line.`,
    });
  const { organization, project, user, idempotencyOps, activityOps } = author;
  return inLine(async () => {
    await checkRoom({ ...context, imports }, bytes, author);
    const id = newId();
    const now = clock();
    const item: ImportItem = {
      ...keys.requestedImport(project.id, id),
      ...places.openImport(now, id),
      id,
      organization_id: organization.id,
      project_id: project.id,
      name,
      bytes,
      state: 'uploading',
      options: null,
      attempts: 0,
      ...NOTHING_READ,
      created_by: user,
      created_at: now,
      started_at: null,
      finished_at: null,
    };
    await table.write([
      { put: item, if: 'absent' },
      { check: keys.project(project.id), if: { is: { deleted_at: null } } },
      ...idempotencyOps(id),
      ...activityOps({ scope: 'Import', id, name, activity: 'created' }),
    ]);
    return item;
  });
}

/** Throws where an import of so many bytes would be one too many, or has no room beside those that are open. */
async function checkRoom(
  context: Importing & { readonly imports: Imports },
  bytes: number,
  { organization, user }: Author,
): Promise<void> {
  const open = await listAll(context.table, ranges.openImports());
  const ofOrganization = open.filter(({ organization_id }) => organization_id === organization.id);
  checkOpen(ofOrganization);
  const ofUser = open.filter(({ created_by }) => created_by === user);
  const room = (await context.imports.freeBytes()) - RESERVED_BYTES;
  // A file lies there in parts, and once more while it is read.
  const needed = 2 * bytes;
  if (needed > room) noRoom('file');
  const kept = new Map(await Promise.all(open.map(async (one) => [one.id, await roomFor(context, one)] as const)));
  const neededBeside = (others: readonly ImportItem[]): number =>
    others.reduce((sum, { id }) => sum + (kept.get(id) ?? 0), needed);
  if ([ofOrganization, ofUser].some((own) => own.length > 0 && neededBeside(own) > room / 2))
    fail('throttled', {
      detail:
        'The files of the imports of an organization, or of a user, take at most half of the room that the disk of the ' +
        'service has for files. Wait for one of them, or cancel it.',
      headers: RETRY_AFTER,
    });
  if (neededBeside(open) > room)
    unavailable(
      'The room that the disk of the service has for files is kept for other imports, which are being uploaded or ' +
        'wait for their turn. Try again later.',
    );
}

/** Returns how many bytes of the disk are kept free for an open import. */
async function roomFor(context: Importing, item: ImportItem): Promise<number> {
  if (item.state !== 'uploading' || item.created_at + KEPT_FREE_MS > context.clock()) return item.bytes;
  return Math.min(item.bytes, (await uploadedBytes(context, item)) + NEXT_PARTS_BYTES);
}

/** What an attempt begins with. */
export const NOTHING_READ = {
  bytes_read: 0,
  events: 0,
  rejected: 0,
  rejections: toJsonText([]),
  rejected_bytes: 0,
  added: null,
  known: null,
  person_rows: null,
  arrival_from: null,
  arrival_to: null,
  backfills: toJsonText([]),
  format: null,
  problem: null,
  error: null,
} as const;

/** Returns an import of a project. Throws a 404. */
export async function readImport(
  { table }: Pick<Context, 'table'>,
  projectId: number,
  id: string,
): Promise<ImportItem> {
  return (await table.get(keys.requestedImport(projectId, id))) ?? fail('not_found');
}

/** Returns an import as callers see it. `known` is a user who need not be read. */
export async function shownImport(
  context: Pick<Context, 'table' | 'clock' | 'imports'>,
  item: ImportItem,
  known: UserItem,
): Promise<ReturnType<typeof importObject>> {
  const userOf = await userLookup(context, [item.created_by], known);
  return importObject(item, userOf, await uploadedBytes(context, item));
}

/** Returns how many bytes of an import's file are there: all of them from its start on, none once it has ended. */
export async function uploadedBytes(context: Pick<Context, 'imports'>, item: ImportItem): Promise<number> {
  if (!CANCELLABLE.includes(item.state)) return 0;
  if (item.state !== 'uploading') return item.bytes;
  const { files } = offeredImports(context);
  return sizeOf(await partsIn(files, item));
}

/**
 * Keeps a part of an import's file. Returns how many bytes of it are there. Throws what a caller must mend, and the 503 of a
 * disk without room for the part.
 */
export async function uploadPart(
  context: Pick<Context, 'imports'>,
  item: ImportItem,
  offset: number,
  bytes: Buffer,
): Promise<number> {
  const imports = offeredImports(context);
  if (item.state !== 'uploading') fail('conflict', `The import is ${item.state}: it takes nothing more.`);
  if (bytes.length === 0) invalid(null, 'The body must be the bytes of the part.');
  if (bytes.length > PART_BYTES.max)
    fail('request_too_large', `A part has ${bytesText(PART_BYTES.max)} at most. Send the file in several parts.`);
  const end = offset + bytes.length;
  if (end > item.bytes)
    invalid(
      'offset',
      `The part would end at byte ${end.toLocaleString('en')}, and the file has ${item.bytes.toLocaleString('en')}.`,
    );
  if (end < item.bytes && bytes.length < PART_BYTES.min)
    invalid(null, `A part has ${bytesText(PART_BYTES.min)} at least, but for the last one.`);
  const parts = await partsIn(imports.files, item);
  const uploaded = sizeOf(parts);
  const isRepeated = parts.some((part) => part.offset === offset && part.size === bytes.length);
  if (offset !== uploaded && !isRepeated) fail('conflict', `The next part begins at ${uploaded}.`);
  if (!isRepeated && (await imports.freeBytes()) - bytes.length < RESERVED_BYTES) noRoom('part');
  await keepPart(imports.files, item, offset, bytes);
  return Math.max(end, uploaded);
}

/**
 * Has an import run as soon as it is its turn. Throws a 409 when it runs already, or its file is not whole, and the 429 of an
 * organization that has as many open ones as it may beside one that was interrupted.
 */
export async function startImport(
  context: Importing,
  item: ImportItem,
  options: ReadingOptions,
  ops: readonly Op[],
): Promise<ImportItem> {
  const { files } = offeredImports(context);
  if (item.state !== 'uploading' && item.state !== 'failed')
    fail('conflict', `The import is ${item.state}: it cannot be started.`);
  const uploaded = sizeOf(await partsIn(files, item));
  if (uploaded !== item.bytes)
    fail('conflict', `${uploaded} of the file’s ${item.bytes} bytes are uploaded. Upload the rest first.`);
  const begun = { state: 'queued', attempts: 0, is_interrupted: false, finished_at: null };
  const set = { ...NOTHING_READ, ...begun, options: toJsonText(options) };
  const place = places.openImport(item.created_at, item.id);
  const key = keys.requestedImport(item.project_id, item.id);
  const write = (): Promise<void> =>
    changed(context, item, [
      { change: key, set: { ...set, ...place }, unset: ['ttl'], if: { is: { state: item.state } } },
      { check: keys.project(item.project_id), if: { is: { deleted_at: null } } },
      ...ops,
    ]);
  if (isInterrupted(item))
    await inLine(async () => {
      const open = await listAll(context.table, ranges.openImports());
      checkOpen(open.filter(({ organization_id }) => organization_id === item.organization_id));
      await write();
    });
  else await write();
  return readImport(context, item.project_id, item.id);
}

/** States of imports whose files are kept. */
const CANCELLABLE: readonly ImportState[] = [...OPEN_STATES, 'failed'];

/** Ends an import, or gives up one that has failed; what it has added stays. Throws a 409 when it has ended otherwise. */
export async function cancelImport(context: Importing, item: ImportItem, ops: readonly Op[]): Promise<ImportItem> {
  if (!CANCELLABLE.includes(item.state)) fail('conflict', `The import is ${item.state}: there is nothing to cancel.`);
  const { set, unset } = endOf('cancelled', context.clock());
  await changed(context, item, [
    { change: keys.requestedImport(item.project_id, item.id), set, unset, if: { is: { state: CANCELLABLE } } },
    ...ops,
  ]);
  if (context.imports !== null) await removeParts(context.imports.files, item);
  return readImport(context, item.project_id, item.id);
}

/** Removes an import that has ended, and its files; what it has added stays. Throws a 409 when it has not. */
export async function deleteImport(context: Importing, item: ImportItem, ops: readonly Op[]): Promise<void> {
  if (OPEN_STATES.includes(item.state))
    fail('conflict', `The import is ${item.state}: cancel it before you delete it.`);
  const key = keys.requestedImport(item.project_id, item.id);
  await changed(context, item, [{ remove: key, if: { is: { state: item.state } } }, ...ops]);
  // Files that are left by a death here have no import any more, and are removed with those.
  if (context.imports !== null) await removeImport(context.imports.files, item);
}

async function changed({ table }: Importing, item: ImportItem, ops: readonly Op[]): Promise<void> {
  await table.write(ops).catch(async (error: unknown) => {
    if (!(error instanceof Refused)) throw error;
    const now = await readImport({ table }, item.project_id, item.id);
    fail('conflict', `The import is ${now.state} by now.`);
  });
}
