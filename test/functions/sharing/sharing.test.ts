import { DAY_MS } from '../../../lib/basics/units.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { dashboards, denied, told } from '../../support/dashboards.ts';
import { seeded } from '../../support/random.ts';
import { unreliable } from '../../support/unreliable-table.ts';

const GONE = {
  status: 404,
  body: { type: 'invalid_request', code: 'not_found', detail: 'Dashboard not found.', attr: null },
};
const NO_EDIT = denied("You don't have edit permissions for this dashboard.");

/** A dashboard and its sharing, over HTTP. */
async function world(world?: Awaited<ReturnType<typeof dashboards>>) {
  const made = world ?? (await dashboards());
  const { id } = await made.dashboard();
  const sharing = (method: string, body?: unknown, options = {}) =>
    made.call(method, `/dashboards/${id}/sharing/`, body, options);
  const refresh = (options = {}) => made.call('POST', `/dashboards/${id}/sharing/refresh/`, undefined, options);
  const opens = async (token: unknown) =>
    (await made.service.call('GET', `/shared/${String(token)}.json`, { key: null })).status === 200;
  return { ...made, id, sharing, refresh, opens };
}

test('it is one object, there from the beginning and the same at each look', async () => {
  const { context, sharing, opens, table } = await world();
  context.clock.advance(60_000);
  const first = await sharing('GET');
  expect(told(first)).toEqual({
    status: 200,
    body: {
      created_at: '2026-01-01T00:00:00Z',
      enabled: false,
      access_token: expect.stringMatching(/^[\w-]{30}$/),
      password_required: false,
      expires_at: null,
      allow_date_range: false,
      filter_choices: [],
    },
  });
  table.counted();
  expect(told(await sharing('GET'))).toEqual(told(first));
  expect(table.counted()).toBe(1);
  expect(await opens(first.body?.['access_token'])).toBe(false);
});

test('enabling opens the token that was there, and the dashboard says that it is shared', async () => {
  const { id, sharing, opens, found, call, table } = await world();
  const before = (await sharing('GET')).body;
  await sharing('PATCH', {});
  table.counted();
  const reply = await sharing('PATCH', { enabled: true, access_token: 'mine', created_at: null });
  expect(table.counted()).toBe(2);
  expect(told(reply)).toEqual({ status: 200, body: { ...before, enabled: true } });
  expect(await opens(before?.['access_token'])).toBe(true);
  expect((await found(id))['is_shared']).toBe(true);
  expect((await call('GET', '/dashboards/')).body).toMatchObject({ results: [{ id, is_shared: true }] });
});

test('what says nothing new changes nothing', async () => {
  const { sharing } = await world();
  const first = await sharing('PATCH', { enabled: true });
  for (const body of [{}, { enabled: true }, { enabled: 'yes' }, { other: 1 }]) {
    const again = await sharing('PATCH', body);
    expect(told(again)).toEqual(told(first));
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
  }
});

test('a link that was turned off stays dead: enabling again makes a new one', async () => {
  const { id, sharing, opens, found } = await world();
  const first = (await sharing('PATCH', { enabled: true })).body?.['access_token'];
  expect((await sharing('PATCH', { enabled: false })).body).toMatchObject({ enabled: false, access_token: first });
  expect((await found(id))['is_shared']).toBe(false);
  expect(await opens(first)).toBe(false);
  const second = (await sharing('PATCH', { enabled: true })).body?.['access_token'];
  expect(second).not.toBe(first);
  expect([await opens(first), await opens(second)]).toEqual([false, true]);
});

test('a refresh makes a new link, whose predecessor is dead at once, and opens nothing that was closed', async () => {
  const { sharing, refresh, opens, table } = await world();
  const closed = (await sharing('GET')).body?.['access_token'];
  const fresh = await refresh();
  expect(fresh).toMatchObject({ status: 200, body: { enabled: false } });
  const token = fresh.body?.['access_token'];
  expect(token).not.toBe(closed);
  expect((await sharing('PATCH', { enabled: true })).body).toMatchObject({ access_token: token });
  table.counted();
  const next = (await refresh()).body;
  expect(table.counted()).toBe(2);
  expect(next).toMatchObject({ enabled: true });
  expect([await opens(closed), await opens(token), await opens(next?.['access_token'])]).toEqual([false, false, true]);
  // Nothing is left of a link that is dead.
  const dead = [closed, token].map((one) => keys.sharingToken(String(one)));
  expect(await table.many(dead)).toEqual([undefined, undefined]);
});

test.each([
  [{ enabled: null }, 'null', 'This field may not be null.'],
  [{ enabled: 'maybe' }, 'invalid_input', 'Must be a valid boolean.'],
])('%j is refused', async (body, code, detail) => {
  const { sharing } = await world();
  expect(told(await sharing('PATCH', body))).toEqual({
    status: 400,
    body: { type: 'validation_error', code, detail, attr: 'enabled' },
  });
});

test('every member may look, whoever may edit may share', async () => {
  const { id, sharing, refresh, changed, service, call } = await world();
  const member = await service.newUser(LEVELS.member);
  const key = await service.newKey(member);
  expect((await sharing('PATCH', { enabled: true }, { key })).status).toBe(200);
  await changed(id, { restriction_level: 37 });
  expect((await sharing('GET', undefined, { key })).status).toBe(200);
  expect(told(await sharing('PATCH', '{', { key }))).toEqual(NO_EDIT);
  expect(told(await refresh({ key }))).toEqual(NO_EDIT);
  await call('POST', `/dashboards/${id}/collaborators/`, { level: 37, user_uuid: member.uuid });
  expect((await refresh({ key })).status).toBe(200);
  await call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'viewer' });
  expect(told(await refresh({ key }))).toEqual(denied('You do not have editor access to this resource.'));
  await call('PUT', `/dashboards/${id}/access_controls/`, { access_level: 'none' });
  expect(told(await sharing('GET', undefined, { key }))).toEqual(
    denied('You do not have viewer access to this resource.'),
  );
});

test('a dashboard that is deleted, or of another project, has none', async () => {
  const { id, sharing, refresh, changed, call } = await world();
  await changed(id, { deleted: true });
  for (const reply of [await sharing('GET'), await sharing('PATCH', { enabled: true }), await refresh()]) {
    expect(told(reply)).toEqual(GONE);
  }
  expect(told(await call('GET', '/dashboards/999999/sharing/'))).toEqual(GONE);
});

test('changes at once all happen, one after the other, and one link is open in the end', async () => {
  const { id, sharing, refresh, opens, found, context } = await world();
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, at) => (at % 3 === 0 ? refresh() : sharing('PATCH', { enabled: at % 3 === 1 }))),
  );
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  await sharing('PATCH', { enabled: true });
  const last = (await sharing('GET')).body;
  const tokens = new Set(replies.map(({ body }) => String(body?.['access_token'])));
  const open = [];
  for (const token of tokens) if (await opens(token)) open.push(token);
  expect(open.filter((token) => token !== last?.['access_token'])).toEqual([]);
  expect(await opens(last?.['access_token'])).toBe(true);
  expect((await found(id))['is_shared']).toBe(true);
  expect(context.lines.filter(({ level }) => level === 'ERROR')).toEqual([]);
});

test('the activity log shows what was set as answers do, and of a password only that it was', async () => {
  const { sharing, service, context } = await world();
  const path = `/api/organizations/${service.organization.id}/activity/?scope=Dashboard`;
  const latest = async () => {
    const { body } = await service.call('GET', path);
    const { results } = body as { results: { detail: { changes: unknown[] } }[] };
    return results[0];
  };
  context.clock.advance(1_000);
  const filter_choices = [{ name: 'On phones' }];
  await sharing('PATCH', { expires_at: '2026-02-01T00:00:00Z', filter_choices, password: 'swordfish 1' });
  expect(await latest()).toMatchObject({
    detail: {
      changes: [
        { action: 'changed', field: 'expires_at', before: null, after: '2026-02-01T00:00:00Z' },
        { action: 'changed', field: 'filter_choices', before: [], after: filter_choices },
        { action: 'changed', field: 'password', before: null, after: null },
      ],
    },
  });
});

test('a page is not opened for a time that is over', async () => {
  const { sharing, context } = await world();
  const refusal = { status: 400, body: { attr: 'expires_at', detail: 'The expiry must be in the future.' } };
  expect(await sharing('PATCH', { enabled: true, expires_at: '2020-01-01T00:00:00Z' })).toMatchObject(refusal);
  const expiry = { expires_at: '2026-01-02T00:00:00Z' };
  await sharing('PATCH', { enabled: true, ...expiry });
  context.clock.advance(DAY_MS);
  // What was read can be sent, and the page closed; but not opened again with it.
  expect(await sharing('PATCH', { enabled: true, ...expiry })).toMatchObject({ status: 200 });
  expect(await sharing('PATCH', { enabled: false, ...expiry })).toMatchObject({ status: 200 });
  expect(await sharing('PATCH', { enabled: true })).toMatchObject(refusal);
  expect(await sharing('PATCH', { enabled: true, expires_at: null })).toMatchObject({ status: 200 });
});

test('writes that fail, and answers that are lost, leave sharing and dashboard in agreement', async () => {
  const { table, clock } = testContext();
  const random = seeded(7);
  let hasBegun = false;
  const shaky = unreliable(table, { random: () => (hasBegun ? random() : 1), clock, busy: 0.25, lost: 0.25 });
  const { id, sharing, found } = await world(await dashboards(shaky));
  hasBegun = true;
  const statuses = new Set<number>();
  for (let n = 0; n < 30; n++) {
    statuses.add((await sharing('PATCH', { enabled: n % 2 === 0 })).status);
    expect((await found(id))['is_shared']).toBe((await sharing('GET')).body?.['enabled']);
  }
  expect([...statuses].toSorted((a, b) => a - b)).toEqual([200, 429]);
});
