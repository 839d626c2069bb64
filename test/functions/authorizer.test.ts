import type { APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import * as fc from 'fast-check';
import { handler } from '../../functions/authorizer.ts';
import { createOrganization } from '../../lib/accounts/organizations/store.ts';
import { findKey, sha256 } from '../../lib/accounts/personal-api-keys/lookup.ts';
import { createKey, type NewKey, revokeKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { createUser } from '../../lib/accounts/users/store.ts';
import { scopeFor } from '../../lib/api/methods.ts';
import { routes } from '../../lib/api/routes.ts';
import { HOUR_MS } from '../../lib/basics/units.ts';
import { fromContext } from '../../lib/http/credentials.ts';
import type { Context } from '../../lib/ports/context.ts';
import { anyText } from '../support/any-text.ts';
import { testContext } from '../support/context.ts';
import { countRoundTrips } from '../support/round-trips.ts';
import { tableWith } from '../support/table-override.ts';

const ARN = 'arn:aws:execute-api:eu-central-1:123456789012:abcdef/prod';

/** Asks as API Gateway would. */
function ask(
  context: Pick<Context, 'table' | 'clock' | 'log' | 'metrics'>,
  authorization: string | undefined,
  {
    method = 'GET',
    template = '/api/organizations',
    headers = {},
  }: { method?: string; template?: string; headers?: Record<string, string> } = {},
) {
  return handler(
    context,
    scopeFor,
  )({
    type: 'REQUEST',
    methodArn: `${ARN}/${method}${template}/`,
    resource: template,
    path: `${template}/`,
    httpMethod: method,
    headers: {
      Host: 'localhost',
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...headers,
    },
  } as unknown as APIGatewayRequestAuthorizerEvent);
}

async function world(key: Partial<NewKey> = {}) {
  const context = testContext();
  const user = await createUser(context, { email: 'ada@example.com' });
  const { organization, project } = await createOrganization(context, { name: 'Acme', owner: user });
  const { item, value } = await createKey(context, { user, label: 'CI', scopes: ['organization:read'], ...key });
  return { context, user, organization, project, item, value };
}

const allowed = { policyDocument: { Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow' }] } };
const denied = { policyDocument: { Statement: [{ Action: 'execute-api:Invoke', Effect: 'Deny' }] } };

test('a good key is let through with all that is known of it, as text', async () => {
  const { context, user, organization, project, item, value } = await world();
  const limits = { scoped_teams: [project.id], scoped_organizations: [organization.id] };
  const limited = await createKey(context, {
    user,
    label: 'Limited',
    scopes: ['organization:write', 'query:read'],
    ...limits,
  });
  const plain = await ask(context, `Bearer ${value}`);
  expect(plain).toMatchObject({ principalId: user.uuid, ...allowed });
  expect(fromContext(plain.context as never)).toEqual({
    userId: user.uuid,
    keyId: item.id,
    keyHash: sha256(value),
    keyMask: item.mask,
    expiresAt: null,
    scopes: ['organization:read'],
    scopedTeams: [],
    scopedOrganizations: [],
  });
  const { context: about } = await ask(context, `Bearer ${limited.value}`);
  expect(fromContext(about as never)).toMatchObject({
    scopes: ['organization:write', 'query:read'],
    scopedTeams: [project.id],
    scopedOrganizations: [organization.id],
  });
  for (const text of Object.values(about ?? {})) expect(typeof text).toBe('string');
});

test('the answer holds for every path of the method, so that it can be kept by the route template', async () => {
  const { context, value } = await world();
  const { policyDocument } = await ask(context, `Bearer ${value}`, {
    template: '/api/organizations/{organization_id}',
  });
  expect(policyDocument.Statement).toEqual([
    { Action: 'execute-api:Invoke', Effect: 'Allow', Resource: `${ARN}/GET/*` },
  ]);
});

describe('the header', () => {
  test.each([
    ['as it should be', (key: string) => `Bearer ${key}`],
    ['with more blanks', (key: string) => `Bearer   ${key}  `],
    ['with a tab', (key: string) => `Bearer\t${key}`],
  ])('%s is taken', async (_, header) => {
    const { context, value } = await world();
    expect(await ask(context, header(value))).toMatchObject(allowed);
  });

  test('is found under any case of its name', async () => {
    const { context, value } = await world();
    for (const name of ['authorization', 'AUTHORIZATION', 'aUTHORIZATION']) {
      expect(await ask(context, undefined, { headers: { [name]: `Bearer ${value}` } })).toMatchObject(allowed);
    }
  });

  test.each([
    ['missing', () => undefined],
    ['empty', () => ''],
    ['without the word', (key: string) => key],
    ['in lower case', (key: string) => `bearer ${key}`],
    ['of another kind', (key: string) => `Basic ${key}`],
    ['without a blank', (key: string) => `Bearer${key}`],
    ['without a key', () => 'Bearer '],
    ['with one character', () => 'Bearer x'],
    ['with an unknown key', () => `Bearer phx_${'a'.repeat(47)}`],
    ['with a key cut short', (key: string) => `Bearer ${key.slice(0, -1)}`],
    ['with a key in another case', (key: string) => `Bearer ${key.toUpperCase()}`],
    ['with something behind the key', (key: string) => `Bearer ${key} ${key}`],
    ['of prototype names', () => 'Bearer __proto__'],
    ['with a blank that is none, before the key', (key: string) => `Bearer\u00a0${key}`],
    ['with a blank that is none, among blanks', (key: string) => `Bearer \u2003${key}`],
    ['with a blank that is none, behind the key', (key: string) => `Bearer ${key}\u00a0`],
  ])('%s is refused with the one word of API Gateway', async (_, header) => {
    const { context, value } = await world();
    await expect(ask(context, header(value))).rejects.toThrow(/^Unauthorized$/);
  });

  test('may hold anything', async () => {
    const { context } = await world();
    await fc.assert(
      fc.asyncProperty(anyText(), async (text) => {
        await expect(ask(context, `Bearer ${text}`)).rejects.toThrow(/^Unauthorized$/);
      }),
    );
  });
});

test('a key that has expired or was revoked is no key', async () => {
  const { context, item, value } = await world({ expires_at: Date.UTC(2026, 0, 1) + 1_000 });
  context.clock.advance(999);
  expect(await ask(context, `Bearer ${value}`)).toMatchObject(allowed);
  context.clock.advance(1);
  await expect(ask(context, `Bearer ${value}`)).rejects.toThrow(/^Unauthorized$/);
  context.clock.advance(-1);
  await revokeKey(context, item, { ifMatch: undefined });
  await expect(ask(context, `Bearer ${value}`)).rejects.toThrow(/^Unauthorized$/);
});

describe('scopes', () => {
  test.each([
    ['organization:read', 'GET', true],
    ['organization:write', 'GET', true],
    ['*', 'POST', true],
    ['organization:read', 'HEAD', true],
    ['organization:read', 'POST', false],
    ['batch_export:write', 'GET', false],
    ['organization_member:write', 'GET', false],
  ])('%s and %s /api/organizations: %s', async (scope, method, isAllowed) => {
    const { context, value } = await world({ scopes: [scope] });
    expect(await ask(context, `Bearer ${value}`, { method })).toMatchObject(isAllowed ? allowed : denied);
  });

  test('a key without scopes may do nothing', async () => {
    const { context, value } = await world({ scopes: [] });
    const refusals = new Set<unknown>();
    for (const { method, paths, scope } of routes) {
      if (scope === 'public' || scope === 'any') continue;
      const answer = await ask(context, `Bearer ${value}`, { method, template: paths[0] });
      expect(answer).toMatchObject(denied);
      refusals.add(answer.context?.['detail']);
      expect(answer.context).toEqual({ detail: `API key missing required scope '${scope}'` });
    }
    expect(refusals).toContain("API key missing required scope 'organization:write'");
  });

  test('a refusal can stand in JSON text without escaping', async () => {
    const { context, value } = await world({ scopes: [] });
    for (const { method, paths, scope } of routes) {
      if (scope === 'public' || scope === 'any') continue;
      const { context: about } = await ask(context, `Bearer ${value}`, { method, template: paths[0] });
      const detail = String(about?.['detail']);
      expect(JSON.parse(`{"detail":"${detail}"}`)).toEqual({ detail });
    }
  });

  test('a method that the path does not have is open to any key: it will be answered 405', async () => {
    const { context, value } = await world({ scopes: [] });
    expect(await ask(context, `Bearer ${value}`, { method: 'PUT' })).toMatchObject(allowed);
  });
});

describe('the table', () => {
  test('is asked once; once an hour the use of the key is noted', async () => {
    const { context, item, value } = await world();
    const table = countRoundTrips(context.table);
    const trips = [];
    const uses = [];
    for (const minutes of [0, 30, 29, 1, 1]) {
      context.clock.advance(minutes * 60_000);
      await ask({ ...context, table }, `Bearer ${value}`);
      trips.push(table.counted());
      uses.push(((await findKey(context.table, sha256(value)))?.last_used_at ?? 0) - item.created_at);
    }
    expect(trips).toEqual([2, 1, 1, 2, 1]);
    expect(uses).toEqual([0, 0, 0, HOUR_MS, HOUR_MS]);
  });

  test('is asked as often for a key that is there as for one that is not', async () => {
    const { context, value } = await world({ scopes: [] });
    await ask(context, `Bearer ${value}`);
    const table = countRoundTrips(context.table);
    const trips = [];
    for (const key of [value, 'phx_unknown', 'x'.repeat(5_000)]) {
      await ask({ ...context, table }, `Bearer ${key}`).catch(() => {});
      trips.push(table.counted());
    }
    expect(trips).toEqual([1, 1, 1]);
  });

  test('may refuse to note the use: the key is good all the same', async () => {
    const { context, value } = await world();
    const table = tableWith(context.table, { write: () => Promise.reject(new Error('read only')) });
    expect(await ask({ ...context, table }, `Bearer ${value}`)).toMatchObject(allowed);
    expect(context.lines).toContainEqual(expect.objectContaining({ level: 'WARNING' }));
  });
});

test('a key that is refused is counted, and nothing of it is told', async () => {
  const { context, value } = await world();
  await expect(ask(context, 'Bearer phx_of_somebody_else')).rejects.toThrow('Unauthorized');
  await ask(context, `Bearer ${value}`);
  const measured = context.lines.filter(({ message }) => message === 'measured');
  expect(measured.map(({ fields }) => fields)).toEqual([{ KeysRefused: 1 }]);
});
