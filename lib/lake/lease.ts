/** The lease that makes its holder the one importer of a project. */
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import { type Item, type Op, Refused } from '../ports/table/table.ts';
import { MINUTE_MS, SECOND_MS } from '../ports/units.ts';
import { incomingOf } from './catalog.ts';
import { finishPending } from './pending.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    lease: LeaseItem;
  }
}

/** A landing of captured events takes seconds, an import any time. */
type LeasePurpose = 'import' | 'landing';

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
}

/** Which processes this one can see: those of this machine, or of this container. */
const PROCESSES = `${hostname()} ${processNamespace()}`;

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return process.platform;
  }
}

/** Whether the process that holds a lease is known to have ended. One that cannot be seen from here may live. */
function isDead({ pid, processes }: LeaseItem): boolean {
  if (processes !== PROCESSES) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** What whoever adds to the lake needs: a running service, or a command beside one. */
export type Publishing = Pick<Context, 'table' | 'lake' | 'clock' | 'newId' | 'random' | 'log' | 'settings'>;

/** The hold that one importer has on a project. `signal` is aborted when it is lost, or the importer is to stop. */
export interface Lease {
  readonly projectId: number;
  readonly holder: string;
  readonly signal: AbortSignal;
}

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

/** How often it is looked whether a landing has ended. */
const LOOK_MS = 50;

interface LeaseOptions {
  /** Default: `import`, which waits for a landing. A landing waits for nobody: it is tried again. */
  readonly purpose?: LeasePurpose;
  readonly stop?: AbortSignal | undefined;
}

/**
 * Does `work` as the one importer of the project. First it finishes what a dead importer committed, and removes what
 * it did not. Throws `ImportUnderWay`, and `LeaseLost` when it was taken for dead on the way; of `stop` the reason.
 */
export async function underLease<T>(
  context: Publishing,
  projectId: number,
  work: (lease: Lease) => Promise<T>,
  { purpose = 'import', stop }: LeaseOptions = {},
): Promise<T> {
  const lost = new AbortController();
  const signal = stop === undefined ? lost.signal : AbortSignal.any([lost.signal, stop]);
  const lease: Lease = { projectId, holder: context.newId(), signal };
  while (!(await takeLease(context, lease, purpose))) {
    stop?.throwIfAborted();
    await pause(LOOK_MS);
  }
  const renewal = setInterval(() => {
    // Only a refusal means that it is lost; what else failed may go well the next time.
    renewLease(context, lease).catch((error) => error instanceof Refused && lost.abort(leaseLost()));
  }, RENEWAL_MS).unref();
  try {
    await recover(context, lease);
    return await work(lease);
  } finally {
    clearInterval(renewal);
    const key = keys.lease(projectId);
    await context.table.write([{ remove: key, if: { is: { holder: lease.holder } } }]).catch((error) => {
      if (!(error instanceof Refused)) throw error;
    });
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

/** Returns whether the lease was taken; if not, a landing holds it, and an import waits for its end. */
async function takeLease(
  { table, clock }: Publishing,
  { projectId, holder }: Lease,
  purpose: LeasePurpose,
): Promise<boolean> {
  const key = keys.lease(projectId);
  const now = clock();
  const hold = { ...key, holder, since: now, until: now + LEASE_MS, purpose, pid: process.pid, processes: PROCESSES };
  const isWaitedFor = (held: LeaseItem | undefined): boolean =>
    purpose === 'import' && (held === undefined || held.purpose === 'landing');
  const held = await table.get(key);
  if (held !== undefined && held.until > now && !isDead(held)) {
    if (isWaitedFor(held)) return false;
    throw new ImportUnderWay(underWay(projectId, held));
  }
  try {
    const unchanged = held === undefined ? 'absent' : { is: { holder: held.holder, until: held.until } };
    await table.write([{ put: hold, if: unchanged }]);
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const taken = error.foundAt(key);
    if (isWaitedFor(taken)) return false;
    throw new ImportUnderWay(underWay(projectId, taken));
  }
}

const underWay = (projectId: number, held: LeaseItem | undefined): string =>
  held === undefined
    ? `Another import into project ${projectId} has just ended; try again.`
    : `Another import into project ${projectId} is under way since ${new Date(held.since).toISOString()}. ` +
      `If it has died, the next one may start at ${new Date(held.until).toISOString()}.`;

async function renewLease({ table, clock }: Publishing, { projectId, holder }: Lease): Promise<void> {
  await table.write([{ change: keys.lease(projectId), set: { until: clock() + LEASE_MS }, if: { is: { holder } } }]);
}
