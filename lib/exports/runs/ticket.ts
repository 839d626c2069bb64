/**
 * Tickets: how many intervals of one organization are delivered at a time. An execution that is about to deliver takes
 * one, and waits while those before it fill the organization; so its exports have their turns in the order in which they
 * asked, and other organizations do not notice. A ticket is given back when the execution is settled.
 */

import { DAY_MS, MINUTE_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { keys, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Item, Op } from '../../ports/table/table.ts';
import { ttlAt } from '../../ports/table/ttl.ts';
import { tryWrite } from '../../ports/table/until-written.ts';
import { lineOps } from '../records/logs.ts';
import type { BatchExportItem } from '../records/model.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    ticket: TicketItem;
  }
}

/** A ticket as stored. It expires by itself when nobody gives it back. */
interface TicketItem extends Item {
  readonly execution: string;
  /** How many intervals the execution delivers at a time. */
  readonly intervals: number;
  /** When it was taken. */
  readonly since: number;
}

/** A ticket that waits is shown again each minute at the latest; one that is forgotten stops counting. */
const WAITING_MS = 5 * MINUTE_MS;
/** No execution delivers for longer: its machine ends it. */
const DELIVERING_MS = DAY_MS;

/**
 * Lets an execution deliver so many intervals at a time, or has it wait: returns since when, in milliseconds since 1970.
 * Undefined: it may. Executions that ask in the same moment may pass together, so the limit holds about, not exactly.
 */
export async function queuedSince(
  context: Context,
  { id, organization_id }: BatchExportItem,
  execution: string,
  intervals: number,
): Promise<number | undefined> {
  const { table, clock, settings, metrics } = context;
  const most = settings.organizationIntervals;
  if (most === null) return undefined;
  const now = clock();
  const key = keys.ticket(organization_id, execution);
  const known = await table.get(key);
  const mine: TicketItem = {
    ...key,
    execution,
    intervals: Math.min(intervals, most),
    since: known?.since ?? now,
    ttl: ttlAt(now + WAITING_MS),
  };
  await table.write([{ put: mine }]);
  const before = (await listAll(table, ranges.ticketsOf(organization_id))).filter((other) => isBefore(other, mine));
  if (before.reduce((sum, other) => sum + other.intervals, mine.intervals) <= most) return undefined;
  if (known === undefined) {
    const message = `Batch export waits, as its organization has ${most} intervals under way, the most that it may have.`;
    const line = { at: now, level: 'INFO', message, instance: id } as const;
    await table.write(lineOps(context, id, execution, 'queue', [line]), { apart: true });
    metrics.record({ ExecutionsQueued: 1 }, { export: id });
  }
  return mine.since;
}

const isBefore = (one: TicketItem, other: TicketItem): boolean =>
  one.since < other.since || (one.since === other.since && one.execution < other.execution);

/** Keeps the ticket of an execution that has acquired its intervals, until it is given back. */
export async function keepTicket(
  { table, clock, settings }: Pick<Context, 'table' | 'clock' | 'settings'>,
  { organization_id }: BatchExportItem,
  execution: string,
  intervals: number,
): Promise<void> {
  if (settings.organizationIntervals === null) return;
  const key = keys.ticket(organization_id, execution);
  const ttl = ttlAt(clock() + DELIVERING_MS);
  if (await tryWrite(table, [{ change: key, set: { ttl }, if: 'present' }])) return;
  await table.write([{ put: { ...key, execution, intervals, since: clock(), ttl } }]);
}

/** Returns the op that gives a ticket back. */
export const ticketBackOps = (
  { settings }: Pick<Context, 'settings'>,
  { organization_id }: BatchExportItem,
  execution: string,
): Op[] => (settings.organizationIntervals === null ? [] : [{ remove: keys.ticket(organization_id, execution) }]);
