import { systemActivityOps } from '../../../lib/accounts/activity/ops.ts';
import { deleteProject, resetToken } from '../../../lib/accounts/organizations/projects/store.ts';
import { createOrganization, findOrganization } from '../../../lib/accounts/organizations/store.ts';
import { DAY_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { projectTokens } from '../../../lib/capture/tokens.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { Refused } from '../../../lib/ports/table/table.ts';
import { captureService } from '../../support/capture.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type CallOptions, type Reply, type Service, testService } from '../../support/service.ts';

const path = ({ organization }: Service) => `/api/organizations/${organization.id}/projects/`;
const create = (service: Service, body: unknown = {}, options: CallOptions = {}) =>
  service.call('POST', path(service), { body, ...options });
const itself = (reply: Reply) => `/api/projects/${String(reply.body?.['id'])}/`;

async function world() {
  const context = testContext();
  const service = await testService(context);
  const names = async () => {
    const { body = {} } = await service.call('GET', `/api/organizations/${service.organization.id}/`);
    return (body['projects'] as { name: string }[]).map(({ name }) => name);
  };
  return { context, service, names };
}

test('a project is made with a number of its own, and its organization tells of it', async () => {
  const { context, service, names } = await world();
  context.clock.advance(1_000);
  const reply = await create(service, { name: ' Shop ' });
  expect(reply).toMatchObject({
    status: 201,
    body: {
      id: 2,
      project_id: 2,
      organization: service.organization.id,
      name: 'Shop',
      api_token: expect.stringMatching(/^phc_/),
      created_at: '2026-01-01T00:00:01Z',
      timezone: 'UTC',
      effective_membership_level: 15,
    },
  });
  expect(reply.headers.get('etag')).toBe('"1"');
  expect((await service.call('GET', itself(reply))).body).toEqual(reply.body);
  expect(await names()).toEqual(['Default project', 'Shop']);
  expect((await service.call('GET', path(service))).body).toMatchObject({
    count: 2,
    results: [{ id: 1, name: 'Default project' }, reply.body],
  });
  expect((await service.call('GET', `${path(service)}?limit=1`)).body).toMatchObject({
    count: 2,
    next: `${service.address}${path(service)}?limit=1&offset=1`,
    results: [{ id: 1 }],
  });
  expect((await create(service)).body).toMatchObject({ id: 3, name: 'Default project' });
});

/** Terraform holds what is answered against what it has planned. */
test('settings that are sent as they always are, are answered so', async () => {
  const { service } = await world();
  const settings = {
    anonymize_ips: false,
    heatmaps_opt_in: false,
    autocapture_exceptions_opt_in: false,
    session_recording_opt_in: false,
    surveys_opt_in: false,
    cookieless_server_hash_mode: 0,
    autocapture_web_vitals_opt_in: false,
    capture_performance_opt_in: true,
    app_urls: [],
    recording_domains: [],
    test_account_filters_default_checked: false,
  };
  const at = `/api/environments/${service.project.id}/`;
  expect(await service.call('PATCH', at, { body: settings })).toMatchObject({ status: 200, body: settings });
  expect(await service.call('GET', at)).toMatchObject({ status: 200, body: settings });
  const other = await service.call('PATCH', at, { body: { heatmaps_opt_in: true } });
  expect(other).toMatchObject({ status: 400, body: { attr: 'heatmaps_opt_in' } });
});

test('a project that keeps no addresses says so, and the log who wanted it', async () => {
  const { service } = await world();
  const at = `/api/projects/${service.project.id}/`;
  expect(await service.call('PATCH', at, { body: { anonymize_ips: true } })).toMatchObject({
    status: 200,
    body: { anonymize_ips: true, name: 'Default project' },
  });
  expect((await service.call('GET', at)).body).toMatchObject({ anonymize_ips: true });
  expect((await create(service, { anonymize_ips: true })).body).toMatchObject({ anonymize_ips: true });
  expect((await create(service)).body).toMatchObject({ anonymize_ips: false });
  expect(await service.call('PATCH', at, { body: { anonymize_ips: 'perhaps' } })).toMatchObject({
    status: 400,
    body: { attr: 'anonymize_ips' },
  });
  const { body: log } = await service.call('GET', path(service).replace('projects', 'activity'));
  expect(JSON.stringify(log)).toContain('anonymize_ips');
});

test('a project says that it has events once some have landed, in all objects that tell of it', async () => {
  const { service, token, landed } = await captureService();
  const told = async (): Promise<unknown[]> => {
    const at = ['projects/1/', 'organizations/@current/', 'organizations/@current/projects/', 'users/@me/'];
    const [project, organization, list, me] = await Promise.all(
      at.map(async (path) => (await service.call('GET', `/api/${path}`)).body as never),
    );
    const { teams } = organization as unknown as { teams: { ingested_event: boolean }[] };
    const { results } = list as unknown as { results: { ingested_event: boolean }[] };
    const { team } = me as unknown as { team: { ingested_event: boolean } };
    return [project as unknown as { ingested_event: boolean }, ...teams, ...results, team].map(
      (one) => one.ingested_event,
    );
  };
  await create(service);
  expect(await told()).toEqual([false, false, false, false, false, false]);
  const body = JSON.stringify({ api_key: token, event: 'paid', distinct_id: 'ada' });
  await fetch(`${service.address}/e/`, { method: 'POST', body });
  expect(await landed('event')).toEqual(['paid']);
  expect(await told()).toEqual([true, true, false, true, false, true]);
  await service.call('PATCH', '/api/projects/1/', { body: { name: 'Renamed', ingested_event: false } });
  expect(await told()).toEqual([true, true, false, true, false, true]);
});

/** PostHog's Terraform provider names the organization beside the project, and takes a 404 for a project that is gone. */
test('a project is read, renamed and deleted at the address of its organization, and of no other', async () => {
  const { context, service } = await world();
  const { body } = await create(service, { name: 'Shop' });
  const at = (organization: string, project: unknown = body?.['id']) =>
    `/api/organizations/${organization}/projects/${String(project)}/`;
  const own = at(service.organization.id);
  expect(await service.call('GET', own)).toMatchObject({ status: 200, body: { id: 2, name: 'Shop' } });
  expect(await service.call('PATCH', own, { body: { name: 'Store' } })).toMatchObject({ body: { name: 'Store' } });

  const { organization, project } = await createOrganization(context, { name: 'Other', owner: service.owner });
  const missing = { status: 404, body: { detail: 'Project not found.' } };
  for (const path of [at(organization.id), at(service.organization.id, project.id), at(service.organization.id, 'x')])
    expect(await service.call('GET', path)).toMatchObject(missing);
  const limited = await service.newKey(service.owner, { scoped_teams: [1] });
  for (const path of [own, at(organization.id, 1)])
    expect((await service.call('GET', path, { key: limited })).status).toBe(path === own ? 403 : 404);
  expect((await service.call('GET', at(service.organization.id, 1), { key: limited })).status).toBe(200);
  expect(await service.call('GET', at('@current', '@current'))).toMatchObject({ body: { id: 1 } });

  expect((await service.call('DELETE', own)).status).toBe(204);
  expect(await service.call('GET', own)).toMatchObject(missing);
});

test('a member reads and renames projects, but neither makes nor deletes them', async () => {
  const { service } = await world();
  const key = await service.newKey(await service.newUser(LEVELS.member));
  const one = `/api/projects/${service.project.id}/`;
  expect((await service.call('GET', one, { key })).body).toMatchObject({ effective_membership_level: 1 });
  expect((await service.call('PATCH', one, { key, body: { name: 'Mine' } })).status).toBe(200);
  const refused = { status: 403, body: { detail: 'Your organization access level is insufficient.' } };
  expect(await create(service, {}, { key })).toMatchObject(refused);
  expect(await service.call('DELETE', one, { key })).toMatchObject(refused);
});

test('the version that a caller has does not hide that their level has changed since', async () => {
  const { service } = await world();
  const user = await service.newUser(LEVELS.member);
  const key = await service.newKey(user);
  const one = `/api/projects/${service.project.id}/`;
  const tag = String((await service.call('GET', one, { key })).headers.get('etag'));
  const member = `/api/organizations/${service.organization.id}/members/${user.uuid}/`;
  await service.call('PATCH', member, { body: { level: LEVELS.admin } });
  const again = await service.call('GET', one, { key, headers: { 'If-None-Match': tag } });
  expect(again).toMatchObject({ status: 200, body: { effective_membership_level: 8 } });
});

test('of many made, renamed and deleted at once none is lost', async () => {
  const { service, names } = await world();
  const made = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => create(service, { name })));
  expect(new Set(made.map(({ body }) => body?.['id'])).size).toBe(6);
  expect((await names()).toSorted()).toEqual(['Default project', 'a', 'b', 'c', 'd', 'e', 'f']);
  const replies = await Promise.all([
    ...made.slice(0, 2).map((one) => service.call('DELETE', itself(one))),
    ...made
      .slice(2)
      .map((one) => service.call('PATCH', itself(one), { body: { name: `${String(one.body?.['name'])}!` } })),
  ]);
  expect(replies.map(({ status }) => status)).toEqual([204, 204, 200, 200, 200, 200]);
  expect((await names()).toSorted()).toEqual(['Default project', 'c!', 'd!', 'e!', 'f!']);
});

test('an empty change changes nothing', async () => {
  const { service, names } = await world();
  expect((await service.call('PATCH', '/api/projects/@current/', { body: {} })).body).toMatchObject({
    name: 'Default project',
  });
  expect(await names()).toEqual(['Default project']);
});

test.each([
  [{ name: '' }, 'blank'],
  [{ name: null }, 'null'],
  [{ name: 'x'.repeat(201) }, 'max_length'],
  [{ name: ['a'] }, 'invalid_input'],
])('%j is no name', async (body, code) => {
  const { service, names } = await world();
  expect(await create(service, body)).toMatchObject({ status: 400, body: { code, attr: 'name' } });
  expect(await service.call('PATCH', '/api/projects/1/', { body })).toMatchObject({ status: 400, body: { code } });
  expect(await names()).toEqual(['Default project']);
});

test('settings by which PostHog would count or keep otherwise are refused, and its defaults taken', async () => {
  const { service } = await world();
  const change = (body: object) => service.call('PATCH', `/api/projects/${service.project.id}/`, { body });
  for (const [name, value] of [
    ['modifiers', { personsOnEventsMode: 'disabled' }],
    ['test_account_filters_default_checked', true],
    ['drop_events_older_than', '30 00:00:00'],
    ['base_currency', 'EUR'],
    ['human_friendly_comparison_periods', true],
    ['person_display_name_properties', ['email']],
  ] as const) {
    expect(await change({ [name]: value })).toMatchObject({ status: 400, body: { attr: name } });
  }
  const defaults = {
    modifiers: null,
    test_account_filters_default_checked: false,
    drop_events_older_than: null,
    base_currency: 'USD',
    human_friendly_comparison_periods: false,
    person_display_name_properties: null,
  };
  expect((await change(defaults)).status).toBe(200);
});

test('a deleted project is gone at once, a job is left that purges it, and the last one may go', async () => {
  const { context, service, names } = await world();
  const { id } = service.project;
  expect(await service.call('DELETE', `/api/projects/${id}/`)).toMatchObject({ status: 204, body: undefined });
  for (const one of [`/api/projects/${id}/`, `/api/environments/${id}/`, `/api/projects/${id}/batch_exports/`]) {
    expect(await service.call('GET', one)).toMatchObject({ status: 404, body: { detail: 'Project not found.' } });
  }
  expect(await names()).toEqual([]);
  expect(await context.table.get(keys.job('purge', String(id)))).toMatchObject({
    kind: 'purge',
    due: context.clock(),
    about: '{"kind":"project"}',
  });
  expect((await service.call('DELETE', `/api/projects/${id}/`)).status).toBe(404);
  expect((await service.call('GET', '/api/projects/@current/')).status).toBe(404);
  expect((await create(service)).body).toMatchObject({ id: 2 });
  expect(await names()).toEqual(['Default project']);
});

test('a project is not deleted beside a token that it got meanwhile', async () => {
  const { context, service } = await world();
  const { organization, project } = service;
  const activityOps = systemActivityOps(context, organization.id);
  const reset = await resetToken(context, { organization, project }, false, activityOps, undefined);
  await expect(deleteProject(context, { organization, project }, activityOps, undefined)).rejects.toThrow(Refused);
  expect((await service.call('DELETE', '/api/projects/1/')).status).toBe(204);
  const tokens = projectTokens(context, { believedMs: 0 });
  for (const { api_token } of [project, reset]) expect(await tokens.projectOf(api_token)).toBeNull();
});

test('no project is made in an organization that is deleted meanwhile', async () => {
  const { context, service } = await world();
  const replies = await Promise.all([
    create(service),
    service.call('DELETE', `/api/organizations/${service.organization.id}/`),
  ]);
  expect([201, 403, 404]).toContain(replies[0]?.status);
  expect(await findOrganization(context.table, service.organization.id)).toBeUndefined();
});

test('an environment is another name of a project, whatever is asked of it', async () => {
  const { service } = await world();
  const both = async (rest: string) => [
    await service.call('GET', `/api/projects/1/${rest}`),
    await service.call('GET', `/api/environments/1/${rest}`),
  ];
  for (const rest of ['', 'batch_exports/']) {
    const [project, environment] = await both(rest);
    expect(environment).toMatchObject({ status: 200, body: project?.body });
  }
  const stranger = await service.newKey(await service.newUser());
  expect(await service.call('GET', '/api/environments/1/', { key: stranger })).toMatchObject({
    status: 403,
    body: { detail: "You don't have access to the project." },
  });
});

test('without a name of an organization the projects of the current one are listed, those that the key opens', async () => {
  const { service } = await world();
  const { body: second } = await create(service, { name: 'Second' });
  const { body: all } = await service.call('GET', path(service));
  for (const place of ['projects', 'environments']) {
    expect(await service.call('GET', `/api/${place}/`)).toMatchObject({ status: 200, body: all ?? {} });
    expect((await service.call('GET', `/api/${place}/?limit=1`)).body).toMatchObject({
      count: 2,
      next: `${service.address}/api/${place}/?limit=1&offset=1`,
      results: [{ id: 1 }],
    });
  }
  const limited = await service.newKey(service.owner, { scoped_teams: [2] });
  expect(await service.call('GET', '/api/projects/', { key: limited })).toMatchObject({
    status: 200,
    body: { count: 1, results: [second] },
  });
  // Where the organization is named, it is asked about the organization.
  expect((await service.call('GET', path(service), { key: limited })).status).toBe(403);
  const nowhere = await service.newKey(await service.newUser());
  expect(await service.call('GET', '/api/projects/', { key: nowhere })).toMatchObject({
    status: 404,
    body: { detail: 'Organization not found.' },
  });
  expect((await service.call('POST', '/api/projects/', { body: {} })).status).toBe(405);
});

test('each is three round trips, a list two', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const made = [await create(service), await create(service)];
  const trips = async (run: () => Promise<Reply>): Promise<number> => {
    table.counted();
    await run();
    return table.counted();
  };
  const [one, two] = made.map(itself) as [string, string];
  await service.call('PATCH', one, { body: {} });
  await service.call('DELETE', one);
  await service.call('GET', path(service));
  await service.call('PATCH', two, { body: {} });
  expect(await trips(() => create(service))).toBe(3);
  expect(await trips(() => service.call('GET', path(service)))).toBe(2);
  expect(await trips(() => service.call('PATCH', two, { body: { name: 'New' } }))).toBe(3);
  expect(await trips(() => service.call('DELETE', two))).toBe(3);
});

describe('a token that is reset', () => {
  async function reset(body: object = {}, method: 'POST' | 'PATCH' = 'POST') {
    const { context, service } = await world();
    const path = `/api/projects/${service.project.id}/`;
    const before = service.project.api_token;
    const { body: project } = await service.call(method, `${path}reset_token/`, { body });
    const after = String(project?.['api_token']);
    const known = (token: string) => projectTokens(context, { believedMs: 0 }).projectOf(token);
    return { context, service, path, before, after, known };
  }

  test('is another one, and the one before ends at once', async () => {
    const { service, path, before, after, known } = await reset();
    expect(after).toMatch(/^phc_/);
    expect(await known(after)).toBe(service.project.id);
    expect(await known(before)).toBeNull();
    expect((await service.call('GET', path)).body).toMatchObject({ api_token: after });
    const { body } = await service.call('GET', `/api/organizations/${service.organization.id}/`);
    expect(body).toMatchObject({ teams: [{ api_token: after }] });
  });

  test('is so by PATCH without a body too, as PostHog’s clients ask for it', async () => {
    const { before, after, known, service } = await reset(undefined, 'PATCH');
    expect(await known(after)).toBe(service.project.id);
    expect(await known(before)).toBeNull();
  });

  test('works on for a day if that is asked for', async () => {
    const { context, service, before, after, known } = await reset({ keep_old_for_a_day: true });
    context.clock.advance(DAY_MS - SECOND_MS);
    expect(await known(before)).toBe(service.project.id);
    context.clock.advance(2 * SECOND_MS);
    expect(await known(before)).toBeNull();
    expect(await known(after)).toBe(service.project.id);
  });

  test('works on for its own day beside those of later resets, as of one that was sent twice', async () => {
    const { context, service, path, before, after, known } = await reset({ keep_old_for_a_day: true });
    context.clock.advance(DAY_MS / 2);
    await service.call('POST', `${path}reset_token/`, { body: { keep_old_for_a_day: true } });
    expect([await known(before), await known(after)]).toEqual([service.project.id, service.project.id]);
    context.clock.advance(DAY_MS / 2 + SECOND_MS);
    expect([await known(before), await known(after)]).toEqual([null, service.project.id]);
    context.clock.advance(DAY_MS / 2);
    expect(await known(after)).toBeNull();
  });

  test.each([
    [
      'a reset that keeps none',
      (service: Service, path: string) => service.call('POST', `${path}reset_token/`, { body: {} }),
    ],
    ['the project', (service: Service, path: string) => service.call('DELETE', path)],
  ])('ends at once with %s, and so do those before', async (_, end) => {
    const { service, path, before, after, known } = await reset({ keep_old_for_a_day: true });
    await service.call('POST', `${path}reset_token/`, { body: { keep_old_for_a_day: true } });
    await end(service, path);
    expect([await known(before), await known(after)]).toEqual([null, null]);
  });

  test('is refused when so many before it still work, and not any more when their day is over', async () => {
    const { context, service, path, before, known } = await reset({ keep_old_for_a_day: true });
    const again = () => service.call('POST', `${path}reset_token/`, { body: { keep_old_for_a_day: true } });
    for (let left = 9; left > 0; left--) expect((await again()).status).toBe(200);
    expect(await again()).toMatchObject({
      status: 400,
      body: {
        attr: 'keep_old_for_a_day',
        detail: '10 tokens before this one still work. Wait, or let them end at once.',
      },
    });
    expect(await known(before)).toBe(service.project.id);
    context.clock.advance(DAY_MS + SECOND_MS);
    expect((await again()).status).toBe(200);
  });

  test('is for admins and owners', async () => {
    const { service } = await world();
    const key = await service.newKey(await service.newUser(LEVELS.member));
    const path = `/api/projects/${service.project.id}/reset_token/`;
    expect((await service.call('POST', path, { key, body: {} })).status).toBe(403);
  });
});
