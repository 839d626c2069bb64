/**
 * A cloud assembly as CloudFormation would deploy it: every resource with its intrinsic functions resolved. Names that
 * AWS would make up are made of stack and logical id; what this file does not know, it refuses.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the rehearsal takes place. The account is one that documentation uses. */
export const PARTITION = 'aws';
export const REGION = 'eu-central-1';
export const ACCOUNT = '111122223333';

export interface Resource {
  readonly stack: string;
  /** Logical id. */
  readonly id: string;
  readonly type: string;
  /** Resolved; a function or an attribute that is not known throws when it is met here. */
  readonly properties: Properties;
  /** The value of `Ref`. */
  readonly ref: string;
}

// oxlint-disable-next-line typescript/no-explicit-any
export type Properties = Readonly<Record<string, any>>;

export interface Assembly {
  readonly resources: readonly Resource[];
  ofType(type: string): Resource[];
  /** The only one of its type. */
  theOne(type: string): Resource;
  attribute(resource: Resource, name: string): string;
  /** The folder that a function's code was built into. */
  codeOf(lambda: Resource): string;
}

interface Template {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties?: unknown }>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown; readonly Export?: { readonly Name: string } }>>;
}

interface Manifest {
  readonly artifacts: Readonly<
    Record<string, { readonly type: string; readonly properties?: { templateFile?: string } }>
  >;
}

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Partition': PARTITION,
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT,
  'AWS::URLSuffix': 'amazonaws.com',
};

const json = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

/** Reads the assembly that lies in a folder. */
export function readAssembly(folder: string): Assembly {
  const { artifacts } = json(join(folder, 'manifest.json')) as Manifest;
  const stacks = Object.entries(artifacts).flatMap(([name, { type, properties }]) =>
    type === 'aws:cloudformation:stack' && properties?.templateFile !== undefined
      ? [{ name, template: json(join(folder, properties.templateFile)) as Template }]
      : [],
  );
  const resources: Resource[] = [];
  const exported = new Map<string, () => unknown>();
  const folders = new Map<string, string>();

  for (const { name: stack, template } of stacks) {
    const own = new Map<string, Resource>();
    const resolved = (value: unknown): unknown => resolve(value, own, exported);
    for (const [id, { Type: type, Properties: raw }] of Object.entries(template.Resources)) {
      let properties: Properties | undefined;
      const resource: Resource = {
        stack,
        id,
        type,
        get properties() {
          properties ??= resolved(raw ?? {}) as Properties;
          return properties;
        },
        get ref() {
          return refOf(resource);
        },
      };
      own.set(id, resource);
      resources.push(resource);
    }
    for (const { Value, Export } of Object.values(template.Outputs ?? {})) {
      if (Export !== undefined) exported.set(Export.Name, () => resolved(Value));
    }
    const assets = json(join(folder, `${stack}.assets.json`)) as {
      files: Record<string, { source: { path: string } }>;
    };
    for (const [hash, { source }] of Object.entries(assets.files))
      folders.set(`${hash}.zip`, join(folder, source.path));
  }

  const ofType = (type: string): Resource[] => resources.filter((resource) => resource.type === type);
  return {
    resources,
    ofType,
    theOne: (type) => {
      const [found, ...others] = ofType(type);
      if (found === undefined || others.length > 0) throw new Error(`there are ${others.length + 1} of ${type}`);
      return found;
    },
    attribute: attributeOf,
    codeOf: ({ id, properties }) => {
      const found = folders.get(properties['Code']['S3Key']);
      if (found === undefined) throw new Error(`the assembly lacks the code of ${id}`);
      return found;
    },
  };
}

type Known = ReadonlyMap<string, Resource>;

function resolve(value: unknown, known: Known, exported: ReadonlyMap<string, () => unknown>): unknown {
  const deeper = (inner: unknown): unknown => resolve(inner, known, exported);
  if (Array.isArray(value)) return value.map(deeper);
  if (typeof value !== 'object' || value === null) return value;
  const [[name, argument] = ['', undefined], ...more] = Object.entries(value);
  if (
    more.length > 0 ||
    !/^(Ref|Condition|Fn::\w+)$/.test(name) ||
    (name === 'Condition' && typeof argument !== 'string')
  ) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deeper(inner)]));
  }
  if (name === 'Ref') return referenced(String(argument), known);
  if (name === 'Fn::GetAtt') {
    const [id, attribute] = argument as [string, string];
    return attributeOf(resourceOf(id, known), attribute);
  }
  if (name === 'Fn::Join') {
    const [separator, parts] = argument as [string, unknown[]];
    return parts.map(deeper).join(separator);
  }
  if (name === 'Fn::Sub' && typeof argument === 'string') {
    return argument.replaceAll(/\$\{([\w:]+)\}/g, (_, reference: string) => referenced(reference, known));
  }
  if (name === 'Fn::ImportValue') {
    const found = exported.get(String(deeper(argument)));
    if (found === undefined) throw new Error(`no stack before exports ${String(deeper(argument))}`);
    return found();
  }
  throw new Error(`the rehearsal does not know ${name}`);
}

const resourceOf = (id: string, known: Known): Resource => {
  const found = known.get(id);
  if (found === undefined) throw new Error(`the template has no resource ${id}`);
  return found;
};

const referenced = (name: string, known: Known): string => PSEUDO[name] ?? resourceOf(name, known).ref;

const arn = (service: string, rest: string): string => `arn:${PARTITION}:${service}:${REGION}:${ACCOUNT}:${rest}`;

/** Returns a name as CloudFormation makes one up: at most `most` characters, different for every resource. */
function generated({ stack, id }: Resource, most = 64): string {
  const mark = createHash('sha256').update(`${stack}/${id}`).digest('hex').slice(0, 8);
  return `${`${stack}-${id}`.slice(0, most - 9)}-${mark}`;
}

function refOf(resource: Resource): string {
  const { type, properties } = resource;
  switch (type) {
    case 'AWS::S3::Bucket':
      return generated(resource, 63).toLowerCase();
    case 'AWS::KMS::Key':
      return '1234abcd-12ab-34cd-56ef-1234567890ab';
    case 'AWS::ApiGateway::RestApi':
      return 'a1b2c3d4e5';
    case 'AWS::ApiGateway::Stage':
      return properties['StageName'];
    case 'AWS::StepFunctions::StateMachine':
      return arn('states', `stateMachine:${properties['StateMachineName'] ?? generated(resource)}`);
    default:
      return generated(resource);
  }
}

function attributeOf(resource: Resource, name: string): string {
  const { type, ref } = resource;
  if (name === 'Arn') {
    switch (type) {
      case 'AWS::Lambda::Function':
        return arn('lambda', `function:${ref}`);
      case 'AWS::IAM::Role':
        return `arn:${PARTITION}:iam::${ACCOUNT}:role/${ref}`;
      case 'AWS::Logs::LogGroup':
        return arn('logs', `log-group:${ref}:*`);
      case 'AWS::S3::Bucket':
        return `arn:${PARTITION}:s3:::${ref}`;
      case 'AWS::KMS::Key':
        return arn('kms', `key/${ref}`);
      case 'AWS::DynamoDB::GlobalTable':
        return arn('dynamodb', `table/${ref}`);
      case 'AWS::SQS::Queue':
        return arn('sqs', ref);
      case 'AWS::Events::Rule':
        return arn('events', `rule/${ref}`);
      case 'AWS::StepFunctions::StateMachine':
        return ref;
      default:
    }
  }
  throw new Error(`the rehearsal does not know ${name} of ${type}`);
}
