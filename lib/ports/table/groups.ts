import type { Item, Op } from './table.ts';

/** Ops of one group; beside them a transaction (100) has room for ten more. */
const OPS = 90;
/** Bytes of the items of one group: DynamoDB's transactions hold 4 MB. */
const BYTES = 3_000_000;

/** An op on an item of about this many bytes. */
export interface Weighed {
  readonly op: Op;
  readonly bytes: number;
}

/** An op with the weight of the item as it was, or will be. */
export function weighed(op: Op, item: Item): Weighed {
  return { op, bytes: Buffer.byteLength(JSON.stringify(item)) };
}

/** Cuts ops, in their order, into groups that each fit into one transaction. */
export function groupsOf(ops: readonly Weighed[]): Op[][] {
  const groups: Op[][] = [];
  let bytes = 0;
  for (const { op, bytes: weight } of ops) {
    const last = groups.at(-1);
    if (last === undefined || last.length === OPS || bytes + weight > BYTES) {
      groups.push([op]);
      bytes = weight;
    } else {
      last.push(op);
      bytes += weight;
    }
  }
  return groups;
}
