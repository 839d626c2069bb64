import type { Item, Op } from './table.ts';

/** A group has this many ops: beside them a transaction (100) has room for ten more. */
const MAX_OPS = 90;
/** The items of a group have this many bytes: DynamoDB's transactions hold 4 MB. */
const MAX_BYTES = 3_000_000;

/** An op on an item of about this many bytes. */
export interface Weighed {
  readonly op: Op;
  readonly bytes: number;
}

/** Returns the op with the weight of this item: as it was before the op, or will be after it. */
export function weighed(op: Op, item: Item): Weighed {
  return { op, bytes: Buffer.byteLength(JSON.stringify(item)) };
}

/** Returns the ops, in their order, in groups that each fit into one transaction. */
export function groupsOf(ops: readonly Weighed[]): Op[][] {
  const groups: Op[][] = [];
  let bytes = 0;
  for (const { op, bytes: weight } of ops) {
    const last = groups.at(-1);
    if (last === undefined || last.length === MAX_OPS || bytes + weight > MAX_BYTES) {
      groups.push([op]);
      bytes = weight;
    } else {
      last.push(op);
      bytes += weight;
    }
  }
  return groups;
}
