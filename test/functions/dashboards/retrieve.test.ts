import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { START } from '../../support/context.ts';
import { type DashboardJson, dashboards, NOT_FOUND, told } from '../../support/dashboards.ts';
import { importRecords } from '../../support/imports.ts';

test('a dashboard of another project is not there, by whatever number', async () => {
  const { dashboard, call, context, service } = await dashboards();
  const { project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
  const path = `/api/projects/${project.id}/dashboards/`;
  const { body: other } = await service.call('POST', path, { body: { name: 'Other' } });
  const mine = await dashboard();
  expect(told(await call('GET', `/dashboards/${String(other?.['id'])}/`))).toEqual(NOT_FOUND);
  expect(told(await call('PATCH', `/dashboards/${String(other?.['id'])}/`, { name: 'Mine' }))).toEqual(NOT_FOUND);
  expect(told(await service.call('GET', `${path}${mine.id}/`))).toEqual(NOT_FOUND);
  for (const id of ['0', '-1', '9007199254740993', '1e1', '1.5', 'null', `${mine.id}#x`]) {
    expect(told(await call('GET', `/dashboards/${encodeURIComponent(id)}/`))).toEqual(NOT_FOUND);
  }
});

test('a tile whose insight is deleted is hidden until that comes back', async () => {
  const { dashboard, insight, found, call } = await dashboards();
  const { id } = await insight();
  const made = await dashboard({ tiles: [{ insight: id }, { text: { body: 'x' } }] });
  await call('PATCH', `/insights/${id}/`, { deleted: true });
  expect((await found(made.id)).tiles).toMatchObject([{ insight: null, text: { body: 'x' } }]);
  await call('PATCH', `/insights/${id}/`, { deleted: false });
  expect((await found(made.id)).tiles).toMatchObject([{ insight: { id } }, { text: { body: 'x' } }]);
});

test('tiles stand by row, then column, those without a place last', async () => {
  const { dashboard } = await dashboards();
  const at = (body: string, layouts?: object) => ({ text: { body }, ...(layouts === undefined ? {} : { layouts }) });
  const made = await dashboard({
    tiles: [
      at('last'),
      at('d', { sm: { x: 6, y: 5 } }),
      at('odd', { sm: null }),
      at('b', { sm: { x: 6, y: 0 } }),
      at('a', { sm: { x: 0, y: 0 } }),
      at('c', { sm: { x: 0, y: 5 } }),
    ],
  });
  expect(made.tiles.map(({ text }) => text?.body)).toEqual(['a', 'b', 'c', 'd', 'last', 'odd']);
});

test('it is one round trip; with insights two', async () => {
  const { dashboard, insight, found, table } = await dashboards();
  const plain = await dashboard({ tiles: [{ text: { body: 'x' } }] });
  const shown = await dashboard({ tiles: [{ insight: (await insight()).id }] });
  await found(plain.id);
  table.counted();
  await found(plain.id);
  expect(table.counted()).toBe(1);
  await found(shown.id);
  expect(table.counted()).toBe(2);
});

test("somebody else's name is one more, once a minute", async () => {
  const { dashboard, found, table, service, context } = await dashboards();
  const member = await service.newUser(LEVELS.member);
  const { id } = await dashboard({}, { key: await service.newKey(member) });
  await found(id);
  context.clock.advance(59_000);
  table.counted();
  await found(id);
  expect(table.counted()).toBe(1);
  context.clock.advance(1_000);
  expect(await found(id)).toMatchObject({ created_by: { uuid: member.uuid } });
  expect(table.counted()).toBeGreaterThan(1);
});

test('a dashboard whose insight has another name since is told anew to whoever knows its version', async () => {
  const { dashboard, insight, call } = await dashboards();
  const { id: shown } = await insight({ name: 'Visitors' });
  const { id } = await dashboard({ tiles: [{ insight: shown }] });
  const tag = (await call('GET', `/dashboards/${id}/`)).headers.get('etag') ?? '';
  await call('PATCH', `/insights/${shown}/`, { name: 'Readers' });
  const again = await call('GET', `/dashboards/${id}/`, undefined, { headers: { 'If-None-Match': tag } });
  expect(again).toMatchObject({ status: 200, body: { tiles: [{ insight: { name: 'Readers' } }] } });
});

test('filters and variables of a request take the place of those they name; the others of the dashboard hold on', async () => {
  const { dashboard, insight, call, context, service } = await dashboards();
  const seen = (country: string, days: number) => ({
    event: 'seen',
    distinct_id: 'ada',
    timestamp: new Date(START - days * 86_400 * SECOND_MS).toISOString(),
    properties: { country },
  });
  await importRecords(context, service.project.id, [seen('DE', 2), seen('DE', 20), seen('FR', 2), seen('FR', 3)]);
  const query = {
    kind: 'HogQLQuery',
    query: 'SELECT count(), {variables.a}, {variables.b} FROM events WHERE {filters}',
    variables: {
      v1: { variableId: 'v1', code_name: 'a', value: 0 },
      v2: { variableId: 'v2', code_name: 'b', value: 0 },
    },
  };
  const { id: shown } = await insight({ query });
  const { id } = await dashboard({
    tiles: [{ insight: shown }],
    filters: { properties: [{ type: 'event', key: 'country', value: 'DE' }], date_from: '-30d' },
    variables: { v1: { code_name: 'a', variableId: 'v1', value: 1 }, v2: 2 },
  });
  const asked = async (overrides: Readonly<Record<string, object>>) => {
    const sent = Object.entries(overrides).map(
      ([name, value]) => `&${name}=${encodeURIComponent(JSON.stringify(value))}`,
    );
    const board = await call('GET', `/dashboards/${id}/?refresh=blocking${sent.join('')}`);
    const alone = await call('GET', `/insights/${shown}/?refresh=blocking&from_dashboard=${id}${sent.join('')}`);
    return [(board.body as unknown as DashboardJson).tiles[0]?.insight?.['result'], alone.body?.['result']];
  };
  const both = (row: unknown[]) => [[row], [row]];
  expect(await asked({})).toEqual(both([2, 1, 2]));
  expect(await asked({ filters_override: { date_from: '-7d' } })).toEqual(both([1, 1, 2]));
  expect(await asked({ filters_override: { properties: [] } })).toEqual(both([4, 1, 2]));
  expect(await asked({ variables_override: { v1: 3 } })).toEqual(both([2, 3, 2]));
  expect(await asked({ variables_override: { b: 3 } })).toEqual(both([2, 1, 3]));
});
