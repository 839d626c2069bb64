import { Validator } from '@seriousme/openapi-schema-validator';
import * as z from 'zod';
import { document } from '../../../lib/api/computed/document.ts';
import { openApi } from '../../../lib/api/openapi.ts';
import { OPENAPI_TAGS } from '../../../lib/api/openapi-tags.ts';
import { routes } from '../../../lib/api/routes.ts';
import { DESTINATIONS } from '../../../lib/exports/destinations/index.ts';
import { integer, text } from '../../../lib/http/fields.ts';
import { pageOf, route } from '../../../lib/http/route.ts';
import { KINDS } from '../../../lib/insights/kinds/kinds.ts';
import { FAILURES } from '../../../lib/ports/errors.ts';

const Widget = z.object({ id: z.uuid(), size: z.int().nullable() }).meta({ id: 'Widget' });
const one = ['/api/organizations/{organization_id}/widgets/{id}', '/api/projects/{project_id}/widgets/{id}'] as const;
const all = ['/api/organizations/{organization_id}/widgets'] as const;
const shared = { tag: 'Widgets', summary: 'Does something with widgets' };
const params = z.object({ organization_id: z.string(), id: z.uuid().describe("The widget's.") });

const list = route({
  ...shared,
  handler: 'widgets/list',
  method: 'GET',
  paths: all,
  scope: 'dashboard:read',
  params,
  status: 200,
  query: z.object({ search: text().optional().describe('Part of a name.'), level: z.array(z.enum(['a', 'b'])) }),
  response: pageOf(Widget),
  paging: { kind: 'offset', limit: 20, max: 50 },
});
const create = route({
  ...shared,
  handler: 'widgets/create',
  method: 'POST',
  paths: all,
  scope: 'dashboard:write',
  params,
  status: 201,
  body: z.object({ size: integer({ min: 0 }) }),
  response: Widget,
  idempotent: true,
});
const retrieve = route({
  ...shared,
  handler: 'widgets/retrieve',
  method: 'GET',
  paths: one,
  scope: 'any',
  params,
  response: Widget,
  status: 200,
});
const update = route({
  ...shared,
  handler: 'widgets/update',
  method: 'PATCH',
  paths: one,
  scope: 'dashboard:write',
  params,
  response: Widget,
  status: 200,
  body: z.object({ size: integer({ min: 0 }).optional() }),
});
const destroy = route({
  ...shared,
  handler: 'widgets/destroy',
  method: 'DELETE',
  paths: one,
  scope: 'dashboard:write',
  params,
  status: 204,
});
const seal = route({
  ...shared,
  handler: 'widgets/seal',
  method: 'POST',
  paths: [`${one[0]}/seal`],
  scope: 'dashboard:write',
  params,
  status: 200,
  conditional: true,
});
const open = route({
  ...shared,
  handler: 'open',
  method: 'GET',
  paths: ['/api/open'],
  scope: 'public',
  params: z.object({}),
  status: 200,
});
const show = route({
  ...shared,
  handler: 'show',
  method: 'GET',
  paths: ['/shown'],
  scope: 'public',
  params: z.object({}),
  response: Widget,
  content: ['text/html'],
  orEmpty: true,
  status: 200,
});

const widgets = openApi([list, create, retrieve, update, destroy, seal, open, show]);

/** The named member of the document, or of a part of it. */
function at(...names: (string | number)[]): unknown {
  return names.reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], widgets);
}
const collection = '/api/organizations/{organization_id}/widgets/';
const object = `${collection}{id}/`;

/** Names of an operation's parameters that are in one place. */
const parameters = (path: string, method: string, where: string): unknown[] =>
  (at('paths', path, method, 'parameters') as { name: string; in: string }[])
    .filter((parameter) => parameter.in === where)
    .map(({ name }) => name);

/** Names of the headers that an answer has. */
const headers = (path: string, method: string, status: number): string[] =>
  Object.keys(at('paths', path, method, 'responses', status, 'headers') as object);

describe('the document of the API', () => {
  test('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(openApi(routes))));
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });

  test('names every form of an answer', () => {
    expect(at('paths', '/shown/', 'get', 'responses', 200, 'content')).toEqual({
      'application/json': { schema: { $ref: '#/components/schemas/Widget' } },
      'text/html': { schema: { type: 'string' } },
    });
    expect(at('paths', '/shown/', 'get', 'responses', 204)).toEqual({
      description: 'Done; the answer has no body.',
    });
  });

  test('has every path of every row, with the slash at the end', () => {
    const { paths } = openApi(routes);
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const declared = routes.flatMap((row) =>
      row.paths.map((path) => `${row.method.toLowerCase()} ${path}/`.replace('//', '/')),
    );
    expect(described.toSorted()).toEqual(declared.toSorted());
  });

  test('names each operation once', () => {
    const ids = Object.values(openApi(routes).paths).flatMap((methods) =>
      Object.values(methods).map((one) => one['operationId']),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('refers to nothing that is not there', () => {
    const document = openApi(routes);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) =>
      path.split('/'),
    );
    const missing = references.filter(
      (path) =>
        path.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document) ===
        undefined,
    );
    expect({ some: references.length > 0, missing }).toEqual({ some: true, missing: [] });
  });
});

describe('a row', () => {
  test('is one operation on each of its paths, named after its handler', () => {
    expect(at('paths', object, 'get', 'operationId')).toBe('widgets/retrieve');
    expect(at('paths', '/api/projects/{project_id}/widgets/{id}/', 'get', 'operationId')).toBe(
      'widgets/retrieve-in-projects',
    );
  });

  test('says which scope its key needs', () => {
    expect(at('paths', collection, 'get', 'security')).toEqual([{ personalApiKey: ['dashboard:read'] }]);
    expect(at('paths', object, 'get', 'security')).toEqual([{ personalApiKey: [] }]);
    expect(at('paths', '/api/open/', 'get', 'security')).toEqual([]);
  });

  test('names the parameters of its path, its query and its paging', () => {
    expect(parameters(object, 'get', 'path')).toEqual(['organization_id', 'id']);
    expect(parameters('/api/projects/{project_id}/widgets/{id}/', 'get', 'path')).toEqual(['project_id', 'id']);
    expect(at('paths', object, 'get', 'parameters', 1)).toEqual({
      name: 'id',
      in: 'path',
      required: true,
      schema: { type: 'string', format: 'uuid', description: "The widget's." },
    });
    expect(parameters(collection, 'get', 'query')).toEqual(['limit', 'offset', 'search', 'level']);
    expect(at('paths', collection, 'get', 'parameters', 1)).toMatchObject({
      schema: { default: 20 },
      description: expect.stringContaining('50'),
    });
    expect(at('paths', collection, 'get', 'parameters', 3)).toMatchObject({
      name: 'search',
      description: 'Part of a name.',
    });
    expect(at('paths', collection, 'get', 'parameters', 4)).toMatchObject({
      name: 'level',
      required: true,
      schema: { type: 'array' },
    });
  });

  test('says which headers it takes: repeats of creates, versions of what can be changed', () => {
    expect(parameters(collection, 'post', 'header')).toEqual(['Idempotency-Key']);
    expect(parameters(object, 'get', 'header')).toEqual(['If-None-Match']);
    expect(parameters(object, 'patch', 'header')).toEqual(['If-Match']);
    expect(parameters(object, 'delete', 'header')).toEqual(['If-Match']);
    expect(parameters(`${object}seal/`, 'post', 'header')).toEqual(['If-Match']);
    expect(parameters(collection, 'get', 'header')).toEqual([]);
  });

  test('says which headers its answer has', () => {
    expect(headers(collection, 'post', 201)).toEqual(['X-Request-Id', 'ETag', 'Idempotent-Replayed']);
    expect(headers(object, 'get', 200)).toEqual(['X-Request-Id', 'ETag']);
    expect(headers(object, 'patch', 200)).toEqual(['X-Request-Id', 'ETag']);
    expect(headers(object, 'delete', 204)).toEqual(['X-Request-Id']);
    expect(headers(collection, 'get', 200)).toEqual(['X-Request-Id']);
  });

  test('refers to its body and its answer by name', () => {
    expect(at('paths', collection, 'post', 'requestBody')).toMatchObject({
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/WidgetsCreateRequest' } } },
    });
    expect(at('paths', object, 'patch', 'requestBody')).toMatchObject({ required: false });
    expect(at('paths', object, 'get', 'responses', 200)).toMatchObject({
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Widget' } } },
    });
    expect(at('components', 'schemas', 'Widget')).toEqual({
      type: 'object',
      properties: { id: { type: 'string', format: 'uuid' }, size: { type: ['integer', 'null'] } },
      required: ['id', 'size'],
    });
    expect(at('components', 'schemas', 'WidgetsListResponse')).toMatchObject({
      properties: { results: { items: { $ref: '#/components/schemas/Widget' } } },
    });
    expect(at('paths', object, 'delete', 'responses', 204)).not.toHaveProperty('content');
  });

  test.each([
    [collection, 'get', [200, 400, 401, 403, 404, 429, 500, 503]],
    [collection, 'post', [201, 400, 401, 403, 404, 409, 413, 415, 429, 500, 503]],
    [object, 'get', [200, 304, 401, 404, 429, 500, 503]],
    [object, 'patch', [200, 400, 401, 403, 404, 409, 412, 413, 415, 429, 500, 503]],
    [object, 'delete', [204, 400, 401, 403, 404, 409, 412, 429, 500, 503]],
    [`${object}seal/`, 'post', [200, 400, 401, 403, 404, 409, 412, 413, 415, 429, 500, 503]],
    ['/api/open/', 'get', [200, 429, 500, 503]],
  ])('%s %s lists the failures that it can have', (path, method, statuses) => {
    expect(Object.keys(at('paths', path, method, 'responses') as object).map(Number)).toEqual(statuses);
  });
});

test('every failure is described, with its four fields', () => {
  for (const [kind, { status, type, code, detail }] of Object.entries(FAILURES)) {
    const examples = at('components', 'responses', status, 'content', 'application/json', 'examples');
    expect(examples).toHaveProperty(kind, { value: { type, code, detail, attr: null } });
  }
});

test('a body that needs one of two fields says so', () => {
  const { schemas } = openApi(routes).components;
  expect(schemas['InvitesCreateRequest']).toMatchObject({
    anyOf: [{ required: ['target_email'] }, { required: ['email'] }],
  });
  expect(schemas['DashboardsMoveTileRequest']).toMatchObject({
    required: ['tile'],
    anyOf: [{ required: ['toDashboard'] }, { required: ['to_dashboard'] }],
  });
});

test('two different schemas of one name are a mistake', () => {
  const other = route({
    ...retrieve,
    handler: 'other',
    paths: ['/api/other'],
    response: z.object({ id: z.string() }).meta({ id: 'Widget' }),
  });
  expect(() => openApi([retrieve, other])).toThrow('two different schemas are named Widget');
});

test('every part of the reference that rows name says what it is about, and there is no other', () => {
  const named = new Set(routes.map(({ tag }) => tag));
  expect(new Set(Object.keys(OPENAPI_TAGS))).toEqual(named);
  expect(openApi(routes).tags).toEqual(
    Object.entries(OPENAPI_TAGS).map(([name, description]) => ({ name, description })),
  );
});

describe('the config of a destination', () => {
  const { schemas } = document.components;
  const configOf = (component: string) =>
    (schemas[component] as { properties: { config: { properties: object; required?: string[] } } }).properties.config;

  test.each(DESTINATIONS.map((destination) => [destination.type, destination] as const))(
    'of type %s is described by its keys, in answers without those that are secret',
    (type, { config, secrets }) => {
      const keys = Object.keys(config.shape);
      const sent = configOf(`${type}DestinationInput`);
      expect(Object.keys(sent.properties)).toEqual([...keys, 'exclude_events', 'include_events']);
      expect(configOf(`${type}DestinationPatch`)).not.toHaveProperty('required');
      const answered = JSON.stringify(schemas[`${type}Destination`]);
      for (const secret of secrets) expect(answered).not.toContain(`"${secret}"`);
    },
  );

  test('is told by the type: a generated client knows the keys', () => {
    expect(schemas['BatchExportInput']).toMatchObject({
      properties: { destination: { $ref: '#/components/schemas/DestinationInput' } },
    });
    expect(schemas['DestinationInput']).toMatchObject({ discriminator: { propertyName: 'type' } });
    expect(configOf('S3DestinationInput').required).toContain('bucket_name');
  });
});

test('queries are described by their kinds, and filters of exports as such, so that generated clients know both', () => {
  const { schemas } = document.components;
  const { anyOf } = schemas['Query'] as { readonly anyOf: readonly { readonly $ref: string }[] };
  const names = anyOf.map(({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1));
  expect(names).toEqual(expect.arrayContaining([...KINDS.map(({ name }) => name), 'InsightVizNode']));
  for (const name of names) expect(schemas[name]).toMatchObject({ properties: { kind: { const: name } } });
  expect(schemas['QueryCreateRequest']).toMatchObject({
    properties: { query: { $ref: '#/components/schemas/Query' } },
  });
  const properties = { $ref: '#/components/schemas/QueryFilters' };
  expect(schemas['TrendsQuery']).toMatchObject({
    properties: { properties, series: { items: { properties: { properties } } } },
  });
  expect(JSON.stringify(schemas['QueryFilters'])).toContain('#/components/schemas/QueryFilter"');
  expect(JSON.stringify(schemas['QueryFilter'])).toContain('"is_date_before"');
  const items = { $ref: '#/components/schemas/PropertyFilter' };
  for (const name of ['BatchExport', 'BatchExportInput'])
    expect(schemas[name]).toMatchObject({ properties: { filters: { anyOf: [{ items }, { type: 'null' }] } } });
});
