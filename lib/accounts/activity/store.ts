import type * as z from 'zod';
import { type CursorPage, type Paging, readCursorPage } from '../../http/page.ts';
import { filtered } from '../../ports/table/filtered.ts';
import { ranges } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import type { ActivityItem } from './model.ts';
import type { listActivity } from './routes.ts';

/** Returns a page of an organization's log, newest first. A filtered page ends where one request has read enough. */
export async function readActivity(
  table: Table,
  organization: string,
  { scope, item_id, user }: z.output<NonNullable<(typeof listActivity)['query']>>,
  paging: Paging,
): Promise<CursorPage<ActivityItem>> {
  const range = ranges.activityOf(organization);
  const asked = Object.entries({ scope, item_id, user_uuid: user }).filter(([, value]) => value !== undefined);
  const isAsked = (item: ActivityItem): boolean => asked.every(([field, value]) => item[field] === value);
  return readCursorPage(asked.length === 0 ? table : filtered(table, isAsked), range, paging);
}
