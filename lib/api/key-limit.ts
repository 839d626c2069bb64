/**
 * How often one key may call, in a minute. Each process counts by itself, and flushes its count to the table with every
 * tenth request of a key, which answers with the sum of all: so a key that calls now and then costs nothing, and one that calls all the
 * time a write for ten requests. The limit holds about: each process may let nine more pass.
 */

import { getOrMake } from '../basics/maps.ts';
import { messageOf } from '../basics/text.ts';
import { MINUTE_MS, SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { fail } from '../ports/errors.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    requestCount: RequestCountItem;
  }
}

/** How many requests of a key in a minute processes have flushed. */
interface RequestCountItem extends Item {
  readonly requests: number;
}

/** Requests of a key that a process counts before it flushes them. */
const FLUSHED_AT_ONCE = 10;

/** What a process knows of a key in this minute. */
interface Count {
  pending: number;
  /** By all processes, as the table said. */
  flushed: number;
}

type Counting = Pick<Context, 'table' | 'clock' | 'settings' | 'log'>;

/** Returns the count of a process: it is called with the key of each request, and fails with 429 from the limit on. */
export function keyLimit(context: Counting): (keyId: string) => Promise<void> {
  const { clock, settings } = context;
  const most = settings.requestsPerKey;
  const counts = new Map<string, Count>();
  let minute = 0;
  return async (keyId) => {
    if (most === null) return;
    const now = Math.floor(clock() / MINUTE_MS);
    if (now !== minute) counts.clear();
    minute = now;
    const count = getOrMake(counts, keyId, () => ({ pending: 0, flushed: 0 }));
    count.pending += 1;
    if (count.pending >= FLUSHED_AT_ONCE && count.flushed <= most) await flush(context, keyId, minute, count);
    if (count.flushed + count.pending > most) refuse(Math.ceil(((minute + 1) * MINUTE_MS - clock()) / SECOND_MS));
  };
}

/** Adds what is pending to the count of the table. What cannot be added is lost: the request is answered. */
async function flush({ table, log }: Counting, keyId: string, minute: number, count: Count): Promise<void> {
  const { pending } = count;
  count.pending = 0;
  const ttl = ttlAt((minute + 2) * MINUTE_MS);
  try {
    const [written] = await table.write([
      { change: keys.requestCount(keyId, minute), add: { requests: pending }, set: { ttl } },
    ]);
    count.flushed = written?.requests ?? 0;
  } catch (error) {
    log.warning('requests of a key were not counted', { key: keyId, reason: messageOf(error) });
  }
}

function refuse(seconds: number): never {
  const unit = seconds === 1 ? 'second' : 'seconds';
  return fail('throttled', {
    detail: `Request was throttled. Expected available in ${seconds} ${unit}.`,
    headers: { 'Retry-After': String(seconds) },
  });
}
