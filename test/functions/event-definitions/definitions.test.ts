import { DAY_MS } from '../../../lib/basics/units.ts';
import { namesSeen } from '../../../lib/reading/definitions/store.ts';
import { lookFor } from '../../../lib/reading/waiting.ts';
import { START, testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { type Service, testService } from '../../support/service.ts';

const context = testContext();
let service: Service;

const event = (name: string, daysAgo: number, properties: object) => ({
  event: name,
  distinct_id: 'ada',
  timestamp: new Date(START - daysAgo * DAY_MS).toISOString(),
  properties,
});

beforeAll(async () => {
  service = await testService(context);
  await importRecords(context, service.project.id, [
    event('old', 31, { old: 1 }),
    event('paid', 3, { plan: 'pro', $os: 'Linux' }),
    event('paid', 2, { plan: 'free' }),
    event('left', 1, {}),
  ]);
});

async function list(names: 'event' | 'property', query = '') {
  const { status, body } = await service.call(
    'GET',
    `/api/projects/${service.project.id}/${names}_definitions/${query}`,
  );
  expect({ status, body }).toMatchObject({ status: 200 });
  return body as { count: number; next: string | null; results: Record<string, unknown>[] };
}

const counts = async (names: 'event' | 'property', query?: string) =>
  (await list(names, query)).results.map(({ name, volume_30_day }) => [name, volume_30_day]);

test('the names of the events of thirty days are counted', async () => {
  const { count, results } = await list('event');
  expect([count, results[1]]).toEqual([
    2,
    { id: results[1]?.['id'], name: 'paid', volume_30_day: 2, last_seen_at: '2025-12-30T00:00:00Z' },
  ]);
  expect(await counts('event')).toEqual([
    ['left', 1],
    ['paid', 2],
  ]);
});

test('so are those of their properties', async () => {
  expect(await counts('property')).toEqual([
    ['$os', 1],
    ['plan', 2],
  ]);
  expect(await counts('property', '?search=PL&type=event')).toEqual([['plan', 2]]);
});

test('pages of names tell how many there are, behind the last one too', async () => {
  expect(await list('event', '?limit=1')).toMatchObject({
    count: 2,
    next: expect.stringContaining('limit=1&offset=1'),
    results: [{ name: 'left' }],
  });
  expect(await list('event', '?limit=1&offset=5')).toMatchObject({ count: 2, next: null, results: [] });
});

test('a page of names that had to be cut goes on where it was cut', async () => {
  const read = async () => ({ rows: [{ volume: 3 }, { name: 'a', volume: 1, last: '0' }], isCut: true });
  const look = lookFor({ ...context, reader: { read } }, service);
  const paging = { limit: 3, offset: 0, cursor: undefined, url: 'http://localhost/api/', query: {} };
  const page = await namesSeen(context, look, { of: 'event', paging });
  expect(page).toMatchObject({ count: 3, next: 'http://localhost/api/?limit=3&offset=1' });
});

test('properties of persons are those that persons have now', async () => {
  await importRecords(context, service.project.id, [
    { ...event('$set', 2, { $set: { plan: 'free', $creator: 1 } }), distinct_id: 'bob' },
    { ...event('$set', 1, { $set: { plan: 'pro' }, $unset: ['$creator'] }), distinct_id: 'bob' },
    { ...event('$set', 1, { $set: { plan: 'max', $os: 'Linux' } }), distinct_id: 'cem' },
  ]);
  expect(await counts('property', '?type=person')).toEqual([
    ['$os', 1],
    ['plan', 2],
  ]);
  expect(await counts('property', '?type=person&exclude_core_properties=true&search=P')).toEqual([['plan', 2]]);
});

test('properties are those of some events, without those of SDKs and of flags, where that is asked', async () => {
  const path = `?filter_by_event_names=true&event_names=${encodeURIComponent('["click","gone"]')}`;
  await importRecords(context, service.project.id, [event('click', 1, { x: 1, $lib: 'web', '$feature/new': true })]);
  expect(await counts('property', path)).toEqual([
    ['$feature/new', 1],
    ['$lib', 1],
    ['x', 1],
  ]);
  expect(await counts('property', `${path}&exclude_core_properties=true`)).toEqual([['x', 1]]);
  expect(await counts('property', `${path}&is_feature_flag=false`)).toEqual([
    ['$lib', 1],
    ['x', 1],
  ]);
  expect(await counts('property', '?is_feature_flag=true')).toEqual([['$feature/new', 1]]);
  const names = async (text: string) =>
    (await service.call('GET', `/api/projects/${service.project.id}/property_definitions/?event_names=${text}`)).body;
  for (const text of ['x', '{}', '[1]'])
    expect(await names(text)).toMatchObject({
      attr: 'event_names',
      detail: 'Expected JSON of a list of names: ["$pageview"].',
    });
});

const refused = async (names: 'event' | 'property', query: string) => {
  const reply = await service.call('GET', `/api/projects/${service.project.id}/${names}_definitions/${query}`);
  expect(reply.status).toBe(400);
  return reply.body?.['attr'];
};

test('names are those that are listed, without those that are left out', async () => {
  const { body } = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, {
    body: { name: 'Listed' },
  });
  const project = Number(body?.['id']);
  await importRecords(context, project, [
    event('b', 3, { $ip: 1, a: 1, 'x"y': 1 }),
    event('$b', 1, {}),
    event('c', 2, {}),
  ]);
  const names = async (what: 'event' | 'property', query: string) => {
    const { body: listed } = await service.call('GET', `/api/projects/${project}/${what}_definitions/${query}`);
    const found = listed?.['results'] as { name: string }[];
    return found.map(({ name }) => name);
  };
  const json = (list: readonly string[]) => encodeURIComponent(JSON.stringify(list));
  expect(await names('property', '?properties=$ip,a,none')).toEqual(['$ip', 'a']);
  expect(await names('property', '?properties=')).toEqual(['$ip', 'a', 'x"y']);
  expect(await names('property', `?excluded_properties=${json(['$ip', 'x"y'])}`)).toEqual(['a']);
  expect(await names('property', `?properties=$ip,a&excluded_properties=${json(['a'])}&search=I`)).toEqual(['$ip']);
  expect(await names('event', '?event_type=event_custom')).toEqual(['b', 'c']);
  expect(await names('event', '?event_type=event_posthog')).toEqual(['$b']);
  expect(await names('event', '?event_type=event')).toEqual(['$b', 'b', 'c']);
  expect(await names('event', '?names=c,b')).toEqual(['b', 'c']);
  expect(await names('event', `?excluded_properties=${json(['b'])}`)).toEqual(['$b', 'c']);
  expect(await names('event', '?ordering=name')).toEqual(['$b', 'b', 'c']);
  expect(await names('event', '?ordering=-name')).toEqual(['c', 'b', '$b']);
  expect(await names('event', '?ordering=-name&limit=1&offset=1')).toEqual(['b']);
  expect(await names('event', '?ordering=-last_seen_at')).toEqual(['$b', 'c', 'b']);
  expect(await names('event', '?ordering=last_seen_at&limit=2')).toEqual(['b', 'c']);
});

test('what PostHog filters names by beside that is refused by its name', async () => {
  expect(await refused('property', '?is_numerical=true')).toBe('is_numerical');
  expect(await refused('property', '?excluded_properties=x')).toBe('excluded_properties');
  expect(await refused('property', '?type=session')).toBe('type');
  expect(await refused('event', '?event_type=action_event')).toBe('event_type');
  expect(await refused('event', '?ordering=created_at')).toBe('ordering');
  expect(await refused('event', '?verified=true')).toBe('verified');
  expect(await counts('property', '?is_numerical=false&verified=false&exclude_hidden=true')).not.toEqual([]);
});

test('where all events are older, names are those of the thirty days before the newest', async () => {
  const { body } = await service.call('POST', `/api/organizations/${service.organization.id}/projects/`, {
    body: { name: 'History' },
  });
  const project = Number(body?.['id']);
  await importRecords(context, project, [event('older', 401, {}), event('old', 380, {}), event('last', 370, { a: 1 })]);
  const { body: listed } = await service.call('GET', `/api/projects/${project}/event_definitions/`);
  expect(listed).toMatchObject({ count: 2, results: [{ name: 'last', volume_30_day: 1 }, { name: 'old' }] });
});
