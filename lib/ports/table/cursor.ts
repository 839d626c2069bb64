/**
 * A cursor is the text by which a list goes on. It holds the sort part of the last item and its key in the table, never
 * the partition, so that no cursor opens a range that was not asked for. A cursor of the second index also fits the
 * first where both have the same sort parts (a jump counts along the keys, then reads whole items).
 */
import * as z from 'zod';
import { boundsOf, compareText, isPossibleKey } from './semantics.ts';
import { BadCursor, type Item, type Key, type Range } from './table.ts';

/** A position in a range: just behind this item. */
export interface Position extends Key {
  readonly sort: string;
}

const text = z.string().min(1);
const shape = z.tuple([text]).or(z.tuple([text, text, text]));

/** Returns the position of an item in the range in which it was listed. */
export function positionOf(range: Range<Key>, item: Key & Pick<Item, 'first_sk' | 'second_sk'>): Position {
  const sort = range.index === undefined ? item.sk : item[`${range.index}_sk`];
  return { sort: sort ?? '', pk: item.pk, sk: item.sk };
}

/** Returns base64url of JSON: `[sk]` in the table, `[sort part, pk, sk]` in an index. */
export function toCursor(range: Range<Key>, { sort, pk, sk }: Position): string {
  return Buffer.from(JSON.stringify(range.index === undefined ? [sk] : [sort, pk, sk])).toString('base64url');
}

/** Returns the position of a cursor. Throws `BadCursor` when the text is none, or lies outside the range. */
export function fromCursor(range: Range<Key>, cursor: string): Position {
  const parts = shape.safeParse(json(cursor));
  const bounds = boundsOf(range);
  if (!parts.success || (parts.data.length === 1) !== (range.index === undefined)) throw new BadCursor();
  const [sort, pk = range.partition, sk = sort] = parts.data;
  const outside =
    (bounds?.low !== undefined && compareText(sort, bounds.low) < 0) ||
    (bounds?.high !== undefined && compareText(sort, bounds.high) > 0);
  if (outside || !isPossibleKey({ pk, sk }) || !isPossibleKey({ pk, sk: sort })) throw new BadCursor();
  return { sort, pk, sk };
}

function json(cursor: string): unknown {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor)) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(cursor, 'base64url')));
  } catch {
    return undefined;
  }
}
