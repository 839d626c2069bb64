/** The days of which a project has events: what a dashboard shows where nothing happened lately. */
import type { ProjectItem } from '../accounts/organizations/model.ts';
import { DAY_MS } from '../basics/units.ts';
import { allFiles, firstOf, lastOf } from '../lake/catalog.ts';
import type { Context } from '../ports/context.ts';

/** Days with events, as a query asks for them: `2015-05-17`, in the project's zone. Both are in it. */
export interface DataRange {
  readonly date_from: string;
  readonly date_to: string;
}

/** A range has so many days at most, the last ones. */
const MAX_DAYS = 90;

/**
 * Returns the last days of a project that have events, from the list of its files; undefined: it has no events. With
 * `since`, also when there are some at that instant (milliseconds since 1970) or after it.
 */
export async function dataRange(
  { table }: Pick<Context, 'table'>,
  { id, timezone }: Pick<ProjectItem, 'id' | 'timezone'>,
  { since = Infinity }: { since?: number } = {},
): Promise<DataRange | undefined> {
  const files = await allFiles(table, id, 'events');
  const first = firstOf(files, 'min_timestamp');
  const last = lastOf(files, 'max_timestamp');
  if (files.length === 0 || last >= since) return undefined;
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: timezone ?? 'UTC', dateStyle: 'short' });
  return { date_from: day.format(Math.max(first, last - (MAX_DAYS - 1) * DAY_MS)), date_to: day.format(last) };
}
