/** What it takes to know which insights are there for a member, where many dashboards are closed to them. */
import { LEVELS } from '../../../lib/http/levels.ts';
import { testContext } from '../../support/context.ts';
import { type Dashboards, dashboards } from '../../support/dashboards.ts';
import { tableWith } from '../../support/table-override.ts';

const COUNT = 80;

/** A member, and dashboards that were closed to them and deleted, each with an insight of its own. */
async function closedTo(world: Dashboards): Promise<{ key: string; closed: number[] }> {
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const closed: number[] = [];
  for (let n = 0; n < COUNT; n++) {
    const { id } = await world.dashboard({});
    closed.push((await world.insight({ dashboards: [id] })).id);
    await world.call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'none' });
    await world.changed(id, { deleted: true });
  }
  return { key, closed };
}

test('lists and reads of a member take as few round trips where many closed dashboards were deleted', async () => {
  const world = await dashboards();
  const { key, closed } = await closedTo(world);
  const { id } = await world.insight({ name: 'Open' });
  const asked = async (path: string) => {
    world.table.counted();
    const { status, body } = await world.call('GET', path, undefined, { key });
    return { status, body, trips: world.table.counted() };
  };
  for (const path of ['/insights/', '/alerts/', `/insights/${id}/`]) {
    const { status, trips } = await asked(path);
    expect(status).toBe(200);
    expect(trips).toBeLessThan(20);
  }
  expect((await asked('/insights/')).body).toMatchObject({ count: 1, results: [{ id }] });
  expect((await asked(`/insights/${closed[0]}/`)).status).toBe(403);
  // Nothing more is asked for each insight.
  for (let n = 0; n < 5; n++) await world.insight();
  const { body, trips } = await asked('/insights/');
  expect(body?.['count']).toBe(6);
  expect(body?.['results']).toHaveLength(6);
  expect(trips).toBeLessThan(20);
}, 60_000);

test('a member takes a hundred tiles from a dashboard in as few round trips', async () => {
  const world = await dashboards();
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const hiding = await world.dashboard({});
  await world.call('PUT', `/dashboards/${hiding.id}/access_controls/`, { access_level: 'none' });
  const tiles: { insight: number }[] = [];
  for (let n = 0; n < 100; n++) tiles.push({ insight: (await world.insight()).id });
  const { id } = await world.dashboard({ tiles });
  const removed = (await world.found(id)).tiles.map((tile) => ({ id: tile.id, deleted: true }));
  world.table.counted();
  expect((await world.changed(id, { tiles: removed }, { key })).tiles).toEqual([]);
  expect(world.table.counted()).toBeLessThan(20);
}, 60_000);

test('no list has an insight of a dashboard that is closed to the member, even before the index of its tile follows', async () => {
  const { table } = testContext();
  let isLagging = false;
  const lagging = tableWith(table, {
    list: async (range, page) => {
      const isOfTiles = range.index !== undefined && range.partition.startsWith('I#');
      return isLagging && isOfTiles ? { items: [] } : table.list(range, page);
    },
  });
  const world = await dashboards(lagging);
  const key = await world.service.newKey(await world.service.newUser(LEVELS.member));
  const { id } = await world.dashboard({});
  await world.call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'none' });
  await world.insight({ dashboards: [id] });
  const alone = await world.insight();
  isLagging = true;
  const { body } = await world.call('GET', '/insights/', undefined, { key });
  expect(body).toMatchObject({ count: 1, results: [{ id: alone.id }] });
});
