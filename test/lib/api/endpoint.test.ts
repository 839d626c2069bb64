import { gunzipSync } from 'node:zlib';
import * as z from 'zod';
import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import type { Tenant } from '../../../lib/accounts/organizations/tenant.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { endpoint, type Operation, type Run } from '../../../lib/api/endpoint.ts';
import { Answer, ContentAnswer, EmptyAnswer } from '../../../lib/http/answer.ts';
import { boolean, freeObject, integer, text } from '../../../lib/http/fields.ts';
import { BODY_HEADERS } from '../../../lib/http/header.ts';
import { type Route, route } from '../../../lib/http/route.ts';
import { Damaged, fail, Transient } from '../../../lib/ports/errors.ts';
import { CLOUD_SETTINGS } from '../../../lib/ports/settings.ts';
import { BadCursor, Busy, Refused, TooLarge } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { proxyEvent, type Sent } from '../../support/proxy-event.ts';
import { countRoundTrips } from '../../support/round-trips.ts';

const Widget = z.object({
  id: z.string(),
  size: z.int().nullable(),
  about: z.record(z.string(), z.unknown()).optional(),
});
const widgets = '/api/organizations/{organization_id}/widgets';

const createWidget = route({
  handler: 'widgets/create',
  method: 'POST',
  paths: [widgets],
  scope: 'organization:write',
  summary: 'Create a widget',
  tag: 'Widgets',
  params: z.object({ organization_id: z.string() }),
  body: z.object({
    name: text({ max: 10 }),
    size: integer({ min: 0 }).nullable().optional(),
    shiny: boolean().optional(),
    tags: z.array(text()).optional(),
    about: freeObject().optional(),
  }),
  response: Widget,
  status: 201,
});

const retrieveWidget = route({
  handler: 'widgets/retrieve',
  method: 'GET',
  paths: [`${widgets}/{id}`],
  scope: 'organization:read',
  summary: 'Retrieve a widget',
  tag: 'Widgets',
  params: z.object({ organization_id: z.string(), id: z.uuid() }),
  query: z.object({ level: z.array(z.enum(['low', 'high'])).optional(), deep: boolean().optional() }),
  response: Widget,
  status: 200,
});

const ID = '019a0000-0000-7000-8000-000000000001';

/** What every answer to `request-1` says of it. */
const IDS = {
  'X-Request-Id': 'request-1',
  traceparent: '00-19f1064b619d49d35392eac7261cd726-6c720671fc594f4b-00',
};

async function world() {
  const context = testContext();
  const user = await createUser(context, { email: 'a@example.com' });
  const { organization } = await createOrganization(context, { name: 'Acme', owner: user });
  const call = async <R extends Route, Read = undefined, Found = Read>(
    row: R,
    operation: Operation<R, Read, Found> | Run<R, Found>,
    sent: Sent = {},
  ) => {
    const event = proxyEvent(row, {
      credentials: { userId: user.uuid },
      ...sent,
      params: { organization_id: organization.id, ...sent.params },
    });
    const { statusCode, headers = {}, body } = await endpoint<R, Read, Found>(row, operation)(context)(event);
    const isJson = body !== '' && headers['Content-Type'] === 'application/json';
    return { status: statusCode, headers, text: body, body: isJson ? JSON.parse(body) : undefined };
  };
  return { context, user, organization, call };
}

const version17 = () => new Answer({ id: ID, size: 1 }, { version: 17, headers: { Location: '/x' } });

const error = (type: string, code: string, detail: string, attr: string | null = null) => ({
  type,
  code,
  detail,
  attr,
});

describe('a request', () => {
  test('reaches the operation with what was checked, and its answer has the status of the row', async () => {
    const { call, user, organization } = await world();
    const { status, headers, body } = await call(
      createWidget,
      ({ body, params, caller, tenant, requestId }) => {
        expect(params).toEqual({ organization_id: organization.id });
        expect(body).toEqual({ name: 'gear', size: 5, shiny: true });
        expect(caller.user.uuid).toBe(user.uuid);
        expect(tenant.organization.name).toBe('Acme');
        expect(tenant.membership.level).toBe(15);
        expect(requestId).toBe('request-1');
        return { id: ID, size: body.size ?? null };
      },
      { body: { name: ' gear ', size: '5', shiny: 'Yes', unknown: 1 } },
    );
    expect({ status, body }).toEqual({ status: 201, body: { id: ID, size: 5 } });
    expect(headers).toEqual({ ...BODY_HEADERS, 'Content-Type': 'application/json', ...IDS });
  });

  test('keeps what was absent absent, so that a PATCH can tell', async () => {
    const { call } = await world();
    await call(
      createWidget,
      ({ body }) => {
        expect(Object.keys(body)).toEqual(['name']);
        return { id: ID, size: null };
      },
      { body: { name: 'gear' } },
    );
    expect.assertions(1);
  });

  test('without credentials is 401', async () => {
    const { context, organization } = await world();
    const event = proxyEvent(retrieveWidget, { params: { organization_id: organization.id, id: ID } });
    const { statusCode, body } = await endpoint(retrieveWidget, () => ({ id: ID, size: 1 }))(context)(event);
    expect(statusCode).toBe(401);
    expect(JSON.parse(body)).toEqual(
      error(
        'authentication_error',
        'not_authenticated',
        'Authentication credentials were not provided or are invalid.',
      ),
    );
  });

  test('of a user who is gone is 401', async () => {
    const { call } = await world();
    const { status } = await call(retrieveWidget, () => ({ id: ID, size: 1 }), {
      params: { id: ID },
      credentials: { userId: '019a0000-0000-7000-8000-00000000dead' },
    });
    expect(status).toBe(401);
  });

  test('of a public row needs no caller, and has none', async () => {
    const { context } = await world();
    const row = route({
      ...createWidget,
      handler: 'widgets/public',
      scope: 'public',
      paths: ['/api/public'],
      params: z.object({}),
    });
    const event = proxyEvent(row, { body: { name: 'x' } });
    const open = await endpoint(row, ({ body }) => ({ id: body.name, size: null }))(context)(event);
    expect(open.statusCode).toBe(201);
    const closed = await endpoint(row, ({ caller }) => ({ id: caller.userId, size: null }))(context)(event);
    expect(closed.statusCode).toBe(500);
  });

  test('whose path parameter does not fit names nothing', async () => {
    const { call } = await world();
    const { status, body } = await call(retrieveWidget, () => ({ id: ID, size: 1 }), { params: { id: 'nonsense' } });
    expect({ status, body }).toEqual({ status: 404, body: error('invalid_request', 'not_found', 'Not found.') });
  });

  test('has a query of single values and of lists', async () => {
    const { call } = await world();
    await call(
      retrieveWidget,
      ({ query }) => {
        expect(query).toEqual({ level: ['low', 'high'], deep: true });
        return { id: ID, size: 1 };
      },
      { params: { id: ID }, query: 'level=low&level=high&deep=no&deep=1&other=2' },
    );
    const { body } = await call(retrieveWidget, () => ({ id: ID, size: 1 }), {
      params: { id: ID },
      query: 'level=odd',
    });
    expect(body).toEqual(
      error('validation_error', 'invalid_choice', '"odd" is not a valid choice. Choose one of: low, high.', 'level__0'),
    );
    expect.assertions(2);
  });
});

describe("the operation's own reads", () => {
  test('are one round trip with the tenancy', async () => {
    const { context, user, organization } = await world();
    const table = countRoundTrips(context.table);
    const handler = endpoint(retrieveWidget, {
      read: ({ params }, { table }) => table.get({ pk: `W#${params.id}`, sk: 'W' }),
      run: ({ read, params }) => ({ id: params.id, size: read === undefined ? null : 1 }),
    })({ ...context, table });
    const { statusCode } = await handler(
      proxyEvent(retrieveWidget, {
        params: { organization_id: organization.id, id: ID },
        credentials: { userId: user.uuid },
      }),
    );
    expect({ statusCode, trips: table.counted() }).toEqual({ statusCode: 200, trips: 1 });
  });

  test('are not seen by a stranger, not even their failures', async () => {
    const { context, call } = await world();
    const stranger = await createUser(context, { email: 'b@example.com' });
    const operation = {
      read: async () => fail('not_found', 'Widget not found.'),
      run: () => ({ id: ID, size: 1 }),
    };
    expect((await call(retrieveWidget, operation, { params: { id: ID } })).status).toBe(404);
    const sent = { params: { id: ID }, credentials: { userId: stranger.uuid } };
    expect((await call(retrieveWidget, operation, sent)).status).toBe(403);
  });

  test('are turned into what the operation gets before the body is looked at', async () => {
    const { call, organization } = await world();
    const operation = {
      read: async () => 5,
      found: (read: number, tenant: Tenant) => (read === 5 ? tenant.organization.id : fail('not_found')),
      run: ({ read }: { read: string }) => ({ id: read, size: 1 }),
    };
    expect((await call(retrieveWidget, operation, { params: { id: ID } })).body.id).toBe(organization.id);
    const missing = { ...operation, found: () => fail('not_found') };
    expect((await call(createWidget, missing, { body: '{' })).status).toBe(404);
  });

  test('come before the body: a missing object is 404, whatever was sent', async () => {
    const { call } = await world();
    const operation = { read: async () => fail('not_found'), run: () => ({ id: ID, size: 1 }) };
    expect((await call(createWidget, operation, { body: '{' })).status).toBe(404);
  });
});

describe('order of checks', () => {
  test('a stranger is refused before their body is looked at', async () => {
    const { context, call } = await world();
    const stranger = await createUser(context, { email: 'b@example.com' });
    const { status, body } = await call(createWidget, () => ({ id: ID, size: 1 }), {
      body: '{',
      credentials: { userId: stranger.uuid },
    });
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'permission_denied' });
  });
});

describe('an answer', () => {
  const answer = { params: { id: ID } };

  test('holds only declared fields', async () => {
    const { call } = await world();
    const { body } = await call(retrieveWidget, () => ({ id: ID, size: 1, secret: 'x' }), answer);
    expect(body).toEqual({ id: ID, size: 1 });
  });

  test('that does not fit the row is a 500 in tests, and is logged', async () => {
    const { call, context } = await world();
    const { status, text } = await call(retrieveWidget, () => ({ id: ID, size: 'big' }) as never, answer);
    expect(status).toBe(500);
    expect(text).not.toContain('size');
    expect(context.lines.find((line) => line.level === 'ERROR')?.message).toContain('widgets/retrieve');
  });

  test('that does not fit the row still goes out elsewhere, with declared fields only, and is logged', async () => {
    const { context, user, organization } = await world();
    const settings = { ...context.settings, strictAnswers: false };
    const wrong = { id: ID, size: 'big', secret: 'x' } as never;
    const { statusCode, body } = await endpoint(retrieveWidget, () => wrong)({ ...context, settings })(
      proxyEvent(retrieveWidget, {
        params: { organization_id: organization.id, id: ID },
        credentials: { userId: user.uuid },
      }),
    );
    expect({ statusCode, body: JSON.parse(body) }).toEqual({ statusCode: 200, body: { id: ID, size: 'big' } });
    expect(context.lines.some((line) => line.level === 'ERROR')).toBe(true);
  });

  test('that Lambda would not take, for as JSON its quotes are longer, is packed, or a 400 for who takes nothing packed', async () => {
    const { context, user, organization } = await world();
    const large = { id: ID, size: 1, about: { text: '"'.repeat(1_700_000) } };
    const ask = (answerBytes: number | null, headers: Record<string, string> = {}) =>
      endpoint(retrieveWidget, () => large)({ ...context, settings: { ...context.settings, answerBytes } })(
        proxyEvent(retrieveWidget, {
          params: { organization_id: organization.id, id: ID },
          credentials: { userId: user.uuid },
          headers,
        }),
      );
    const packed = await ask(CLOUD_SETTINGS.answerBytes, { 'Accept-Encoding': 'br, gzip;q=0.9' });
    expect(packed).toMatchObject({ statusCode: 200, isBase64Encoded: true, headers: { 'Content-Encoding': 'gzip' } });
    expect(JSON.parse(gunzipSync(Buffer.from(packed.body, 'base64')).toString())).toEqual(large);
    for (const headers of [{}, { 'Accept-Encoding': 'gzip;q=0' }]) {
      const { statusCode, body } = await ask(CLOUD_SETTINGS.answerBytes, headers);
      expect([statusCode, JSON.parse(body)]).toMatchObject([400, { type: 'validation_error', attr: null }]);
    }
    const { statusCode, body } = await ask(null);
    expect([statusCode, JSON.parse(body)]).toEqual([200, large]);
  });

  test('of a row without a response is empty', async () => {
    const { call } = await world();
    const row = route({
      handler: 'widgets/destroy',
      method: 'DELETE',
      paths: [`${widgets}/{id}`],
      scope: 'organization:write',
      summary: 'Delete a widget',
      tag: 'Widgets',
      params: z.object({ id: z.uuid() }),
      status: 204,
    });
    const { status, headers, text } = await call(row, () => undefined, answer);
    expect({ status, headers, text }).toEqual({ status: 204, headers: IDS, text: '' });
  });

  test('to HEAD has the headers of GET and no body', async () => {
    const { call } = await world();
    const get = await call(retrieveWidget, version17, answer);
    const head = await call(retrieveWidget, version17, { ...answer, method: 'HEAD' });
    const headers = { ...get.headers, 'Content-Length': String(get.text.length) };
    expect(head).toEqual({ ...get, headers, text: '', body: undefined });
    const refused = await call(retrieveWidget, () => fail('not_found'), { ...answer, method: 'HEAD' });
    expect({ status: refused.status, text: refused.text }).toEqual({ status: 404, text: '' });
  });

  test('keeps every own key of a free object, and numbers as they were written', async () => {
    const { call } = await world();
    const sent = '{"name":"a","about":{"__proto__":{"x":1},"constructor":2,"big":12345678901234567890,"huge":1e999}}';
    const { text } = await call(createWidget, ({ body }) => ({ id: ID, size: null, about: { inner: body.about } }), {
      body: sent,
    });
    expect(text).toContain('{"__proto__":{"x":1},"constructor":2,"big":12345678901234567890,"huge":1e999}');
  });
});

describe('ETag', () => {
  const sent = { params: { id: ID } };

  test('is the version in quotes', async () => {
    const { call } = await world();
    expect((await call(retrieveWidget, version17, sent)).headers).toMatchObject({ ETag: '"17"', Location: '/x' });
  });

  test.each(['"17"', 'W/"17"', '"3", "17"', '*'])('If-None-Match %s is 304 without a body', async (tags) => {
    const { call } = await world();
    const { status, text, headers } = await call(retrieveWidget, version17, {
      ...sent,
      headers: { 'if-none-match': tags },
    });
    expect({ status, text, tag: headers['ETag'] }).toEqual({ status: 304, text: '', tag: '"17"' });
  });

  test.each(['"16"', '17', '"x"', ''])('If-None-Match %s is not', async (tags) => {
    const { call } = await world();
    expect((await call(retrieveWidget, version17, { ...sent, headers: { 'If-None-Match': tags } })).status).toBe(200);
  });

  test.each([
    [undefined, undefined],
    ['*', undefined],
    ['"17"', [17]],
    ['W/"4"', [4]],
    ['"1", "2"', [1, 2]],
    ['"abc"', [-1]],
    ['', [-1]],
  ])('If-Match %s asks for the versions %s', async (tags, versions) => {
    const { call } = await world();
    await call(
      createWidget,
      ({ ifMatch }) => {
        expect(ifMatch).toEqual(versions);
        return { id: ID, size: 1 };
      },
      { body: { name: 'a' }, ...(tags === undefined ? {} : { headers: { 'IF-MATCH': tags } }) },
    );
    expect.assertions(1);
  });
});

/** The answer when the operation throws this. */
const thrown = async (problem: unknown, headers: Record<string, string> = {}) => {
  const { call, context } = await world();
  const answer = await call(
    retrieveWidget,
    () => {
      throw problem;
    },
    { params: { id: ID }, headers },
  );
  return { ...answer, lines: context.lines };
};

describe('what an operation throws', () => {
  const key = { pk: 'a', sk: 'b' };

  test('a failure is answered with its four fields and headers', async () => {
    const { call } = await world();
    const { status, body, headers } = await call(
      retrieveWidget,
      () => fail('conflict', { attr: 'x', headers: { Allow: 'GET' } }),
      { params: { id: ID } },
    );
    expect({ status, body }).toEqual({
      status: 409,
      body: error('invalid_request', 'conflict', 'The request conflicts with another one.', 'x'),
    });
    expect(headers).toEqual({ ...BODY_HEADERS, Allow: 'GET', 'Content-Type': 'application/json', ...IDS });
  });

  test('a busy table is 429 with Retry-After', async () => {
    const { status, body, headers } = await thrown(new Busy());
    expect({ status, body }).toEqual({
      status: 429,
      body: error('throttled_error', 'throttled', 'Request was throttled. Expected available in 1 second.'),
    });
    expect(headers['Retry-After']).toBe('1');
  });

  test('an item that is too large and a cursor that is none are 400', async () => {
    expect((await thrown(new TooLarge())).status).toBe(400);
    expect((await thrown(new BadCursor())).body).toEqual(
      error('validation_error', 'invalid_input', 'Invalid cursor.', 'cursor'),
    );
  });

  test.each([
    ['the object is gone', undefined, {}, 404],
    ['the object was deleted', { ...key, deleted_at: 1, ver: 3 }, {}, 404],
    [
      'the object has another version than If-Match names',
      { ...key, deleted_at: null, ver: 3 },
      { 'If-Match': '"2"' },
      412,
    ],
    ['the object changed meanwhile', { ...key, ver: 3 }, { 'If-Match': '"3"' }, 409],
  ])('a write that was refused because %s', async (_, found, headers, status) => {
    expect((await thrown(new Refused(0, found), headers)).status).toBe(status);
  });

  test.each([
    [
      'a full disk',
      Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' }),
      'The disk of the service is full',
    ],
    ['something else that may pass', new Transient('KMS does not answer.'), 'KMS does not answer.'],
  ])('%s is a 503 that says when to come again, and the reason is logged', async (_, problem, reason) => {
    const { status, text, headers, lines } = await thrown(problem);
    expect({ status, body: JSON.parse(text), after: headers['Retry-After'] }).toEqual({
      status: 503,
      body: error('server_error', 'service_unavailable', 'The service cannot do this at the moment. Try again later.'),
      after: '30',
    });
    expect(lines.find(({ level }) => level === 'ERROR')?.message).toContain(reason);
  });

  test('a damaged file is a 500 that says what is to be done, and the log names it', async () => {
    const { status, text, lines } = await thrown(new Damaged('events/team_id=7/a.parquet', 'it is not there'));
    const detail =
      'A stored file that this needs is damaged. Whoever runs the service must restore it; the log names it.';
    expect({ status, body: JSON.parse(text) }).toEqual({
      status: 500,
      body: error('server_error', 'damaged_file', detail),
    });
    expect(lines.find(({ level }) => level === 'ERROR')?.message).toContain('events/team_id=7/a.parquet');
  });

  test('anything else is a 500 that says nothing, and a logged stack', async () => {
    const { status, text, lines } = await thrown(new TypeError('secret /home/path'));
    expect({ status, body: JSON.parse(text) }).toEqual({
      status: 500,
      body: error('server_error', 'error', 'A server error occurred.'),
    });
    const line = lines.find(({ level }) => level === 'ERROR');
    expect(line?.message).toBe('secret /home/path');
    expect((line?.fields['error'] as Error | undefined)?.stack).toContain('endpoint.test');
  });

  test('even something that is no error', async () => {
    expect((await thrown('odd')).status).toBe(500);
    expect((await thrown(undefined)).status).toBe(500);
    expect((await thrown(null)).status).toBe(500);
  });
});

describe('the log', () => {
  test("has the request's id and operation in every line, and no key", async () => {
    const { call, context } = await world();
    await call(
      retrieveWidget,
      (_, { log }) => {
        log.info('inside');
        return { id: ID, size: 1 };
      },
      { params: { id: ID } },
    );
    const lines = context.lines.map(({ message, fields }) => ({
      message,
      id: fields['request_id'],
      operation: fields['operation'],
    }));
    expect(lines).toEqual([
      { message: 'inside', id: 'request-1', operation: 'widgets/retrieve' },
      { message: 'answered', id: 'request-1', operation: 'widgets/retrieve' },
    ]);
    expect(context.lines.at(-1)?.fields).toMatchObject({ status: 200, method: 'GET', ms: 0, key: 'phx_...abcd' });
  });
});

test('a row that takes an Idempotency-Key must be able to replay', () => {
  expect(() => endpoint(route({ ...createWidget, idempotent: true }), () => ({ id: ID, size: 1 }))).toThrow(
    'cannot replay',
  );
});

describe('an answer that is no JSON', () => {
  const showWidget = route({
    handler: 'widgets/show',
    method: 'GET',
    paths: ['/widgets/{id}'],
    scope: 'public',
    summary: 'Show a widget',
    tag: 'Widgets',
    params: z.object({ id: z.uuid() }),
    content: ['text/html'],
    status: 200,
  });
  const params = { id: ID };
  const page = () => new ContentAnswer('<p>ü</p>', 'text/html; charset=utf-8', { 'X-Own': '1' });

  test('is sent as it is; HEAD has its headers', async () => {
    const { call } = await world();
    const headers = { 'Content-Type': 'text/html; charset=utf-8', 'X-Own': '1', 'X-Request-Id': 'request-1' };
    expect(await call(showWidget, page, { params })).toMatchObject({ status: 200, headers, text: '<p>ü</p>' });
    expect(await call(showWidget, page, { params, method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { ...headers, 'Content-Length': '9' },
      text: '',
    });
  });

  test('can be what a failure looks like, with its status and its headers', async () => {
    const { call } = await world();
    const operation = {
      run: () => fail('throttled', { headers: { 'Retry-After': '1' } }),
      failurePage: ({ message }: Error) => new ContentAnswer(message, 'text/plain', { 'X-Own': '1' }),
    };
    expect(await call(showWidget, operation, { params })).toMatchObject({
      status: 429,
      headers: { 'Content-Type': 'text/plain', 'Retry-After': '1', 'X-Own': '1' },
      text: 'Request was throttled.',
    });
    expect(await call(showWidget, operation, { params: { id: 'x' } })).toMatchObject({
      status: 404,
      text: 'Not found.',
    });
    expect(await call(showWidget, { ...operation, failurePage: () => undefined }, { params })).toMatchObject({
      status: 429,
      body: { code: 'throttled' },
    });
  });

  test('can be nothing: 204', async () => {
    const { call } = await world();
    const reply = await call({ ...retrieveWidget, orEmpty: true }, () => new EmptyAnswer(), { params });
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(reply.headers).toEqual(IDS);
  });
});
