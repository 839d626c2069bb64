import { filesBetween, isTouched, type LakeFile } from '../../lake/catalog.ts';
import type { Slot } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import type { RowQuery } from '../../warehouse/warehouse.ts';
import type { Config } from '../destinations/destination.ts';
import { selectionOf } from '../query/compile.ts';
import type { BatchExportItem, RunItem } from '../records/model.ts';
import type { Active } from './plan.ts';
import { slotOf, tokenOf } from './run.ts';
import { type FrozenChunk, freeze } from './run-files.ts';

/** Can a row of the lake be in the slot? */
export const hasRows = (files: readonly LakeFile[], { start, end }: Slot): boolean =>
  files.some((file) => isTouched(file, start, end));

/** Which rows an export lets through, and as which columns. `Permanent`: its own query cannot be run. */
export async function queryOf({ parser }: Pick<Context, 'parser'>, item: BatchExportItem): Promise<RowQuery> {
  return { ...eventsOf(item), ...(await selectionOf(parser, item)) };
}

/** May the export leave out rows of its slots, or much of them? Of persons only the newest are delivered. */
export function isFiltered(item: BatchExportItem): boolean {
  const { includeEvents, excludeEvents } = eventsOf(item);
  const choices = [includeEvents, excludeEvents, item.hogql_query, item.filters ?? null];
  return item.model === 'persons' || choices.some((one) => one !== null);
}

/** Lists of events say nothing of persons. */
function eventsOf({ model, destination_config }: BatchExportItem): Pick<RowQuery, 'includeEvents' | 'excludeEvents'> {
  if (model === 'persons') return { includeEvents: null, excludeEvents: null };
  const { include_events, exclude_events }: Config = JSON.parse(destination_config);
  return { includeEvents: listed(include_events), excludeEvents: listed(exclude_events) };
}

/** An empty list restricts nothing. */
const listed = (names: unknown): string[] | null => (Array.isArray(names) && names.length > 0 ? names : null);

export async function freezeNow(
  context: Context,
  item: BatchExportItem,
  mine: Active,
  runs: readonly RunItem[],
  known?: readonly LakeFile[],
): Promise<FrozenChunk> {
  const files = known ?? (await filesBetween(context.table, item.team_id, item.model, mine.from, mine.to));
  const chunk: FrozenChunk = {
    token: tokenOf(item.id, mine),
    exportId: item.id,
    organizationId: item.organization_id,
    teamId: item.team_id,
    model: item.model,
    query: await queryOf(context, item),
    files: files.map(({ path, min_arrival, max_arrival }) => ({ path, from: min_arrival, to: max_arrival })),
    slots: runs.map(slotOf),
    by: mine.by,
    runs: runs.map(({ id }) => id),
  };
  await freeze(context, chunk);
  return chunk;
}
