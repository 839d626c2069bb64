/** Makes the reference of the API from the rows: an OpenAPI 3.1 document. */
import * as z from 'zod';
import { PAGING, type PagingRule, type Route, TWIN, takesBody } from '../http/route.ts';
import { FAILURES, type FailureKind } from '../ports/errors.ts';
import { OPENAPI_TAGS } from './openapi-tags.ts';

/** A JSON Schema or a part of an OpenAPI document. */
type JsonObject = { readonly [name: string]: unknown };

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: JsonObject;
  readonly servers: readonly JsonObject[];
  readonly tags: readonly JsonObject[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonObject>>;
    readonly responses: Readonly<Record<string, JsonObject>>;
    readonly headers: JsonObject;
    readonly securitySchemes: JsonObject;
  };
}

const SECURITY_SCHEME = 'personalApiKey';

/** Schemas by the names of the components in whose place they are described: of parts whose keys depend on a kind. */
type Kinds = Readonly<Record<string, { readonly schema: z.ZodType; readonly io: 'input' | 'output' }>>;

/** Returns the description of every row, on every path of it. Throws when two rows describe one name differently. */
export function openApi(rows: readonly Route[], kinds: Kinds = {}): OpenApi {
  const schemas = new Map<string, JsonObject>([['Error', ERROR]]);
  const paths: Record<string, Record<string, JsonObject>> = {};
  const versioned = versionedPaths(rows);
  for (const row of rows) {
    for (const path of row.paths) {
      (paths[path === '/' ? path : `${path}/`] ??= {})[row.method.toLowerCase()] = operation(row, path, {
        schemas,
        versioned,
      });
    }
  }
  for (const [name, { schema, io }] of Object.entries(kinds)) {
    if (schemas.has(name)) schemas.set(name, jsonSchema(schema, io, schemas));
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Workspace Management Service', version: '1', description: DESCRIPTION },
    servers: [{ url: '/' }],
    tags: Object.entries(OPENAPI_TAGS)
      .filter(([name]) => rows.some(({ tag }) => tag === name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: Object.fromEntries([...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      responses: failureResponses(),
      headers: HEADERS,
      securitySchemes: {
        [SECURITY_SCHEME]: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A personal API key. `Bearer` is case-sensitive. The roles of an operation are scopes of the key.',
        },
      },
    },
  };
}

const DESCRIPTION = [
  'Every path works with and without the slash at its end. HEAD is answered as GET, without the body.',
  'Errors always have four fields: `type`, `code`, `detail` and `attr` (the field at fault; nested names are joined',
  'with `__`). A scope that ends in `:write` includes the one that ends in `:read`.',
].join(' ');

const ERROR: JsonObject = {
  type: 'object',
  description: 'The first thing that is wrong.',
  properties: {
    type: { type: 'string', enum: [...new Set(Object.values(FAILURES).map(({ type }) => type))] },
    code: { type: 'string' },
    detail: { type: 'string', description: 'For a person to read.' },
    attr: { type: ['string', 'null'], description: 'The field at fault.' },
  },
  required: ['type', 'code', 'detail', 'attr'],
};

const HEADERS: Readonly<Record<string, JsonObject>> = {
  'X-Request-Id': { description: 'Names this request in the log of the service.', schema: { type: 'string' } },
  ETag: { description: 'The version of the object: for If-Match and If-None-Match.', schema: { type: 'string' } },
  'Idempotent-Replayed': {
    description: '`true` when an earlier request with this Idempotency-Key created the object.',
    schema: { type: 'string' },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer' } },
  Allow: { description: 'The methods that the path has.', schema: { type: 'string' } },
};

/** Request headers, as parameters of an operation. */
const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'At most 255 ASCII characters. For 24 hours a repeat of the request with the same key and body is answered with ' +
    'the object that the first one created; with another body, or another API key, it is a 409.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  description: 'The ETag that the object must still have; if it has another one, the answer is 412.',
  schema: { type: 'string' },
};
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description:
    'The ETag that the caller has; if nothing that is shown has changed since, the answer may be 304 without a body.',
  schema: { type: 'string' },
};

/** Returns whether the path has the method in name only. */
const isRefused = ({ status }: Route): boolean => status === 405;

/** Returns the paths of objects with a version: those that can be changed. */
function versionedPaths(rows: readonly Route[]): ReadonlySet<string> {
  return new Set(rows.filter(({ method }) => method === 'PATCH').flatMap(({ paths }) => paths));
}

/** Returns whether the operation may be asked for on one version of the object alone. */
const takesIfMatch = (row: Route, path: string, versioned: ReadonlySet<string>): boolean =>
  row.conditional === true || (row.method !== 'GET' && versioned.has(path) && !isRefused(row));

/** Returns whether the operation answers one object with a version. */
function answersVersion({ method, status }: Route, path: string, versioned: ReadonlySet<string>): boolean {
  if (status === 201) return [...versioned].some((other) => other.slice(0, other.lastIndexOf('/')) === path);
  return versioned.has(path) && method !== 'DELETE';
}

interface Shared {
  readonly schemas: Map<string, JsonObject>;
  readonly versioned: ReadonlySet<string>;
}

/** Returns the description of an operation, with the fields of PostHog's that it lacks. */
function described({ description, unsupported = {} }: Route): JsonObject {
  const names = Object.keys(unsupported).map((name) => `\`${name}\``);
  const lacking =
    names.length === 0 ? [] : [`Not supported, and refused where they would change something: ${names.join(', ')}.`];
  const sentences = [...(description === undefined ? [] : [description]), ...lacking];
  return sentences.length === 0 ? {} : { description: sentences.join(' ') };
}

function operation(row: Route, path: string, { schemas, versioned }: Shared): JsonObject {
  const hasVersion = answersVersion(row, path, versioned);
  return {
    operationId: operationId(row, path),
    ...(path === row.paths[0] ? {} : { [TWIN]: row.handler }),
    tags: [row.tag],
    summary: row.summary,
    ...described(row),
    security: security(row),
    parameters: [
      ...pathParameters(row, path, schemas),
      ...queryParameters(row, schemas),
      ...(row.idempotent === true ? [IDEMPOTENCY_KEY] : []),
      ...(row.method === 'GET' && versioned.has(path) ? [IF_NONE_MATCH] : []),
      ...(takesIfMatch(row, path, versioned) ? [IF_MATCH] : []),
    ],
    ...(row.body === undefined ? {} : { requestBody: requestBody(row, row.body, schemas) }),
    ...(row.maxBytes === undefined ? {} : { requestBody: BYTES }),
    responses: {
      [row.status]: success(row, hasVersion, schemas),
      ...(row.orAccepted === true ? { 202: { ...success(row, false, schemas), description: 'It is under way.' } } : {}),
      ...(row.orEmpty === true ? { 204: { description: 'Done; the answer has no body.' } } : {}),
      ...(hasVersion && row.method === 'GET' ? { 304: { description: 'The object has not changed.' } } : {}),
      ...failures(row, path, versioned),
    },
  };
}

/** Returns the handler's name; a second path adds where it begins, since names of operations are unique. */
function operationId({ handler, paths }: Route, path: string): string {
  return path === paths[0] ? handler : `${handler}-in-${path.replace('/api/', '/').split('/')[1]}`;
}

function security({ scope }: Route): readonly JsonObject[] {
  if (scope === 'public') return [];
  return [{ [SECURITY_SCHEME]: scope === 'any' ? [] : [scope] }];
}

const TENANTS: Readonly<Record<string, string>> = {
  organization_id: "A uuid, or `@current`: the caller's first organization.",
  project_id: "A number, or `@current`: the first project of the caller's first organization.",
};

function pathParameters(row: Route, path: string, schemas: Map<string, JsonObject>): JsonObject[] {
  const known = propertiesOf(row.params, schemas);
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...(TENANTS[name] === undefined ? {} : { description: TENANTS[name] }),
    schema: TENANTS[name] === undefined ? (known.get(name)?.schema ?? { type: 'string' }) : { type: 'string' },
  }));
}

function queryParameters(row: Route, schemas: Map<string, JsonObject>): JsonObject[] {
  const own = row.query === undefined ? new Map<string, Property>() : propertiesOf(row.query, schemas);
  const all = new Map([...(row.paging === undefined ? [] : pagingParameters(row.paging)), ...own]);
  return [...all].map(([name, { schema, required }]) => {
    const { description, ...rest } = schema;
    return {
      name,
      in: 'query',
      ...(required ? { required } : {}),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

const optional = (schema: JsonObject): Property => ({ schema, required: false });

const offsetUpTo = (maximum: number): [string, Property] => [
  'offset',
  optional({ type: 'integer', minimum: 0, maximum, default: 0, description: 'Results that are passed over.' }),
];

function pagingParameters(rule: PagingRule): [string, Property][] {
  const { kind, limit, max, maxOffset } = { ...PAGING, ...rule };
  const limitOf = {
    type: 'integer',
    minimum: 1,
    default: limit,
    ...(maxOffset === undefined
      ? { description: `Results per page; more than ${max} is taken as ${max}.` }
      : {
          maximum: max,
          description: `Results per page. Over ${PAGING.max}, or with an \`offset\`, a page that is too large is refused.`,
        }),
  };
  return [
    ['limit', optional(limitOf)],
    kind === 'offset'
      ? ['offset', optional({ type: 'integer', minimum: 0, default: 0, description: 'Index of the first result.' })]
      : ['cursor', optional({ type: 'string', description: 'As `next` and `previous` carry it.' })],
    ...(kind === 'cursor' && maxOffset !== undefined ? [offsetUpTo(maxOffset)] : []),
  ];
}

const BYTES: JsonObject = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
};

/** What a body cannot be without: fields, and one of several. */
interface Needs {
  readonly required?: readonly string[];
  readonly anyOf?: readonly unknown[];
}

function requestBody(row: Route, body: z.ZodType, schemas: Map<string, JsonObject>): JsonObject {
  const schema = component(body, 'input', `${pascal(row.handler)}Request`, schemas);
  const { required = [], anyOf = [] } = (schemas.get(String(schema['$ref']).slice(REF.length)) ?? {}) as Needs;
  return {
    required: [...required, ...anyOf].length > 0,
    content: {
      'application/json': { schema, ...(row.example === undefined ? {} : { example: row.example }) },
      'application/x-www-form-urlencoded': { schema },
    },
  };
}

function success(row: Route, hasVersion: boolean, schemas: Map<string, JsonObject>): JsonObject {
  const headers = [
    'X-Request-Id',
    ...(hasVersion ? ['ETag'] : []),
    ...(row.idempotent === true ? ['Idempotent-Replayed'] : []),
    ...(isRefused(row) ? ['Allow'] : []),
  ];
  const { response, handler, content: types = [] } = row;
  const content = {
    ...(response && {
      'application/json': { schema: component(response, 'output', `${pascal(handler)}Response`, schemas) },
    }),
    ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
  };
  const isEmpty = Object.keys(content).length === 0;
  return {
    description: isRefused(row) ? 'Always.' : isEmpty ? 'Done; the answer has no body.' : 'Done.',
    headers: headersNamed(headers),
    ...(isEmpty ? {} : { content }),
  };
}

const headersNamed = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Returns whether what is there can stand in the way of the operation: it changes the table, or the file of an import. */
const isOfState = (row: Route): boolean =>
  row.method !== 'GET' && !isRefused(row) && (row.table === undefined || row.needs?.includes('imports') === true);

/** Returns the failures that an operation can have, by status. */
function failures(row: Route, path: string, versioned: ReadonlySet<string>): JsonObject {
  const kinds: FailureKind[] = ['throttled', 'server_error', 'unavailable'];
  if (row.scope !== 'public') kinds.push('not_authenticated');
  if (row.scope !== 'public' && row.scope !== 'any') kinds.push('permission_denied');
  if (path.includes('{')) kinds.push('not_found');
  if (row.query !== undefined || row.paging?.kind === 'cursor') kinds.push('validation');
  if (takesBody(row)) kinds.push('validation', 'request_too_large', 'unsupported_media_type');
  if (row.maxBytes !== undefined) kinds.push('request_too_large');
  if (isOfState(row)) kinds.push('validation', 'conflict');
  if (takesIfMatch(row, path, versioned)) kinds.push('precondition_failed');
  const statuses = [...new Set(kinds.map((kind) => FAILURES[kind].status))].toSorted((a, b) => a - b);
  return Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }]));
}

function failureResponses(): Readonly<Record<string, JsonObject>> {
  const byStatus = Map.groupBy(Object.entries(FAILURES), ([, { status }]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, kinds]) => [
      String(status),
      {
        description: kinds.map(([, { detail }]) => detail).join(' Or: '),
        headers: headersNamed([
          'X-Request-Id',
          ...(status === 429 || status === 503 ? ['Retry-After'] : status === 405 ? ['Allow'] : []),
        ]),
        content: {
          'application/json': {
            schema: { $ref: `${REF}Error` },
            examples: Object.fromEntries(
              kinds.map(([kind, { type, code, detail }]) => [kind, { value: { type, code, detail, attr: null } }]),
            ),
          },
        },
      },
    ]),
  );
}

const REF = '#/components/schemas/';

const pascal = (handler: string): string =>
  handler.replace(/(?:^|[/-])(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Returns a reference to the schema's component, which is added under its own name, or else the given one. */
function component(
  schema: z.ZodType,
  io: 'input' | 'output',
  name: string,
  schemas: Map<string, JsonObject>,
): JsonObject {
  const found = jsonSchema(schema, io, schemas);
  if ('$ref' in found) return found;
  addComponent(schemas, name, found);
  return { $ref: `${REF}${name}` };
}

function addComponent(schemas: Map<string, JsonObject>, name: string, schema: JsonObject): void {
  const known = schemas.get(name);
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema)) {
    throw new Error(`two different schemas are named ${name}`);
  }
  schemas.set(name, schema);
}

interface Property {
  readonly schema: JsonObject;
  readonly required: boolean;
}

/** Returns the fields of an object's schema, as a caller sends them. */
function propertiesOf(schema: z.ZodType, schemas: Map<string, JsonObject>): Map<string, Property> {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input', schemas) as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  return new Map(
    Object.entries(properties).map(([name, property]) => [
      name,
      { schema: property, required: required.includes(name) },
    ]),
  );
}

/** Returns the JSON Schema of a zod schema; named ones inside it become components. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Map<string, JsonObject>): JsonObject {
  const { properties, $defs = {} } = z.toJSONSchema(z.object({ it: schema }), {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema),
  }) as unknown as { properties: { it: JsonObject }; $defs?: Record<string, JsonObject> };
  for (const [name, { id: _, ...defined }] of Object.entries($defs))
    addComponent(schemas, name, withComponents(defined));
  return withComponents(properties.it);
}

/** Removes what no reader needs: patterns that a format implies, the bounds of safe integers, closed objects. */
function simplify(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}

/** Returns the schema with references to components in the place of its own definitions. */
function withComponents<T>(schema: T): T {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${REF}`)) as T;
}
