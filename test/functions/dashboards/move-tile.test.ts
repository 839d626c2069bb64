import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { bad, type Dashboards, dashboards, denied, NOT_FOUND, told } from '../../support/dashboards.ts';

const move = async ({ call }: Dashboards, from: number, body: unknown, options = {}) =>
  told(await call('PATCH', `/dashboards/${from}/move_tile/`, body, options));

test.each(['toDashboard', 'to_dashboard'])('a tile goes as it is to the dashboard that %s names', async (name) => {
  const world = await dashboards();
  const { dashboard, found, insight, call } = world;
  const { id } = await insight();
  const source = await dashboard({
    tiles: [{ text: { body: 'stays' } }, { insight: id, color: 'red', layouts: { sm: { x: 3 } } }],
  });
  const destination = await dashboard();
  const tile = source.tiles.find((one) => one.insight !== null);
  expect(await move(world, source.id, { tile, [name]: destination.id })).toEqual({ status: 200, body: undefined });
  expect((await found(source.id)).tiles).toMatchObject([{ text: { body: 'stays' } }]);
  expect((await found(destination.id)).tiles).toEqual([tile]);
  expect((await call('GET', `/insights/${id}/`)).body).toMatchObject({ dashboards: [destination.id] });
  expect(await move(world, destination.id, { tile, [name]: destination.id })).toEqual({ status: 200, body: undefined });
  expect((await found(destination.id)).tiles).toEqual([tile]);
});

test('what is not there is a 404, what is missing a 400', async () => {
  const world = await dashboards();
  const { dashboard, changed, context, service } = world;
  const source = await dashboard({ tiles: [{ text: { body: 'x' } }] });
  const other = await dashboard({ tiles: [{ text: { body: 'y' } }] });
  const deleted = await dashboard();
  await changed(deleted.id, { deleted: true });
  const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
  const path = `/api/projects/${project.id}/dashboards/`;
  const { body: elsewhere } = await service.call('POST', path, { body: {} });
  const [tile, theirs] = [source.tiles[0], other.tiles[0]];
  for (const body of [
    { tile: theirs, toDashboard: other.id },
    { tile: { id: 999 }, toDashboard: other.id },
    { tile, toDashboard: 999 },
    { tile, toDashboard: deleted.id },
    { tile, toDashboard: elsewhere?.['id'] },
  ]) {
    expect(await move(world, source.id, body)).toEqual(NOT_FOUND);
  }
  const required = (attr: string) => bad('This field is required.', attr, 'required');
  expect(await move(world, source.id, { toDashboard: other.id })).toEqual(required('tile'));
  expect(await move(world, source.id, { tile: {}, toDashboard: other.id })).toEqual(required('tile__id'));
  expect(await move(world, source.id, { tile })).toEqual(required('toDashboard'));
  expect((await world.found(source.id)).tiles).toEqual(source.tiles);
});

test('a tile does not go where its insight is shown already', async () => {
  const world = await dashboards();
  const { id } = await world.insight();
  const tiles = [{ insight: id }];
  const [from, to] = [await world.dashboard({ tiles }), await world.dashboard({ tiles })];
  expect(await move(world, from.id, { tile: from.tiles[0], toDashboard: to.id })).toEqual(
    bad('The dashboard to which the tile would go shows its insight already.', 'toDashboard'),
  );
  expect((await world.found(from.id)).tiles).toEqual(from.tiles);
  expect((await world.found(to.id)).tiles).toEqual(to.tiles);
});

test('both dashboards must be open to the caller', async () => {
  const world = await dashboards();
  const { dashboard, service, context } = world;
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const [open, closed] = [
    await dashboard({ tiles: [{ text: { body: 'x' } }] }),
    await dashboard({ restriction_level: 37, tiles: [{ text: { body: 'y' } }] }),
  ];
  expect(await move(world, open.id, { tile: open.tiles[0], toDashboard: closed.id }, { key })).toEqual(
    denied("You don't have edit permissions for the destination dashboard."),
  );
  expect(await move(world, closed.id, { tile: closed.tiles[0], toDashboard: open.id }, { key })).toEqual(
    denied("You don't have edit permissions for this dashboard."),
  );
  const hidden = await dashboard();
  await context.table.write([
    { change: keys.dashboard(service.project.id, hidden.id), set: { 'rule:everyone': 'none' } },
  ]);
  expect(await move(world, open.id, { tile: open.tiles[0], toDashboard: hidden.id }, { key })).toEqual(
    denied("You don't have edit permissions for the destination dashboard."),
  );
});

test('a full dashboard takes no more', async () => {
  const world = await dashboards();
  const full = await world.dashboard({ tiles: Array.from({ length: 500 }, () => ({ text: { body: '' } })) });
  const source = await world.dashboard({ tiles: [{ text: { body: 'x' } }] });
  expect(await move(world, source.id, { tile: source.tiles[0], toDashboard: full.id })).toEqual(
    bad('A dashboard may have at most 500 tiles.', 'tiles'),
  );
});

test('it is three round trips: the source, the goal, one write', async () => {
  const world = await dashboards();
  const source = await world.dashboard({ tiles: [{ text: { body: 'x' } }] });
  const destination = await world.dashboard();
  await move(world, source.id, { tile: source.tiles[0], toDashboard: source.id });
  world.table.counted();
  await move(world, source.id, { tile: source.tiles[0], toDashboard: destination.id });
  expect(world.table.counted()).toBe(3);
});
