/**
 * Writes the types of the console's client from docs/openapi.json, so that a document that is wrong is an error of
 * types: `node infra/development/client-types.ts`. What it writes is not kept in the repository.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly items?: Schema | boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
  readonly $ref?: string;
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const ROOT = join(import.meta.dirname, '..', '..');
const TARGET = join(ROOT, 'build', 'types', 'api.d.ts');
const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;

const quoted = (value: unknown): string => JSON.stringify(value);
const united = (schemas: readonly Schema[], sign: string): string => `(${schemas.map(typeOf).join(` ${sign} `)})`;

const NAMED: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** Returns the type of the values that a schema allows. */
function typeOf(schema: Schema | boolean): string {
  if (typeof schema === 'boolean') return schema ? 'unknown' : 'never';
  const { $ref, type } = schema;
  if ($ref !== undefined) return `components['schemas'][${quoted($ref.slice($ref.lastIndexOf('/') + 1))}]`;
  if (schema.enum !== undefined) return `(${schema.enum.map(quoted).join(' | ')})`;
  if ('const' in schema) return quoted(schema.const);
  if (schema.anyOf !== undefined && schema.properties === undefined) return united(schema.anyOf, '|');
  if (schema.oneOf !== undefined) return united(schema.oneOf, '|');
  if (Array.isArray(type))
    return united(
      type.map((one: string): Schema => ({ ...schema, type: one })),
      '|',
    );
  if (type === 'array') return `${typeOf(schema.items ?? {})}[]`;
  if (type === 'object' || schema.properties !== undefined) return objectOf(schema);
  return NAMED[String(type)] ?? 'unknown';
}

function objectOf({ properties, required = [], additionalProperties }: Schema): string {
  const names = Object.entries(properties ?? {});
  if (names.length === 0)
    return `{ [name: string]: ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'} }`;
  const fields = names.map(([name, one]) => `${quoted(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one)}`);
  return `{ ${fields.join('; ')} }`;
}

/** Returns what a request or an answer holds. */
function contentOf({ content }: Content): string | undefined {
  const types = Object.entries(content ?? {}).map(([media, { schema }]) => `${quoted(media)}: ${typeOf(schema ?? {})}`);
  return types.length === 0 ? undefined : `{ ${types.join('; ')} }`;
}

function parametersOf({ parameters = [] }: Operation, place: string): string {
  const named = parameters.filter((one) => one.in === place);
  if (named.length === 0) return `${place}?: never`;
  const isNeeded = named.some(({ required = false }) => required);
  const fields = named.map(
    ({ name, required = false, schema }) => `${quoted(name)}${required ? '' : '?'}: ${typeOf(schema)}`,
  );
  return `${place}${isNeeded ? '' : '?'}: { ${fields.join('; ')} }`;
}

function operationOf(operation: Operation): string {
  const places = ['query', 'header', 'path', 'cookie'].map((place) => parametersOf(operation, place));
  const { requestBody } = operation;
  const body = requestBody === undefined ? undefined : contentOf(requestBody);
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const content =
      response.$ref === undefined ? contentOf(response) : "{ 'application/json': components['schemas']['Error'] }";
    return `${quoted(Number.isNaN(Number(status)) ? status : Number(status))}: { headers: { [name: string]: unknown }; content${content === undefined ? '?: never' : `: ${content}`} }`;
  });
  return [
    `{ parameters: { ${places.join('; ')} }`,
    body === undefined
      ? 'requestBody?: never'
      : `requestBody${requestBody?.required === false ? '?' : ''}: { content: ${body} }`,
    `responses: { ${responses.join('; ')} } }`,
  ].join('; ');
}

const document = JSON.parse(readFileSync(join(ROOT, 'docs', 'openapi.json'), 'utf8')) as Document;
const schemas = Object.entries(document.components.schemas).map(
  ([name, one]) => `    ${quoted(name)}: ${typeOf(one)};`,
);
const paths = Object.entries(document.paths).map(([path, operations]) => {
  const methods = METHODS.map((method) => {
    const operation = operations[method];
    return operation === undefined ? `${method}?: never` : `${method}: ${operationOf(operation)}`;
  });
  return `  ${quoted(path)}: { ${methods.join('; ')} };`;
});

mkdirSync(dirname(TARGET), { recursive: true });
writeFileSync(
  TARGET,
  [
    'export interface components {',
    '  schemas: {',
    ...schemas,
    '  };',
    '}',
    'export interface paths {',
    ...paths,
    '}',
    '',
  ].join('\n'),
);
