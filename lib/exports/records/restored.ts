/** The note of a restore, apart from what exports make of it: whoever restores needs no destinations. */
import { keys } from '../../ports/table/keys.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    restored: RestoredItem;
  }
}

/** The last restore. Instants are milliseconds since 1970. */
interface RestoredItem extends Item {
  /** Of when the state is. */
  readonly state_of: number;
  readonly restored_at: number;
}

export const restoredItem = (stateOf: number, now: number): RestoredItem => ({
  ...keys.restored(),
  state_of: stateOf,
  restored_at: now,
});
