/** Which tiles show an insight, and on which dashboards. */
import { idsIn, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Key, Table } from '../../ports/table/table.ts';

/** Returns the keys of the tiles that show an insight, those of deleted dashboards too. One read, of an index. */
export async function tilesOfInsight(table: Table, project: number, insight: number): Promise<Key[]> {
  const found = await listAll(table, ranges.tilesOf(project, insight));
  return found.map(({ pk, sk }) => ({ pk, sk }));
}

/** Returns the numbers of the dashboards that have these tiles, each once. */
export function dashboardsOf(tiles: readonly Key[]): number[] {
  return [...new Set(tiles.map((tile) => idsIn.ofProject(tile).id))];
}
