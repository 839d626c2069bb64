/** Turns that all functions of a stage share: each is an item of the table while somebody has it. */

import { pause } from '../basics/pause.ts';
import { SECOND_MS } from '../basics/units.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import type { Item, Key } from '../ports/table/table.ts';
import { ttlAt } from '../ports/table/ttl.ts';
import { tryWrite } from '../ports/table/until-written.ts';
import type { SharedTurn, SharedTurns } from './function-pool.ts';
import { LineFull, type Turns } from './turns.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    sharedTurn: TurnItem;
  }
}

/** A turn that somebody has. It is free again when it expires, should they have died. */
interface TurnItem extends Item {
  readonly holder: string;
}

interface TableTurnsOptions extends Pick<Context, 'table' | 'clock' | 'newId'> {
  /** What they are for: turns of one kind are not those of another. */
  readonly kind: string;
  /** So many turns does an owner have at once. */
  readonly each: number;
  /** Nobody waits longer for one. */
  readonly waitMs?: number;
  readonly sleep?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

const WAIT_MS = 8 * SECOND_MS;
/** Between two looks. */
const LOOK_MS = 400;

/** Returns turns that no owner has more than `each` of, whichever functions ask for them. */
export function tableTurns(options: TableTurnsOptions): SharedTurns {
  const { table, clock, newId, kind, each, waitMs = WAIT_MS, sleep = pause } = options;

  const keyOf = ({ owner, n }: Pick<SharedTurn, 'owner' | 'n'>): Key<TurnItem> => keys.sharedTurn(owner, kind, n);

  const held = (key: Key<TurnItem>, holder: string, forMs: number): Promise<boolean> => {
    const ttl = ttlAt(clock() + forMs);
    return tryWrite(table, [{ put: { ...key, holder, ttl }, if: 'absent' }]);
  };

  return {
    take: async (owner, forMs, signal) => {
      const holder = newId();
      const all = Array.from({ length: each }, (_, n) => keyOf({ owner, n }));
      // Those who come at the same time look at different places first.
      const first = Number.parseInt(holder.slice(-4), 16) % each;
      for (let waited = 0; ; waited += LOOK_MS) {
        signal?.throwIfAborted();
        const items = await table.many(all);
        const free = all.flatMap((_, n) => (items[n] === undefined ? [n] : []));
        for (const n of [...free.slice(first), ...free.slice(0, first)])
          if (await held(keyOf({ owner, n }), holder, forMs)) return { owner, n, holder };
        if (waited >= waitMs) throw new LineFull('all turns of the owner are taken');
        await sleep(LOOK_MS, signal);
      }
    },
    giveBack: async ({ holder, ...turn }) => {
      // What is not given back ends by itself.
      await table.write([{ remove: keyOf(turn), if: { is: { holder } } }]).catch(() => {});
    },
  };
}

/** Returns what runs work in an owner's turn, which ends by itself after so many milliseconds; rejects as `take` does. */
export function runningInTurns(turns: SharedTurns, forMs: number): Pick<Turns, 'run'> {
  return {
    run: async (owner, work, signal) => {
      const turn = await turns.take(owner, forMs, signal);
      try {
        return await work();
      } finally {
        await turns.giveBack(turn);
      }
    },
  };
}
