/** Many at once: nothing that was accepted is lost, nothing is counted twice, and nobody gets a 5xx. */
import { dynamodbTable } from '../../../lib/ports/table/dynamodb.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { START, testContext } from '../../support/context.ts';
import { type DashboardJson, type Dashboards, dashboards } from '../../support/dashboards.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../../support/dynamodb-local.ts';
import { seeded } from '../../support/random.ts';
import { unreliable } from '../../support/unreliable-table.ts';

const times = <T>(count: number, one: (at: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => one(at)));

const statusesOf = (replies: readonly { status: number }[]) => [...new Set(replies.map(({ status }) => status))];

/** The head's own count of its tiles, which no answer shows. */
const countedTiles = async ({ context, service }: Dashboards, id: number) =>
  (await context.table.get(keys.dashboard(service.project.id, id)))?.['tiles'];

function nothingIsLost(open: () => Promise<Dashboards>, writers: number): void {
  test('changes of different fields, tiles and tags all last', async () => {
    const world = await open();
    const { id, tiles } = await world.dashboard({ tiles: Array.from({ length: 20 }, () => ({ text: { body: '' } })) });
    const patch = (body: object) => world.call('PATCH', `/dashboards/${id}/`, body);
    const replies = await Promise.all([
      patch({ name: 'Weekly' }),
      patch({ pinned: true }),
      patch({ description: 'd' }),
      patch({ tags: ['a'] }),
      patch({ filters: { f: 1 } }),
      patch({ variables: { v: 1 } }),
      patch({ restriction_level: 37 }),
      ...tiles.map((tile, at) => patch({ tiles: [{ id: tile.id, color: `${at}` }] })),
      ...tiles.map((tile, at) => patch({ tiles: [{ id: tile.id, layouts: { sm: { x: 0, y: at } } }] })),
      ...tiles.map((tile, at) => patch({ tiles: [{ id: tile.id, text: { body: `${at}` } }] })),
      ...tiles.map((_, at) =>
        patch({ tiles: [{ text: { body: `new ${at}` }, layouts: { sm: { x: 0, y: 100 + at } } }] }),
      ),
    ]);
    expect(statusesOf(replies)).toEqual([200]);
    const found = await world.found(id);
    expect(found).toMatchObject({
      name: 'Weekly',
      pinned: true,
      description: 'd',
      tags: ['a'],
      filters: { f: 1 },
      variables: { v: 1 },
      restriction_level: 37,
    });
    expect(found.tiles.slice(0, 20).map(({ color, text }) => [color, text?.body])).toEqual(
      tiles.map((_, at) => [`${at}`, `${at}`]),
    );
    expect(new Set(found.tiles.slice(20).map(({ text }) => text?.body))).toEqual(
      new Set(tiles.map((_, at) => `new ${at}`)),
    );
    expect(await countedTiles(world, id)).toBe(40);
    const { headers } = await world.call('GET', `/dashboards/${id}/`);
    expect(headers.get('etag')).toBe(`"${1 + replies.length}"`);
    expect((await world.call('GET', '/dashboards/?pinned=true&tags=a')).body).toMatchObject({ count: 1 });
  });

  test('renames at once leave one name, and one place in the list that fits it', async () => {
    const world = await open();
    const { id } = await world.dashboard({ name: 'Weekly' });
    await world.dashboard({ name: 'n50' });
    const replies = await times(writers, (at) =>
      world.call('PATCH', `/dashboards/${id}/`, at % 2 === 0 ? { name: `n${at}` } : { pinned: at % 4 === 1 }),
    );
    expect(statusesOf(replies).filter((status) => status !== 200 && status !== 429)).toEqual([]);
    const { name, pinned } = await world.found(id);
    const item = await world.context.table.get(keys.dashboard(world.service.project.id, id));
    expect(item?.first_sk?.startsWith(`${pinned === true ? 0 : 1}${name}\u0001`)).toBe(true);
    expect(item?.second_sk).toBe(item?.first_sk);
    expect((await world.call('GET', '/dashboards/')).body).toMatchObject({ count: 2 });
  });

  test('tiles that are moved in both directions at once are each in one place, and counted there', async () => {
    const world = await open();
    const tiles = Array.from({ length: 20 }, (_, at) => ({ text: { body: `${at}` } }));
    const [a, b] = [await world.dashboard({ tiles }), await world.dashboard({ tiles })];
    const move = (from: DashboardJson, to: DashboardJson, tile: { id: number }) =>
      world.call('PATCH', `/dashboards/${from.id}/move_tile/`, { tile, toDashboard: to.id });
    const recolour = (on: DashboardJson, tile: { id: number }) =>
      world.call('PATCH', `/dashboards/${on.id}/`, { tiles: [{ id: tile.id, color: 'red' }] });
    const moves = await Promise.all([
      ...a.tiles.map((tile) => move(a, b, tile)),
      ...b.tiles.map((tile) => move(b, a, tile)),
      ...a.tiles.map((tile) => move(a, b, tile)),
    ]);
    const colours = await Promise.all(a.tiles.flatMap((tile) => [move(b, a, tile), recolour(b, tile)]));
    expect(statusesOf([...moves, ...colours]).filter((status) => ![200, 400, 404].includes(status))).toEqual([]);
    const [left, right] = [await world.found(a.id), await world.found(b.id)];
    const ids = [...left.tiles, ...right.tiles].map(({ id }) => id).toSorted((x, y) => x - y);
    expect(ids).toEqual([...a.tiles, ...b.tiles].map(({ id }) => id).toSorted((x, y) => x - y));
    expect([await countedTiles(world, a.id), await countedTiles(world, b.id)]).toEqual([
      left.tiles.length,
      right.tiles.length,
    ]);
    const isRed = new Map([...left.tiles, ...right.tiles].map((tile) => [tile.id, tile.color === 'red']));
    const wasRed = a.tiles.map((_, at) => colours[2 * at + 1]?.status === 200);
    expect(a.tiles.map(({ id }) => isRed.get(id))).toEqual(wasRed);
  });

  test('dashboards that are made at once have each a number of their own', async () => {
    const world = await open();
    const made = await times(writers, (at) => world.dashboard({ name: `n${at}`, tiles: [{ text: { body: 'x' } }] }));
    expect(new Set(made.map(({ id }) => id)).size).toBe(writers);
    expect(new Set(made.flatMap(({ tiles }) => tiles.map(({ id }) => id))).size).toBe(writers);
    expect((await world.call('GET', '/dashboards/?limit=1')).body).toMatchObject({ count: writers });
  });

  test('an insight that is put on a dashboard many times at once is there once', async () => {
    const world = await open();
    const { id } = await world.dashboard({ tiles: [] });
    const insight = await world.insight();
    const replies = await times(10, () => world.call('PATCH', `/insights/${insight.id}/`, { dashboards: [id] }));
    expect(statusesOf(replies)).toEqual([200]);
    expect((await world.found(id)).tiles).toHaveLength(1);
    expect(await countedTiles(world, id)).toBe(1);
  });

  test('an insight is on a dashboard once, whichever ways put it there at once', async () => {
    const world = await open();
    const [{ id }, insight] = [await world.dashboard({ tiles: [] }), await world.insight()];
    const others = await times(3, () => world.dashboard({ tiles: [{ insight: insight.id }] }));
    const replies = await Promise.all([
      ...[1, 2, 3].map((x) =>
        world.call('PATCH', `/dashboards/${id}/`, {
          tiles: [{ insight: insight.id, layouts: { sm: { x, y: 0 } } }],
        }),
      ),
      ...[1, 2, 3].map(() => world.call('PATCH', `/insights/${insight.id}/`, { dashboard: id })),
      ...others.map((one) =>
        world.call('PATCH', `/dashboards/${one.id}/move_tile/`, { tile: one.tiles[0], toDashboard: id }),
      ),
    ]);
    expect(statusesOf(replies).filter((status) => status !== 200 && status !== 400)).toEqual([]);
    expect((await world.found(id)).tiles).toHaveLength(1);
    expect(await countedTiles(world, id)).toBe(1);
  });

  test('of changes that have no room together one is made whole, and the other not begun', async () => {
    const world = await open();
    const texts = (count: number) => Array.from({ length: count }, () => ({ text: { body: '' } }));
    const { id } = await world.dashboard({ tiles: texts(230) });
    const replies = await times(2, () => world.call('PATCH', `/dashboards/${id}/`, { tiles: texts(180) }));
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    expect((await world.found(id)).tiles).toHaveLength(410);
    expect(await countedTiles(world, id)).toBe(410);
  });

  test('an insight that is put on dashboards and taken off at once ends where its last change says', async () => {
    const world = await open();
    const all = await times(4, () => world.dashboard());
    const { id } = await world.insight();
    const replies = await times(20, (at) =>
      world.call('PATCH', `/insights/${id}/`, {
        dashboards: all.filter((_, n) => (at + n) % 2 === 0).map((one) => one.id),
      }),
    );
    expect(statusesOf(replies).filter((status) => status !== 200)).toEqual([]);
    const { body } = await world.call('GET', `/insights/${id}/`);
    for (const one of all) {
      const { tiles } = await world.found(one.id);
      expect(await countedTiles(world, one.id)).toBe(tiles.length);
      expect(((body?.['dashboards'] ?? []) as number[]).includes(one.id)).toBe(tiles.length > 0);
    }
  });
}

describe('on SQLite', () => {
  nothingIsLost(() => dashboards(), 100);
});

describeOnDynamodb('on DynamoDB', () => {
  nothingIsLost(async () => {
    const client = await dynamodbClient();
    return dashboards(dynamodbTable({ client, tableName: await createTable(client), clock: () => START }));
  }, 20);
});

test.each([1, 2, 3])(
  'a busy, forgetful, late table (%i) leaves every tile in one place, counted there',
  async (seed) => {
    const context = testContext();
    const chance = seeded(seed);
    let isArmed = false;
    const random = () => (isArmed ? chance() : 1);
    const table = unreliable(context.table, { random, clock: context.clock, busy: 0.1, lost: 0.1, lag: 0.3 });
    const world = await dashboards(table);
    const all = await times(3, (at) => world.dashboard({ tiles: [{ text: { body: `${at}` } }] }));
    const { id: insight } = await world.insight();
    isArmed = true;
    const pick = <T>(from: readonly T[]): T => from[Math.floor(chance() * from.length)] as T;
    const acts = await times(60, async (at) => {
      const [from, to] = [pick(all), pick(all)];
      const [tile] = from.tiles;
      switch (at % 5) {
        case 0:
          return world.call('PATCH', `/dashboards/${from.id}/move_tile/`, { tile, toDashboard: to.id });
        case 1:
          return world.call('PATCH', `/dashboards/${from.id}/`, { tiles: [{ text: { body: 'new' } }], name: `n${at}` });
        case 2:
          return world.call('PATCH', `/insights/${insight}/`, { dashboards: [to.id] });
        case 3:
          return world.call('PATCH', `/dashboards/${from.id}/`, { tiles: [{ id: tile?.id, color: 'red' }] });
        default:
          return world.call('PATCH', `/dashboards/${from.id}/`, { pinned: at % 2 === 0 });
      }
    });
    expect(statusesOf(acts).filter((status) => ![200, 400, 404, 429].includes(status))).toEqual([]);
    expect(statusesOf(acts)).toEqual(expect.arrayContaining([200, 429]));
    await table.heal();
    const found = await times(3, (at) => world.found(all[at]?.id ?? 0));
    const ids = found.flatMap(({ tiles }) => tiles.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(all.flatMap(({ tiles }) => tiles.map(({ id }) => id))));
    expect(await times(3, (at) => countedTiles(world, all[at]?.id ?? 0))).toEqual(
      found.map(({ tiles }) => tiles.length),
    );
    expect((await world.call('GET', '/dashboards/')).body).toMatchObject({
      count: 3,
      results: found.toSorted(inListOrder).map(({ id, name, pinned }) => ({ id, name, pinned })),
    });
  },
);

/** Pinned first, then by name; names here are of ASCII. */
function inListOrder(a: DashboardJson, b: DashboardJson): number {
  const order = ({ pinned, name, id }: DashboardJson) => `${pinned === true ? 0 : 1}${name}\u0001${id}`;
  return order(a) < order(b) ? -1 : 1;
}
