import { addMember, createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { testContext } from '../../support/context.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

const ME = '/api/users/@me/';

test('the caller learns who they are, where they are a member, and what @current stands for', async () => {
  const context = testContext();
  const service = await testService(context);
  const ada = await service.newUser();
  context.clock.advance(1_000);
  const later = await createOrganization(context, { name: 'Later', owner: ada });
  context.clock.advance(1_000);
  await addMember(context, { organization: service.organization, user: ada, level: LEVELS.member });
  const key = await service.newKey(ada, { scopes: ['user:read', 'organization:read', 'project:read'] });
  const { status, body } = await service.call('GET', ME, { key });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: ada.id,
    uuid: ada.uuid,
    distinct_id: ada.distinct_id,
    email: ada.email,
    first_name: '',
    last_name: '',
    is_email_verified: false,
    hedgehog_config: {},
    role_at_organization: '',
    date_joined: '2026-01-01T00:00:00Z',
    organizations: [
      { id: service.organization.id, name: 'Acme', slug: 'acme', logo_media_id: null, membership_level: 1 },
      { id: later.organization.id, name: 'Later', slug: 'later', logo_media_id: null, membership_level: 15 },
    ],
    project: { id: later.project.id, organization_id: later.organization.id, name: 'Default project' },
  });
  const current = await service.call('GET', '/api/organizations/@current/', { key });
  expect(body?.['organization']).toEqual(current.body);
  expect([body?.['team']]).toEqual(current.body?.['teams']);
  const project = await service.call('GET', '/api/projects/@current/', { key });
  expect(project.body).toMatchObject({ id: later.project.id });
});

describe('a key that is limited', () => {
  async function world() {
    const context = testContext();
    const service = await testService(context);
    const { owner, organization } = service;
    context.clock.advance(1_000);
    const other = await createOrganization(context, { name: 'Other', owner });
    const path = `/api/organizations/${other.organization.id}/projects/`;
    const { body: second } = await service.call('POST', path, { body: { name: 'Second' } });
    const asked = async (limits: object) => {
      const key = await service.newKey(owner, {
        scopes: ['user:read', 'project:read', 'organization:read'],
        ...limits,
      });
      return { key, text: (await service.call('GET', ME, { key })).text };
    };
    return { service, organization, other, second, asked };
  }
  const idsIn = ({ organizations }: { organizations: { id: string }[] }) => organizations.map(({ id }) => id);

  test('to organizations is told of these only, and one of them is current', async () => {
    const { service, organization, other, asked } = await world();
    const { key, text } = await asked({ scoped_organizations: [other.organization.id] });
    const me = JSON.parse(text);
    expect(me).toMatchObject({ uuid: service.owner.uuid, organization: { id: other.organization.id } });
    expect(idsIn(me)).toEqual([other.organization.id]);
    expect(text).not.toContain(organization.id);
    expect(text).not.toContain(service.project.api_token);
    const current = await service.call('GET', '/api/organizations/@current/', { key });
    expect(current.body).toEqual(me.organization);
  });

  test('to projects is told of these and their organizations only, and one of them is current', async () => {
    const { service, organization, other, second, asked } = await world();
    const id = Number(second?.['id']);
    const { key, text } = await asked({ scoped_teams: [id] });
    const me = JSON.parse(text);
    expect(me).toMatchObject({ team: { id }, project: { id }, organization: { teams: [{ id }], projects: [{ id }] } });
    expect(idsIn(me)).toEqual([other.organization.id]);
    for (const hidden of [organization.id, service.project.api_token, other.project.api_token]) {
      expect(text).not.toContain(hidden);
    }
    expect((await service.call('GET', '/api/projects/@current/', { key })).body).toMatchObject({ id });
  });
});

test('who is nowhere has nothing that is current', async () => {
  const service = await testService(testContext());
  const key = await service.newKey(await service.newUser());
  expect((await service.call('GET', ME, { key })).body).toMatchObject({
    organization: null,
    organizations: [],
    team: null,
    project: null,
  });
});

test('nobody is found by their uuid', async () => {
  const service = await testService(testContext());
  expect(await service.call('GET', `/api/users/${service.owner.uuid}/`)).toMatchObject({ status: 404 });
});

test('it is two round trips: the caller, and their organizations', async () => {
  const context = testContext();
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  await service.call('GET', ME);
  table.counted();
  await service.call('GET', ME);
  expect(table.counted()).toBe(2);
});
