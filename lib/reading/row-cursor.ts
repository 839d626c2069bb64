/** Where a list of rows goes on: the sort key of its last row, the texts by which the list is sorted. */
import * as z from 'zod';
import { readJson } from '../http/json.ts';
import { BadCursor } from '../ports/table/table.ts';

const SortKey = z.array(z.string().max(10_000));

/** Returns the cursor of a sort key: base64url of JSON. */
export const cursorOf = (sortKey: readonly string[]): string =>
  Buffer.from(JSON.stringify(sortKey)).toString('base64url');

/** Returns the sort key of a cursor, which has so many parts and begins with a whole number. Throws `BadCursor`. */
export function sortKeyOf(cursor: string, parts: number): readonly string[] {
  const sortKey = readJson(SortKey, Buffer.from(cursor, 'base64url').toString());
  if (sortKey?.length !== parts || !/^-?\d{1,18}$/.test(sortKey[0] ?? '')) throw new BadCursor();
  return sortKey;
}
