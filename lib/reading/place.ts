/** Where a list of rows goes on: the texts of the last row by which the list is sorted. */
import * as z from 'zod';
import { BadCursor } from '../ports/table/table.ts';

const Place = z.array(z.string().max(10_000));

/** Returns the cursor of a place: base64url of JSON. */
export const cursorAt = (place: readonly string[]): string => Buffer.from(JSON.stringify(place)).toString('base64url');

/** Returns the place of a cursor, which has so many parts and begins with a whole number. Throws `BadCursor`. */
export function placeOf(cursor: string, parts: number): readonly string[] {
  let sent: unknown;
  try {
    sent = JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    throw new BadCursor();
  }
  const place = Place.safeParse(sent);
  if (!place.success || place.data.length !== parts || !/^-?\d{1,18}$/.test(place.data[0] ?? '')) throw new BadCursor();
  return place.data;
}
