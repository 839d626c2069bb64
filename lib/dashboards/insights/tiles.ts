/** Which tiles show an insight, and on which dashboards. */
import { idsIn, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Key, Table } from '../../ports/table/table.ts';
import type { DashboardItem, TileItem } from '../model.ts';
import type { Showing } from '../rules.ts';
import { readAllSummaries } from '../store.ts';

/** Returns the keys of the tiles that show an insight, those of deleted dashboards too. One read, of an index. */
export async function tilesOfInsight(table: Table, project: number, insight: number): Promise<Key<TileItem>[]> {
  const found = await listAll(table, ranges.tilesOf(project, insight));
  return found.map(({ pk, sk }) => ({ pk, sk }));
}

/** Returns the numbers of the dashboards that have these tiles, each once. */
export function dashboardsOf(tiles: readonly Key[]): number[] {
  return [...new Set(tiles.map((tile) => idsIn.ofProject(tile).id))];
}

/** Returns the dashboards that have these tiles, deleted ones too, and who put each there. One round trip. */
export async function showingsOf(table: Table, project: number, tiles: readonly Key<TileItem>[]): Promise<Showing[]> {
  if (tiles.length === 0) return [];
  const [summaries, found] = await Promise.all([
    readAllSummaries(table, project, dashboardsOf(tiles)),
    table.many(tiles),
  ]);
  return found.flatMap((tile): Showing[] => {
    const summary = tile && summaries.get(idsIn.ofProject(tile).id);
    return tile === undefined || summary === undefined ? [] : [{ summary, placedBy: tile.created_by }];
  });
}

/**
 * Returns the dashboards, of the known ones, that have these tiles. Who put each there is read only where all are deleted,
 * for else it does not decide who sees what they show (`protecting`).
 */
export async function knownShowings<Summary extends Pick<DashboardItem, 'deleted_at'>>(
  table: Table,
  tiles: readonly Key<TileItem>[],
  known: ReadonlyMap<number, Summary>,
): Promise<Showing<Summary>[]> {
  const summaries = tiles.map((tile) => known.get(idsIn.ofProject(tile).id));
  const areDeleted = summaries.every((summary) => summary?.deleted_at !== null);
  const found = areDeleted && tiles.length > 0 ? await table.many(tiles) : undefined;
  return summaries.flatMap((summary, at): Showing<Summary>[] => {
    const tile = found?.[at];
    // The index may still have one that is gone.
    if (summary === undefined || (found !== undefined && tile === undefined)) return [];
    return [{ summary, placedBy: tile?.created_by ?? null }];
  });
}

/** Returns the dashboards that show an insight, each once. */
export const summariesOf = (showings: readonly Showing[]): DashboardItem[] => [
  ...new Map(showings.map(({ summary }) => [summary.id, summary])).values(),
];
