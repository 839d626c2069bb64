import * as z from 'zod';
import { addMember, createOrganization } from '../../../lib/accounts/organizations/store.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { endpoint } from '../../../lib/api/endpoint.ts';
import type { Credentials } from '../../../lib/http/credentials.ts';
import { LEVELS } from '../../../lib/http/levels.ts';
import { type Route, route } from '../../../lib/http/route.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { proxyEvent } from '../../support/proxy-event.ts';
import { countRoundTrips } from '../../support/round-trips.ts';

const row = (path: string, scope: Route['scope'] = 'organization:read') =>
  route({
    handler: 'things/retrieve',
    method: 'GET',
    paths: [path],
    scope,
    summary: 'Retrieve a thing',
    tag: 'Things',
    params: z.object({ project_id: z.string().optional(), organization_id: z.string().optional() }),
    response: z.unknown(),
    status: 200,
  });

const itself = row('/api/organizations/{organization_id}');
const nested = row('/api/organizations/{organization_id}/things');
const inProject = row('/api/projects/{project_id}/things');
const nowhere = row('/api/things');
const ofUser = row('/api/users/@me', 'user:read');
const ofAnyKey = row('/api/me', 'any');

/** Anna owns Acme (which has one project) and is a member of Zeta; Bob owns Beta. */
async function world() {
  const context = testContext();
  const anna = await createUser(context, { email: 'anna@example.com' });
  const bob = await createUser(context, { email: 'bob@example.com' });
  const zeta = await createOrganization(context, { name: 'Zeta', owner: bob });
  context.clock.advance(1000);
  const acme = await createOrganization(context, { name: 'Acme', owner: anna });
  context.clock.advance(1000);
  await addMember(context, { organization: zeta.organization, user: anna, level: LEVELS.member });
  const beta = await createOrganization(context, { name: 'Beta', owner: bob });
  const call = async (
    to: typeof itself,
    params: Record<string, string> = {},
    credentials: Partial<Credentials> = {},
  ) => {
    const handler = endpoint(to, ({ params, caller }) => ({ params, user: caller.user.email }))(context);
    const { statusCode, body } = await handler(
      proxyEvent(to, { params, credentials: { userId: anna.uuid, ...credentials } }),
    );
    const answer = JSON.parse(body);
    return statusCode === 200 ? answer : `${statusCode} ${answer.code}: ${answer.detail}`;
  };
  const hide = (key: { pk: string; sk: string }) => context.table.write([{ change: key, set: { deleted_at: 1 } }]);
  return { context, anna, bob, acme, zeta, beta, call, hide };
}

const FORBIDDEN = '403 permission_denied: You do not have permission to perform this action.';
const UNKNOWN = '019a0000-0000-7000-8000-00000000ffff';

describe('an organization in the path', () => {
  test('is there for its members, whatever the case of its id', async () => {
    const { call, acme, zeta } = await world();
    expect(await call(itself, { organization_id: acme.organization.id })).toMatchObject({ user: 'anna@example.com' });
    expect(await call(nested, { organization_id: zeta.organization.id.toUpperCase() })).toMatchObject({
      user: 'anna@example.com',
    });
  });

  test('is not found by strangers, and neither is one that never was or was deleted', async () => {
    const { call, acme, beta, hide } = await world();
    expect(await call(itself, { organization_id: beta.organization.id })).toBe('404 not_found: Not found.');
    expect(await call(itself, { organization_id: UNKNOWN })).toBe('404 not_found: Not found.');
    expect(await call(itself, { organization_id: 'acme' })).toBe('404 not_found: Not found.');
    await hide(keys.organization(acme.organization.id));
    expect(await call(itself, { organization_id: acme.organization.id })).toBe('404 not_found: Not found.');
  });

  test('is closed below to strangers, and so is one that never was or was deleted', async () => {
    const { call, acme, beta, hide } = await world();
    expect(await call(nested, { organization_id: beta.organization.id })).toBe(FORBIDDEN);
    expect(await call(nested, { organization_id: UNKNOWN })).toBe(FORBIDDEN);
    expect(await call(nested, { organization_id: 'acme' })).toBe('404 not_found: Organization not found.');
    expect(await call(nested, { organization_id: '__proto__' })).toBe('404 not_found: Organization not found.');
    await hide(keys.organization(acme.organization.id));
    expect(await call(nested, { organization_id: acme.organization.id })).toBe(FORBIDDEN);
  });

  test('@current is the one that the caller joined first and that is still there', async () => {
    const { call, acme, zeta, hide } = await world();
    expect(await call(nested, { organization_id: '@current' })).toMatchObject({
      params: { organization_id: acme.organization.id },
    });
    await hide(keys.organization(acme.organization.id));
    expect(await call(itself, { organization_id: '@current' })).toMatchObject({
      params: { organization_id: zeta.organization.id },
    });
    await hide(keys.organization(zeta.organization.id));
    expect(await call(itself, { organization_id: '@current' })).toBe('404 not_found: Current organization not found.');
    expect(await call(nested, { organization_id: '@current' })).toBe('404 not_found: Organization not found.');
  });

  test('is lost to a member at the moment of their removal', async () => {
    const { context, call, anna, acme } = await world();
    await context.table.write([{ remove: keys.membership(anna.uuid, acme.organization.id) }]);
    expect(await call(nested, { organization_id: acme.organization.id })).toBe(FORBIDDEN);
  });
});

describe('a project in the path', () => {
  test('is there for the members of its organization', async () => {
    const { call, acme } = await world();
    expect(await call(inProject, { project_id: String(acme.project.id) })).toMatchObject({ user: 'anna@example.com' });
  });

  test.each(['0', '999', '-1', '1.5', 'x', '1e3', ' 1', '99999999999999999999', '__proto__'])(
    '%s is not found',
    async (id) => {
      const { call } = await world();
      expect(await call(inProject, { project_id: id })).toBe('404 not_found: Project not found.');
    },
  );

  test('of somebody else is refused', async () => {
    const { call, beta } = await world();
    const refusal = "403 permission_denied: You don't have access to the project.";
    expect(await call(inProject, { project_id: String(beta.project.id) })).toBe(refusal);
  });

  test('is not found once it, or its organization, was deleted, even when it was read before', async () => {
    const { context, anna, acme, zeta, hide } = await world();
    const handler = endpoint(inProject, () => ({}))(context);
    const status = async (id: number) =>
      (await handler(proxyEvent(inProject, { params: { project_id: String(id) }, credentials: { userId: anna.uuid } })))
        .statusCode;
    expect([await status(acme.project.id), await status(zeta.project.id)]).toEqual([200, 200]);
    await hide(keys.project(acme.project.id));
    await hide(keys.organization(zeta.organization.id));
    expect([await status(acme.project.id), await status(zeta.project.id)]).toEqual([404, 404]);
  });

  test('@current is the first of the current organization', async () => {
    const { call, acme } = await world();
    expect(await call(inProject, { project_id: '@current' })).toMatchObject({
      params: { project_id: String(acme.project.id) },
    });
  });

  test('@current of a user without organizations is not found', async () => {
    const { context, call } = await world();
    const carl = await createUser(context, { email: 'carl@example.com' });
    expect(await call(inProject, { project_id: '@current' }, { userId: carl.uuid })).toBe(
      '404 not_found: Project not found.',
    );
  });
});

describe('a key that is limited to projects', () => {
  test('reaches those, and says which one it does not', async () => {
    const { call, acme, zeta } = await world();
    const limited = { scopedTeams: [zeta.project.id] };
    expect(await call(inProject, { project_id: String(zeta.project.id) }, limited)).toMatchObject({});
    expect(await call(inProject, { project_id: String(acme.project.id) }, limited)).toBe(
      `403 permission_denied: API key does not have access to the requested project: ID ${acme.project.id}.`,
    );
  });

  test('reaches nothing but projects, and its own user', async () => {
    const { call, acme } = await world();
    const limited = { scopedTeams: [acme.project.id] };
    const refusal =
      '403 permission_denied: API keys with scoped projects are only supported on project-based endpoints.';
    expect(await call(itself, { organization_id: acme.organization.id }, limited)).toBe(refusal);
    expect(await call(nested, { organization_id: acme.organization.id }, limited)).toBe(refusal);
    expect(await call(nowhere, {}, limited)).toBe(refusal);
    expect(await call(ofUser, {}, limited)).toMatchObject({ user: 'anna@example.com' });
    expect(await call(ofAnyKey, {}, limited)).toMatchObject({ user: 'anna@example.com' });
  });
});

describe('a key that is limited to organizations', () => {
  test('reaches those and their projects, and says which one it does not', async () => {
    const { call, acme, zeta } = await world();
    const limited = { scopedOrganizations: [zeta.organization.id] };
    expect(await call(itself, { organization_id: zeta.organization.id }, limited)).toMatchObject({});
    expect(await call(inProject, { project_id: String(zeta.project.id) }, limited)).toMatchObject({});
    expect(await call(nowhere, {}, limited)).toMatchObject({});
    const refusal = `403 permission_denied: API key does not have access to the requested organization: ID ${acme.organization.id}.`;
    expect(await call(itself, { organization_id: acme.organization.id }, limited)).toBe(refusal);
    expect(await call(nested, { organization_id: acme.organization.id }, limited)).toBe(refusal);
    expect(await call(inProject, { project_id: String(acme.project.id) }, limited)).toBe(refusal);
  });
});

describe('round trips', () => {
  test.each([
    [
      'an organization',
      nested,
      (w: Awaited<ReturnType<typeof world>>) => ({ organization_id: w.acme.organization.id }),
      [1, 1],
    ],
    ['no place', nowhere, () => ({}), [1, 1]],
    [
      'a project: its organization is remembered',
      inProject,
      (w: Awaited<ReturnType<typeof world>>) => ({ project_id: String(w.acme.project.id) }),
      [2, 1],
    ],
    ['@current', nested, () => ({ organization_id: '@current' }), [3, 3]],
  ])('%s', async (_, to, params, trips) => {
    const made = await world();
    const table = countRoundTrips(made.context.table);
    const handler = endpoint(to, () => ({}))({ ...made.context, table });
    const counted: number[] = [];
    for (let time = 0; time < 2; time++) {
      await handler(proxyEvent(to, { params: params(made), credentials: { userId: made.anna.uuid } }));
      counted.push(table.counted());
    }
    expect(counted).toEqual(trips);
  });
});
