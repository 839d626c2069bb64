/** A project with 10,000 dashboards, and one with 500 tiles: lists, filters and pages stay right. */
import type { DashboardItem } from '../../../lib/dashboards/model.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys, places } from '../../../lib/ports/table/keys.ts';
import type { Op } from '../../../lib/ports/table/table.ts';
import { type DashboardJson, type Dashboards, dashboards } from '../../support/dashboards.ts';

const COUNT = 10_000;

/** Every 100th is pinned, every 7th has a tag; names run from 9999 down. */
async function full(): Promise<Dashboards> {
  const world = await dashboards();
  const { service, context } = world;
  const project = service.project.id;
  const ops = Array.from({ length: COUNT }, (_, at): Op[] => {
    const id = at + 1;
    const name = `Dashboard ${String(COUNT - id).padStart(4, '0')}`;
    const pinned = at % 100 === 0;
    const head: DashboardItem = {
      ...keys.dashboard(project, id),
      ...places.dashboardOf(project, pinned, name, id),
      id,
      project_id: project,
      name,
      description: '',
      pinned,
      created_at: context.clock() + id,
      created_by: service.owner.uuid,
      is_shared: false,
      deleted_at: null,
      creation_mode: 'default',
      tags: toJsonText(at % 7 === 0 ? ['seventh'] : []),
      restriction_level: 21,
      tiles: 0,
      ver: 1,
    };
    const detail = { use_template: '', use_dashboard: null, delete_insights: false, filters: '{}', variables: '{}' };
    const sharing = { enabled: false, access_token: `token-${id}`, created_at: head.created_at };
    return [
      { put: head },
      { put: { ...keys.dashboardDetail(project, id), ...detail } },
      { put: { ...keys.sharing(project, id), ...sharing } },
    ];
  });
  for (let at = 0; at < COUNT; at += 30) await context.table.write(ops.slice(at, at + 30).flat());
  await context.table.write([{ change: keys.sequence('dashboard'), set: { last: COUNT } }]);
  return world;
}

const resultsOf = (body: unknown): DashboardJson[] => (body as { results: DashboardJson[] }).results;

describe('10,000 dashboards', () => {
  let world: Dashboards;
  beforeAll(async () => {
    world = await full();
  });

  test('are each read once by following `next`, in order', async () => {
    const seen: DashboardJson[] = [];
    let query = '?limit=1000';
    for (let more = true; more; ) {
      const { body } = await world.call('GET', `/dashboards/${query}`);
      expect(body?.['count']).toBe(COUNT);
      seen.push(...resultsOf(body));
      more = body?.['next'] !== null;
      if (more) query = new URL(String(body?.['next'])).search;
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(COUNT);
    const order = ({ pinned, name }: DashboardJson) => `${pinned === true ? 0 : 1}${name}`;
    const keysSeen = seen.map(order);
    expect(keysSeen).toEqual(keysSeen.toSorted());
  });

  test.each([0, 100, 4_950, 9_900, 9_999, 10_000])('have a page at offset %i', async (offset) => {
    const { body } = await world.call('GET', `/dashboards/?offset=${offset}`);
    const all = await world.call('GET', `/dashboards/?ordering=-pinned&offset=${offset}`);
    expect(body?.['count']).toBe(COUNT);
    expect(resultsOf(body).map(({ id }) => id)).toEqual(resultsOf(all.body).map(({ id }) => id));
    expect(resultsOf(body)).toHaveLength(Math.min(100, COUNT - offset));
  });

  test('are filtered, ordered and counted', async () => {
    const { body } = await world.call('GET', '/dashboards/?tags=seventh&ordering=created_at&limit=3&offset=1426');
    expect(body).toMatchObject({ count: Math.ceil(COUNT / 7), next: null });
    expect(resultsOf(body).map(({ id }) => id)).toEqual([9983, 9990, 9997]);
    expect((await world.call('GET', '/dashboards/?search=board 00&limit=1')).body).toMatchObject({ count: 100 });
    expect((await world.call('GET', '/dashboards/?pinned=true&limit=1')).body).toMatchObject({ count: 100 });
  });

  test('stay right while 100 are renamed, deleted and made', async () => {
    const changes = Array.from({ length: 100 }, (_, at) => {
      if (at % 4 === 0) return world.call('POST', '/dashboards/', { name: `New ${at}` });
      const body = at % 4 === 1 ? { deleted: true } : { name: `Renamed ${at}` };
      return world.call('PATCH', `/dashboards/${at * 50 + 1}/`, body);
    });
    const replies = await Promise.all(changes);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201]));
    for (const query of ['', 'ordering=name&']) {
      const { body } = await world.call('GET', `/dashboards/?${query}limit=1`);
      expect(body?.['count']).toBe(COUNT);
    }
    expect((await world.call('GET', '/dashboards/?search=renamed&limit=1')).body).toMatchObject({ count: 50 });
  });
});
