/**
 * The leases of a project: of two who add to it, one waits, or is told so. A landing or a removal has it for all that it
 * does; an import for each batch, so that captured events land between its batches, and beside that one of its own, which
 * keeps other imports away from its first record to its last.
 */

import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { pause } from '../basics/pause.ts';
import { isRunning } from '../basics/process.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { DatabasePool } from '../duckdb/pool.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import { type Item, type Key, type Op, Refused, type Table } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import { tryWrite } from '../ports/table/until-written.ts';
import { incomingOf } from './catalog.ts';
import { finishPending } from './pending.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    lease: LeaseItem;
    importing: LeaseItem;
  }
}

/** A landing of captured events takes seconds, a batch of an import up to minutes, what else adds any time. */
export type LeasePurpose = 'import' | 'batch' | 'landing';

/** A lease as stored. Instants are milliseconds since 1970. */
interface LeaseItem extends Item {
  readonly holder: string;
  readonly since: number;
  /** Its holder is taken for dead from then on, unless it renews. */
  readonly until: number;
  /** What for. */
  readonly purpose: LeasePurpose;
  /** The process that holds it: its number, and among which processes that counts. */
  readonly pid: number;
  readonly processes: string;
  /** A landing waits for the end of the batch. */
  readonly wanted?: true;
}

/**
 * Which processes this one can see: those of this machine, or of this container. Those of a function on AWS may have the
 * names and numbers of another one's; its log stream is its own.
 */
const PROCESSES = [hostname(), processNamespace(), process.env['AWS_LAMBDA_LOG_STREAM_NAME'] ?? ''].join(' ').trim();

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return process.platform;
  }
}

/** Whether the process that holds a lease is known to have ended. One that cannot be seen from here may live. */
const isDead = ({ pid, processes }: LeaseItem): boolean => processes === PROCESSES && !isRunning(pid);

/** What whoever adds to the lake needs: a running service, or a command beside one. */
export type Publishing = Pick<Context, 'table' | 'lake' | 'clock' | 'newId' | 'random' | 'log' | 'settings'>;

/** The same, and the databases with which files of the lake are made. */
export type LakeWriter = Publishing & { readonly databases: DatabasePool };

/** The hold that somebody has on a project. `signal` is aborted when it is lost, or its holder is to stop. */
export interface Lease {
  readonly projectId: number;
  readonly holder: string;
  readonly signal: AbortSignal;
}

/** Whoever adds to a project, batch by batch. `signal` is aborted when no other may follow. */
export interface Adder {
  readonly projectId: number;
  readonly signal: AbortSignal;
  /** The import before this one did not end well: what it has added was told to nobody. */
  readonly isAfterFailure: boolean;
  /** Does what one batch takes under a lease. */
  batch<T>(work: (lease: Lease) => Promise<T>): Promise<T>;
}

/** Adds all batches under one lease. */
export const adderUnder = (lease: Lease): Adder => ({ ...lease, isAfterFailure: false, batch: (work) => work(lease) });

/** Somebody else adds to the project, and is not about to end. */
export class ImportUnderWay extends Error {
  override readonly name = 'ImportUnderWay';
}

/** The import was stalled for so long that another one took its place; what it has not committed is dropped. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** A holder renews this often ... */
const RENEWAL_MS = 20 * SECOND_MS;
/** ... and is taken for dead after three renewals that did not come, in milliseconds. */
const LEASE_MS = MINUTE_MS;

/** How often it is looked whether a landing has ended, or has begun. */
const LOOK_MS = 50;

/** So long the next batch of an import is held back at most for landings, beside the one that is under way then. */
const YIELD_MS = 3 * SECOND_MS;
/** So soon after one another comes if more of the project waits. */
const NEXT_LANDING_MS = SECOND_MS / 2;

interface LeaseOptions {
  /** Default: `import`, which waits for a landing. A batch waits for anybody, a landing for nobody: it is tried again. */
  readonly purpose?: LeasePurpose;
  readonly stop?: AbortSignal | undefined;
}

/**
 * Does `work` as the one who adds to the project. First it finishes what a dead one committed, and removes what it did
 * not; `work` is told what for that one had the lease, if there was one. Throws `ImportUnderWay`, and `LeaseLost` when it
 * was taken for dead on the way; of `stop` the reason.
 */
export function underLease<T>(
  context: Publishing,
  projectId: number,
  work: (lease: Lease, left: LeasePurpose | undefined) => Promise<T>,
  { purpose = 'import', stop }: LeaseOptions = {},
): Promise<T> {
  return whileHeld(context, { key: keys.lease(projectId), projectId, purpose, stop }, async (lease, left) => {
    await recover(context, lease);
    return work(lease, left);
  });
}

/**
 * Does `work` as the one import of the project, which has a lease for each of its batches. What a dead one left is
 * finished first. Throws as `underLease` does.
 */
export function asImport<T>(
  context: Publishing,
  projectId: number,
  work: (adder: Adder) => Promise<T>,
  { stop }: Pick<LeaseOptions, 'stop'> = {},
): Promise<T> {
  const { table } = context;
  return whileHeld(
    context,
    { key: keys.importing(projectId), projectId, purpose: 'import', stop, isLeftByFailure: true },
    async ({ signal }, left) => {
      const adder: Adder = {
        projectId,
        signal,
        isAfterFailure: left !== undefined,
        batch: async (batchWork) => {
          let isWanted = false;
          const underOwn = async (lease: Lease) => {
            const done = await batchWork(lease);
            isWanted = (await table.get(keys.lease(projectId)))?.wanted === true;
            return done;
          };
          const done = await underLease(context, projectId, underOwn, { purpose: 'batch', stop: signal });
          if (isWanted) await landed(context, projectId, signal);
          return done;
        },
      };
      await adder.batch(async () => {});
      return work(adder);
    },
  );
}

/** Resolves when landings have had the project, one after the other, or none has come for it. */
async function landed({ table, clock }: Publishing, projectId: number, signal: AbortSignal): Promise<void> {
  let landing: string | undefined;
  let end = YIELD_MS;
  for (let waited = 0; (waited < end || landing !== undefined) && !signal.aborted; waited += LOOK_MS) {
    const held = await table.get(keys.lease(projectId));
    const isLanding = held?.purpose === 'landing' && held.until > clock() && !isDead(held);
    const holder = isLanding ? held.holder : undefined;
    if (landing !== undefined && holder !== landing) {
      if (waited >= YIELD_MS) return;
      end = Math.min(YIELD_MS, waited + NEXT_LANDING_MS);
    }
    landing = holder;
    await pause(LOOK_MS);
  }
}

interface Hold {
  readonly key: Key<LeaseItem>;
  readonly projectId: number;
  readonly purpose: LeasePurpose;
  readonly stop: AbortSignal | undefined;
  /** Work that fails leaves its lease, as one that is killed does, but run out: so the next holder knows of it. */
  readonly isLeftByFailure?: boolean;
}

/** `work` is told what for the lease was held that it has taken over, if one was left. */
async function whileHeld<T>(
  context: Publishing,
  hold: Hold,
  work: (lease: Lease, left: LeasePurpose | undefined) => Promise<T>,
): Promise<T> {
  const { key, projectId, stop, isLeftByFailure = false } = hold;
  const lost = new AbortController();
  const signal = stop === undefined ? lost.signal : AbortSignal.any([lost.signal, stop]);
  const lease: Lease = { projectId, holder: context.newId(), signal };
  stop?.throwIfAborted();
  let taken: Taken | undefined;
  while ((taken = await takeLease(context, lease, hold)) === undefined) {
    stop?.throwIfAborted();
    await pause(LOOK_MS);
  }
  const renewal = setInterval(() => {
    // Only a refusal means that it is lost; what else failed may go well the next time.
    renewLease(context, key, lease).catch((error) => error instanceof Refused && lost.abort(leaseLost()));
  }, RENEWAL_MS).unref();
  const mine = { is: { holder: lease.holder } };
  let end: Op = isLeftByFailure ? { change: key, set: { until: 0 }, if: mine } : { remove: key, if: mine };
  try {
    const done = await work(lease, taken.left);
    end = { remove: key, if: mine };
    return done;
  } finally {
    clearInterval(renewal);
    await tryWrite(context.table, [end]);
  }
}

/**
 * What was committed is finished, what was not is removed. What lay in `incoming` while the lease was held is of
 * earlier holders, whom the lease keeps from committing it; what came later may be a later holder's.
 */
async function recover({ table, lake }: Publishing, { projectId, holder }: Lease): Promise<void> {
  const folders = new Set<string>();
  for await (const { path } of lake.list(incomingOf(projectId))) folders.add(path.slice(0, path.lastIndexOf('/') + 1));
  if ((await table.get(keys.lease(projectId)))?.holder !== holder) throw leaseLost();
  await finishPending({ table, lake }, projectId);
  for (const folder of folders) await lake.remove(folder);
}

/** The error of an importer whose lease was taken. */
export const leaseLost = (): LeaseLost => new LeaseLost('The import was stalled, and another one has taken its place.');

/** Why what stands beside `leaseHeld` is refused. */
export const LEASE_LOST = 'lease_lost';

/** The proof that a lease is held, for the transaction of what its holder writes. */
export const leaseHeld = ({ projectId, holder }: Pick<Lease, 'projectId' | 'holder'>): Op => ({
  check: keys.lease(projectId),
  if: { is: { holder } },
  else: LEASE_LOST,
});

/** Writes while the lease is held, in one transaction with the proof of it. Throws `LeaseLost`. */
export async function writeUnderLease({ table }: Publishing, { projectId, holder }: Lease, ops: readonly Op[]) {
  try {
    await table.write([leaseHeld({ projectId, holder }), ...ops]);
  } catch (error) {
    throw error instanceof Refused && error.reason === LEASE_LOST ? leaseLost() : error;
  }
}

interface Taken {
  /** What for somebody had it who died or failed; undefined: nobody did. */
  readonly left: LeasePurpose | undefined;
}

/** Returns how the lease was taken; undefined: somebody holds it for whom this one waits. */
async function takeLease(
  { table, clock }: Publishing,
  { projectId, holder }: Lease,
  { key, purpose }: Hold,
): Promise<Taken | undefined> {
  const now = clock();
  const hold = { ...key, holder, since: now, until: now + LEASE_MS, purpose, pid: process.pid, processes: PROCESSES };
  const isWaitedFor = (held: LeaseItem | undefined): boolean =>
    purpose === 'batch' || (purpose === 'import' && (held === undefined || held.purpose === 'landing'));
  const held = await table.get(key);
  if (held !== undefined && held.until > now && !isDead(held)) {
    if (isWaitedFor(held)) return undefined;
    if (purpose === 'landing' && held.purpose === 'batch') await askForTurn(table, key, held);
    throw new ImportUnderWay(underWay(projectId, held));
  }
  try {
    const unchanged = held === undefined ? 'absent' : { is: { holder: held.holder, until: held.until } };
    await table.write([{ put: hold, if: unchanged }, ...(held?.purpose === 'landing' ? [died(projectId, now)] : [])]);
    return { left: held?.purpose };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const taken = error.foundAt(key);
    if (isWaitedFor(taken)) return undefined;
    throw new ImportUnderWay(underWay(projectId, taken));
  }
}

/** What is known of deaths in landings is kept so long after it was last written, in milliseconds. */
export const DEATHS_KEPT_MS = DAY_MS;

/** Who died had the project for a landing. The lease tells of it until it is taken over, by whomever; from then on this. */
const died = (projectId: number, now: number): Op => ({
  change: keys.landingDeaths(projectId),
  set: { is_open: true, ttl: ttlAt(now + DEATHS_KEPT_MS) },
});

/** Marks the lease of a batch, so that its import leaves time for a landing before the next one. */
async function askForTurn(table: Table, key: Key<LeaseItem>, { holder }: LeaseItem): Promise<void> {
  await tryWrite(table, [{ change: key, set: { wanted: true }, if: { is: { holder } } }]);
}

const underWay = (projectId: number, held: LeaseItem | undefined): string =>
  held === undefined
    ? `Another import into project ${projectId} has just ended; try again.`
    : `Another import into project ${projectId} is under way since ${new Date(held.since).toISOString()}. ` +
      `If it has died, the next one may start at ${new Date(held.until).toISOString()}.`;

async function renewLease({ table, clock }: Publishing, key: Key, { holder }: Lease): Promise<void> {
  await table.write([{ change: key, set: { until: clock() + LEASE_MS }, if: { is: { holder } } }]);
}
