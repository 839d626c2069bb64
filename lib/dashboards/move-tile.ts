/** Moves tiles from one dashboard to another. */
import type { Change } from '../accounts/activity/model.ts';
import { checkVersion, inVersion } from '../http/etag.ts';
import type { Context } from '../ports/context.ts';
import { fail, invalid } from '../ports/errors.ts';
import { keys } from '../ports/table/keys.ts';
import { untilWrittenFrom } from '../ports/table/until-written.ts';
import type { Changer } from './change.ts';
import { tileItem } from './create.ts';
import { checkStaySeen } from './insights/visibility.ts';
import type { StoredDashboard, TileItem } from './model.ts';
import { checkCanEdit, mayEdit } from './rules.ts';
import { aboutDashboard, readDashboard } from './store.ts';
import { checkTileCount, countedTiles, counting, insightsOf } from './tiles.ts';

/**
 * Moves a tile, as it is then, to a dashboard. Throws a 404 when either is gone, a 403 when they may not edit both, a 400
 * when that one shows its insight.
 */
export async function moveTile(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  read: StoredDashboard,
  { tile: tileId, to }: { tile: number; to: number },
  { tenant, ifMatch, activityOps }: Changer,
): Promise<void> {
  const { membership: member } = tenant;
  const { project_id, id: from } = read.summary;
  const again = () => readDashboard(table, project_id, from);
  await untilWrittenFrom(read, again, async (source) => {
    const { summary } = source;
    const target = await readDashboard(table, project_id, to);
    const tile = source.tiles.find(({ id }) => id === tileId);
    if (summary.deleted_at !== null || tile === undefined || target?.summary.deleted_at !== null) fail('not_found');
    const destination = target.summary;
    checkCanEdit(summary, member);
    if (!mayEdit(destination, member))
      fail('permission_denied', "You don't have edit permissions for the destination dashboard.");
    checkVersion(summary, ifMatch);
    if (to === from) return;
    const isPlacing = tile.insight !== null;
    if (isPlacing && target.tiles.some(({ insight }) => insight === tile.insight)) {
      invalid('toDashboard', 'The dashboard to which the tile would go shows its insight already.');
    }
    const now = clock();
    checkTileCount(countedTiles(target, now) + 1);
    const [less, more] = [counting(source, -1, now), counting(target, 1, now)];
    await checkStaySeen(table, tenant, insightsOf([tile]), { from, to: destination });
    const place = { project: project_id, dashboard: to, id: tile.id, now: tile.created_at };
    const moved: TileItem = {
      ...tileItem(place, tile),
      last_modified_at: tile.last_modified_at,
      last_modified_by: tile.last_modified_by,
      ver: tile.ver + 1,
    };
    await table.write([
      { remove: keys.tile(project_id, from, tile.id), if: { is: { id: tile.id, ver: tile.ver } } },
      { put: moved, if: 'absent' },
      {
        ...less,
        change: keys.dashboard(project_id, from),
        if: { is: { id: from, deleted_at: null, ...inVersion(ifMatch), ...less.if.is } },
      },
      {
        ...more,
        change: keys.dashboard(project_id, to),
        if: {
          ...more.if,
          is: { id: to, deleted_at: null, ...(isPlacing ? { ver: destination.ver } : {}), ...more.if.is },
        },
      },
      ...activityOps({ ...aboutDashboard(summary), activity: 'updated', changes: [moveChange(tile, from, to)] }),
    ]);
  });
}

const moveChange = ({ id: tile }: TileItem, from: number, to: number): Change => ({
  action: 'changed',
  field: 'tiles',
  before: { tile, dashboard: from },
  after: { tile, dashboard: to },
});
