/** Where a list of rows goes on: the texts of the last row by which the list is sorted. */
import * as z from 'zod';
import { readJson } from '../http/json.ts';
import { BadCursor } from '../ports/table/table.ts';

const Place = z.array(z.string().max(10_000));

/** Returns the cursor of a place: base64url of JSON. */
export const cursorAt = (place: readonly string[]): string => Buffer.from(JSON.stringify(place)).toString('base64url');

/** Returns the place of a cursor, which has so many parts and begins with a whole number. Throws `BadCursor`. */
export function placeOf(cursor: string, parts: number): readonly string[] {
  const place = readJson(Place, Buffer.from(cursor, 'base64url').toString());
  if (place?.length !== parts || !/^-?\d{1,18}$/.test(place[0] ?? '')) throw new BadCursor();
  return place;
}
