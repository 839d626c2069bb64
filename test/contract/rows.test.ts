/** The promises of every row, tried on every row over HTTP: the cases are made from `lib/api/routes.ts`. */
import * as fc from 'fast-check';
import * as z from 'zod';
import { createOrganization } from '../../lib/accounts/organizations/store.ts';
import { allowedMethods } from '../../lib/api/methods.ts';
import { openApi } from '../../lib/api/openapi.ts';
import { routes, rowFor, templates } from '../../lib/api/routes.ts';
import { LEVELS } from '../../lib/http/levels.ts';
import { type Route, takesBody } from '../../lib/http/route.ts';
import { isPermitted, SCOPE_OBJECTS } from '../../lib/http/scopes.ts';
import { FAILURES } from '../../lib/ports/errors.ts';
import type { Op } from '../../lib/ports/table/table.ts';
import { propertyRuns } from '../support/property-runs.ts';
import type { CallOptions, Reply } from '../support/service.ts';
import { type Example, fixtures, type World } from './fixtures.ts';
import { isOffered, newWorld } from './world.ts';

const TENANTS = ['organization_id', 'project_id'];
const UNKNOWN = '019a0000-0000-7000-8000-00000000ffff';
/** Each run may make an object, and an organization has so many at most: with more, those that follow were refused. */
const RUNS = Math.min(propertyRuns(25), 100);

async function exampleOf(world: World, { handler }: Route): Promise<Example> {
  const fixture = fixtures[handler];
  if (fixture === undefined) throw new Error(`${handler} has no fixture: add it to test/contract/fixtures.ts`);
  return fixture(world);
}

/** Returns a template with its parameters filled in, as clients write it: with a slash at the end. */
const filled = (template: string, params: Readonly<Record<string, string>>): string =>
  `${template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))}/`.replace('//', '/');

const namesIn = (template: string): string[] => [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
const tenantIn = (template: string): string | undefined => namesIn(template).find((name) => TENANTS.includes(name));
const objectsIn = (template: string): string[] => namesIn(template).filter((name) => !TENANTS.includes(name));

const summaryOf = ({ status, body }: Reply) => ({ status, body });
const failure = (kind: keyof typeof FAILURES, detail?: string) => {
  const { status, ...body } = FAILURES[kind];
  return { status, body: { ...body, ...(detail === undefined ? {} : { detail }), attr: null } };
};

/** Returns the fault of a reply to odd input: it must be a success, or a refusal with exactly the four fields. */
function faultOf({ status, body }: Reply): unknown {
  const isRefusal = status >= 400 && status < 500;
  if (status === 405 && body === undefined) return undefined;
  const isProper = isRefusal ? Object.keys(body ?? {}).join() === 'type,code,detail,attr' : status < 400;
  return isProper ? undefined : { status, body };
}

/** Headers that do not belong to the connection or to this one request, as a nonce does. */
const ofAnswer = ({ headers }: Reply) =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => !PER_REQUEST.includes(name))
      .map(([name, value]) => [name, value.replace(/'nonce-[^']+'/, "'nonce'")]),
  );
const PER_REQUEST = ['date', 'x-request-id', 'traceparent', 'connection', 'keep-alive'];

/** Paths that are another name of a path of the same row: what the two have in common is tried on the other one. */
const TWIN = /^\/api\/environments(?=$|\/\{project_id\})/;
const twinOf = (path: string): string => path.replace(TWIN, '/api/projects');

/** As much of an operation of the reference as is held to what the row does. */
interface Operation {
  readonly parameters: readonly { readonly name: string }[];
  readonly requestBody?: { readonly required: boolean };
}

const described = openApi(routes).paths as Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const offered = routes.filter(isOffered);
const all = offered.flatMap((row) => row.paths.map((path) => ({ name: `${row.method} ${path}`, row, path })));
const cases = all.filter(({ path }) => !TWIN.test(path));
const twins = all.filter(({ path }) => TWIN.test(path));

/** The status and the shape that the row promises for a valid request. */
function expectPromised(reply: Reply, row: Route): void {
  expect(summaryOf(reply)).toMatchObject({ status: row.status });
  expect(reply.headers.get('x-request-id')).toMatch(/.+/);
  const types = [
    row.response === undefined && row.content === undefined ? null : 'application/json',
    ...(row.content ?? []).map((type) => `${type}; charset=utf-8`),
  ];
  const type = reply.headers.get('content-type');
  expect(types).toContain(type);
  const shape = (type === 'application/json' ? row.response : undefined) ?? z.undefined();
  expect(shape.safeParse(reply.body)).toMatchObject({ success: true });
  expect(reply.text === '').toBe(row.response === undefined && row.content === undefined);
}

test('every row has a fixture', () => {
  const missing = routes.map(({ handler }) => handler).filter((handler) => !Object.hasOwn(fixtures, handler));
  expect({ 'add these to test/contract/fixtures.ts': missing }).toEqual({
    'add these to test/contract/fixtures.ts': [],
  });
});

/** Their bodies name objects that are not there, or places that nobody has. */
const WITHOUT_EXAMPLE = [
  'batch-exports/run-test-step',
  'batch-exports/run-test-step-new',
  'collaborators/create',
  'dashboards/move-tile',
];

/** They show more than their version tells of. */
const UNVERSIONED = ['organizations/retrieve', 'personal-api-keys/retrieve-current', 'projects/retrieve'];

test('every row that takes a body shows one that works', () => {
  const lacking = routes.filter(({ body, example }) => body !== undefined && example === undefined);
  expect(lacking.map(({ handler }) => handler).toSorted()).toEqual(WITHOUT_EXAMPLE);
});

const NULL_BODY = ['null', 'null', 400, 'null', 'No data provided'] as const;

describe.each(cases)('$name', ({ row, path }) => {
  let world: World;
  beforeAll(async () => {
    world = await newWorld();
  });

  /** Sends the row's valid request, or what is left of it. */
  async function send(change: CallOptions & { params?: Record<string, string>; method?: string; path?: string } = {}) {
    const example = await exampleOf(world, row);
    const { params = {}, method = row.method, path: changed, ...options } = change;
    const target = `${changed ?? filled(path, { ...example.params, ...params })}${example.query ?? ''}`;
    const body = method === 'GET' || method === 'HEAD' || example.body === undefined ? {} : { body: example.body };
    return world.service.call(method, target, { ...body, ...options });
  }

  test('answers a valid request with its status and its shape', async () => {
    expectPromised(await send(), row);
  });

  const { example: shown } = row;
  if (shown !== undefined) {
    test("takes the reference's example as it stands", async () => {
      const { insight } = Object((await exampleOf(world, row)).body) as { readonly insight?: number };
      // Its insight is the first that was made; on a stage, where others make some too, that is another one's.
      const body = 'insight' in shown ? { ...shown, insight } : shown;
      expectPromised(await send({ body }), row);
    });
  }

  if (row.method === 'GET' || row.table !== undefined) {
    test('writes nothing, so its function needs no right to', async () => {
      const example = await exampleOf(world, row);
      const write = jest.spyOn(world.context.table, 'write');
      const body = row.method === 'GET' || example.body === undefined ? {} : { body: example.body };
      await world.service.call(row.method, `${filled(path, example.params)}${example.query ?? ''}`, body);
      // The authorizer, which is a function of its own, notes the use of a key.
      const isOfKey = ([op]: readonly Op[]) => op !== undefined && 'change' in op && op.change.pk.startsWith('KEY#');
      expect(write.mock.calls.filter(([ops]) => !isOfKey(ops))).toEqual([]);
      write.mockRestore();
    });
  }

  const lacking = Object.entries(row.unsupported ?? {}).filter(([name]) => !name.includes('.'));
  if (lacking.length > 0) {
    test("refuses a value of PostHog's that it cannot honour, by name, and takes the default", async () => {
      const sent = async (values: Readonly<Record<string, unknown>>) => {
        const { body, params } = await exampleOf(world, row);
        if (row.body !== undefined) return send({ body: { ...Object(body), ...values } });
        const given = Object.entries(values).filter(([, value]) => value !== null) as [string, string][];
        return send({ path: `${filled(path, params)}?${new URLSearchParams(given).toString()}` });
      };
      for (const [name, fallback] of lacking) {
        const value = fallback === true ? false : fallback === null ? 7 : 'other';
        expect(await sent({ [name]: value })).toMatchObject({
          status: 400,
          body: { type: 'validation_error', attr: name, detail: expect.stringContaining('is not supported here') },
        });
      }
      expect(await sent(Object.fromEntries(lacking))).toMatchObject({ status: row.status });
    });
  }

  test('is the same without the slash at the end', async () => {
    const example = await exampleOf(world, row);
    const body = example.body === undefined ? {} : { body: example.body };
    const reply = await send({ path: filled(path, example.params).slice(0, -1), ...body });
    expect(summaryOf(reply)).toMatchObject({ status: row.status });
  });

  if (row.method === 'GET') {
    test('answers HEAD with the headers of GET', async () => {
      const example = await exampleOf(world, row);
      const target = filled(path, example.params);
      const [get, head] = [await send({ path: target }), await send({ path: target, method: 'HEAD' })];
      expect({ status: head.status, body: head.body, headers: ofAnswer(head) }).toEqual({
        status: get.status,
        body: undefined,
        headers: ofAnswer(get),
      });
    });

    test('answers 304 to the ETag that it gave', async () => {
      const example = await exampleOf(world, row);
      const target = filled(path, example.params);
      const tag = (await send({ path: target })).headers.get('etag');
      const again = await send({ path: target, headers: { 'If-None-Match': tag ?? '"1"' } });
      expect(again.status).toBe(tag === null || UNVERSIONED.includes(row.handler) ? row.status : 304);
    });
  }

  if (row.scope !== 'public') {
    test('needs a key', async () => {
      expect(summaryOf(await send({ key: null }))).toEqual(failure('not_authenticated'));
      expect(summaryOf(await send({ key: 'phx_unknown' }))).toEqual(failure('not_authenticated'));
    });
  }

  const { scope } = row;
  if (scope !== 'public' && scope !== 'any') {
    test('needs its scope, and says which', async () => {
      const { service } = world;
      const others = SCOPE_OBJECTS.flatMap((name) => [`${name}:read`, `${name}:write`]).filter(
        (held) => !isPermitted([held], scope),
      );
      const refusal = failure('permission_denied', `API key missing required scope '${scope}'`);
      const other = await service.newKey(service.owner, { scopes: others });
      expect(summaryOf(await send({ key: other, body: row.body === undefined ? undefined : '{' }))).toEqual(refusal);
      const own = await service.newKey(service.owner, { scopes: [scope] });
      expect((await send({ key: own })).status).toBe(row.status);
    });
  }

  const tenant = tenantIn(path);
  if (tenant !== undefined) {
    const isItself = path.endsWith('{organization_id}');
    const closed = failure('permission_denied');
    const stranger = isItself
      ? failure('not_found')
      : tenant === 'project_id'
        ? failure('permission_denied', "You don't have access to the project.")
        : closed;

    test('is closed to strangers, before their body is looked at', async () => {
      const { service } = world;
      const key = await service.newKey(await service.newUser());
      expect(summaryOf(await send({ key, ...(row.body === undefined ? {} : { body: '{' }) }))).toEqual(stranger);
    });

    test('does not know a place that never was', async () => {
      const unknown = { project_id: '999999', organization_id: UNKNOWN };
      const expected = tenant === 'project_id' ? failure('not_found', 'Project not found.') : stranger;
      expect(summaryOf(await send({ params: unknown }))).toEqual(expected);
    });

    test.each(['nonsense', '__proto__', '1e3', '%', 'ü', "' or 1=1"])('does not know a place %s', async (id) => {
      const detail =
        tenant === 'project_id' ? 'Project not found.' : isItself ? 'Not found.' : 'Organization not found.';
      expect(summaryOf(await send({ params: { [tenant]: id } }))).toEqual(failure('not_found', detail));
    });

    test('takes @current', async () => {
      expect(summaryOf(await send({ params: { [tenant]: '@current' } }))).toMatchObject({ status: row.status });
    });

    test('is closed to keys that are limited to other places', async () => {
      const { context, service } = world;
      const { organization, project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
      for (const limits of [{ scoped_organizations: [organization.id] }, { scoped_teams: [project.id] }]) {
        const reply = await send({ key: await service.newKey(service.owner, limits) });
        expect(summaryOf(reply)).toMatchObject({ status: 403, body: { detail: expect.stringMatching(/^API key/) } });
      }
    });
  }

  const objects = objectsIn(path);
  /** A method in name only says so for whatever object. */
  const hangsOnDashboard = /\/dashboards\/\{id\}\/(collaborators|sharing|access_controls)/.test(path);
  const absent =
    row.status === 405
      ? { status: 405, body: undefined }
      : failure('not_found', hangsOnDashboard ? expect.stringMatching(/^(Dashboard n|N)ot found\.$/) : undefined);
  if (objects.length > 0) {
    test.each(objects)('does not know a %s that never was, whatever the body', async (name) => {
      for (const id of [UNKNOWN, 'nonsense', '__proto__', '0']) {
        const reply = await send({ params: { [name]: id }, ...(row.body === undefined ? {} : { body: '{' }) });
        const isPage = path.includes('{token}') && row.content?.includes('text/html') === true;
        expect(summaryOf(reply)).toEqual(isPage ? { status: 404, body: undefined } : absent);
      }
    });
  }

  if (objects.length > 0 && tenant !== undefined) {
    test("does not know what is in another place of the caller's", async () => {
      const { context, service } = world;
      const { organization, project } = await createOrganization(context, { name: 'Elsewhere', owner: service.owner });
      const elsewhere = { organization_id: organization.id, project_id: String(project.id) };
      expect(summaryOf(await send({ params: elsewhere }))).toEqual(absent);
    });
  }

  const operation = described[`${path}/`.replace('//', '/')]?.[row.method.toLowerCase()];
  const { parameters, requestBody } = operation as Operation;
  const { body: schema } = row;
  if (takesBody(row)) {
    test.each<readonly [string, string, number, string, string | null]>([
      ['malformed', '{"a":', 400, 'parse_error', null],
      ['a list', '[]', 400, 'invalid_input', 'Invalid data. Expected a dictionary, but got list.'],
      ['a text', '"x"', 400, 'invalid_input', 'Invalid data. Expected a dictionary, but got str.'],
      ['a number', '1', 400, 'invalid_input', 'Invalid data. Expected a dictionary, but got int.'],
      ['a long number', '9007199254740993', 400, 'invalid_input', 'Invalid data. Expected a dictionary, but got int.'],
      ...(schema === undefined ? [] : [NULL_BODY]),
      ['nested over 64 levels', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 400, 'parse_error', null],
      ['over 1 MiB', `{"a":"${'x'.repeat(1024 * 1024)}"}`, 413, 'request_too_large', null],
    ])('refuses a body that is %s', async (_, body, status, code, detail) => {
      const reply = await send({ body });
      expect(summaryOf(reply)).toMatchObject({
        status,
        body: { code, attr: null, ...(detail === null ? {} : { detail }) },
      });
      expect(faultOf(reply)).toBeUndefined();
    });

    if (schema === undefined) {
      test('takes null for no body', async () => {
        expect((await send({ body: 'null' })).status).toBe((await send({})).status);
      });
    }

    test('needs a body if the reference says so', async () => {
      expect((await send({ body: {} })).status).toBe(requestBody?.required === true ? 400 : row.status);
    });

    test('refuses a body of another type', async () => {
      const detail = 'Unsupported media type "text/plain" in request.';
      const reply = await send({ body: '{}', headers: { 'Content-Type': 'text/plain' } });
      expect(summaryOf(reply)).toEqual(failure('unsupported_media_type', detail));
    });
  }

  if (schema !== undefined) {
    test('takes prototype keys for what they are: unknown fields', async () => {
      const { params, body } = await exampleOf(world, row);
      const odd = `{"__proto__":{"x":1},"constructor":{"prototype":1},"toString":null,${JSON.stringify(body).slice(1)}`;
      expect((await send({ body: odd, path: filled(path, params) })).status).toBe(row.status);
    });
  }

  if (parameters.some(({ name }) => name === 'If-Match')) {
    test('is refused when the object is not the one that If-Match names', async () => {
      expect(summaryOf(await send({ headers: { 'If-Match': '"999999"' } }))).toEqual(failure('precondition_failed'));
      expect((await send({ headers: { 'If-Match': '"999999", "1"' } })).status).toBe(row.status);
      expect((await send({ headers: { 'If-Match': '*' } })).status).toBe(row.status);
    });
  } else {
    test('does not look at If-Match, of which the reference says nothing', async () => {
      expect((await send({ headers: { 'If-Match': '"999999"' } })).status).toBe(row.status);
    });
  }

  if (row.idempotent === true) {
    test('does what it does once for one Idempotency-Key, and says when it was a repeat', async () => {
      const { params, body } = await exampleOf(world, row);
      const repeat = (sent: unknown) =>
        world.service.call(row.method, filled(path, params), { body: sent, headers: { 'Idempotency-Key': 'once' } });
      const [first, second] = [await repeat(body), await repeat(body)];
      expect(summaryOf(first)).toMatchObject({ status: row.status });
      // The value of a key is shown once.
      const told = first.body !== undefined && 'value' in first.body ? { ...first.body, value: null } : first.body;
      expect(summaryOf(second)).toEqual({ status: first.status, body: told });
      expect(['idempotent-replayed', 'location', 'etag'].map((name) => second.headers.get(name))).toEqual([
        'true',
        first.headers.get('location'),
        first.headers.get('etag'),
      ]);
      expect(summaryOf(await repeat({ ...(body as object), other: 1 }))).toMatchObject({
        status: 409,
        body: { code: 'conflict' },
      });
    });
  }

  // Last, for they make very many things: of some a user has a hundred at most.
  if (schema !== undefined)
    test('is never at a loss, whatever its fields hold', async () => {
      const names = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
      const odd = fc.constantFrom(
        '\u0000',
        '\ud800',
        '',
        ' ',
        '__proto__',
        1e308,
        -1,
        0.5,
        true,
        null,
        'x'.repeat(5000),
        '9'.repeat(30),
      );
      const value = fc.oneof(odd, fc.jsonValue({ maxDepth: 3 }));
      const field = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
      await fc.assert(
        fc.asyncProperty(field, fc.boolean(), async (fields, isValid) => {
          const { body = {}, params, query = '' } = await exampleOf(world, row);
          const sent = { body: { ...(isValid ? body : {}), ...fields } };
          const reply = await world.service.call(row.method, `${filled(path, params)}${query}`, sent);
          expect(faultOf(reply)).toBeUndefined();
        }),
        { numRuns: RUNS },
      );
    });

  test('is never at a loss, whatever its query holds', async () => {
    const known = row.query instanceof z.ZodObject ? Object.keys(row.query.shape) : [];
    const names = ['limit', 'offset', 'cursor', 'format', '__proto__', ...known];
    const pair = fc.tuple(
      fc.constantFrom(...names),
      fc.oneof(fc.string(), fc.constantFrom('-1', '1e9', '\u0000', '2024-01-01')),
    );
    const example = await exampleOf(world, row);
    await fc.assert(
      fc.asyncProperty(fc.array(pair, { maxLength: 4 }), async (pairs) => {
        const target = `${filled(path, example.params)}?${new URLSearchParams(pairs).toString()}`;
        const body = example.body === undefined ? {} : { body: example.body };
        expect(faultOf(await world.service.call(row.method, target, body))).toBeUndefined();
      }),
      { numRuns: RUNS },
    );
  });
});

describe('a twin path', () => {
  let world: World;
  let stranger: string;
  beforeAll(async () => {
    world = await newWorld();
    stranger = await world.service.newKey(await world.service.newUser());
  });

  test('is there for every path of a project, with the same rows', () => {
    const ofProjects = templates.filter((path) => path.startsWith('/api/projects'));
    expect(templates.filter((path) => TWIN.test(path)).map(twinOf)).toEqual(ofProjects);
    for (const { row, path } of twins) {
      expect(rowFor(row.method, path)).toBe(rowFor(row.method, twinOf(path)));
      expect(allowedMethods(path)).toEqual(allowedMethods(twinOf(path)));
    }
    expect(twins.length).toBeGreaterThan(30);
  });

  // A row works by its handler and the parameters of the path, which are the same on both.
  test.each(twins)('$name answers a valid request, and knows who may not send it', async ({ row, path }) => {
    const replyTo = async (template: string, change: CallOptions & { params?: Record<string, string> } = {}) => {
      const { params, query = '', body } = await exampleOf(world, row);
      const { params: changed = {}, ...options } = change;
      const sent = row.method === 'GET' || body === undefined ? {} : { body };
      return world.service.call(row.method, `${filled(template, { ...params, ...changed })}${query}`, {
        ...sent,
        ...options,
      });
    };
    expectPromised(await replyTo(path), row);
    const nonsense = tenantIn(path) === undefined ? [] : [{ params: { project_id: 'nonsense' } }];
    for (const change of [{ key: null }, { key: stranger }, ...nonsense]) {
      const [refused, same] = [await replyTo(path, change), await replyTo(twinOf(path), change)];
      expect(summaryOf(refused)).toEqual(summaryOf(same));
      expect(refused.status).toBeGreaterThanOrEqual(400);
    }
  });
});

/** They ask for methods that are not there and change nothing, so one world serves all. */
let callers: { readonly service: World['service']; readonly member: string; readonly stranger: string };
beforeAll(async () => {
  const { service } = await newWorld();
  const member = await service.newKey(await service.newUser(LEVELS.member), { scopes: [] });
  const stranger = await service.newKey(await service.newUser());
  callers = { service, member, stranger };
});

describe.each(templates)('%s', (template) => {
  const unlisted = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !allowedMethods(template).includes(name));

  test('answers any other method with 405 and Allow, to any key that may see the place', async () => {
    const { service, member, stranger } = callers;
    const place = { organization_id: service.organization.id, project_id: String(service.project.id) };
    const objects = Object.fromEntries(objectsIn(template).map((name) => [name, 'nonsense']));
    const target = filled(template, { ...objects, ...place });
    for (const method of unlisted) {
      const body = method === 'GET' ? {} : { body: '{' };
      const reply = await service.call(method, target, { key: member, ...body });
      expect(summaryOf(reply)).toEqual(failure('method_not_allowed', `Method "${method}" not allowed.`));
      expect(reply.headers.get('allow')).toBe(allowedMethods(template).join(', '));
      const refusals = [
        await service.call(method, target, { key: null }),
        await service.call(method, target, { key: stranger }),
      ];
      const refused = tenantIn(template) === undefined ? 405 : template.endsWith('{organization_id}') ? 404 : 403;
      expect(refusals.map(({ status }) => status)).toEqual([401, refused]);
    }
    expect(unlisted.length).toBeGreaterThan(0);
  });
});

test.each(['/api/', '/api/nonsense', '/api/organizations//', '/api/__proto__/', '/nonsense'])(
  '%s is no endpoint, with or without a key',
  async (path) => {
    const { service } = await newWorld();
    for (const key of [null, service.key]) {
      expect(summaryOf(await service.call('GET', path, { key }))).toEqual(failure('not_found', 'Endpoint not found.'));
    }
  },
);
