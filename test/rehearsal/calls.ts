/**
 * The only way to AWS: every call of every function comes by. The access key tells who calls; the call's actions are
 * checked against its role, and then the service answers that stands for AWS's: DynamoDB Local, a server that speaks
 * S3's protocol, or a small imitation.
 */
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ACCOUNT, PARTITION, REGION } from './assembly.ts';
import type { Invocation } from './lambda.ts';
import type { Access, Permissions } from './permissions.ts';

/** Returns whether the caller may: a service that acts with the caller's rights asks. */
export type Allows = (access: Access) => boolean;

/** A service of which the protocol is JSON: answers a call by its name, or throws an error with AWS's name for it. */
type JsonService = (action: string, asked: never, allows: Allows) => object | Promise<object>;

const JSON_SERVICES = ['athena', 'events', 'firehose', 'kms', 'states'] as const;
type JsonServiceName = (typeof JSON_SERVICES)[number];

interface Caller {
  readonly name: string;
  /** Null: somebody who may do everything, as an operator with the rights of an administrator. */
  readonly role: string | null;
}

/** One call, as it came by. */
interface Call {
  readonly caller: string;
  readonly service: string;
  readonly action: string;
  /** Units of DynamoDB that it consumed; 0 elsewhere. */
  readonly units: number;
}

type Watcher = (call: Omit<Call, 'units'>) => unknown;

interface CallsOptions {
  readonly permissions: Permissions;
  readonly caller: (accessKey: string) => Caller | undefined;
  readonly dynamodb: string;
  readonly s3: string;
  /**
   * Now to the functions, in milliseconds since 1970: AWS tells it in every answer, and clients that are far off correct
   * themselves. An operator's clock is the system's.
   */
  readonly clock: () => number;
  readonly services: Readonly<Record<JsonServiceName, JsonService>>;
  /** Calls the function of this name; undefined: there is none. */
  readonly functions: {
    readonly arn: (name: string) => string | undefined;
    readonly invoke: (arn: string, event: unknown) => Promise<Invocation>;
  };
}

export interface Calls {
  /** `http://127.0.0.1:…`: the endpoint of every service. */
  readonly address: string;
  /** Notified of every call before it is passed on; a listener that returns a promise holds the call up. */
  readonly watch: (seen: Watcher) => () => void;
  /** Calls so far. */
  readonly log: readonly Call[];
  /** Calls of whom nobody knows, or to a service that is none of ours. */
  readonly strange: readonly string[];
  close(): Promise<void>;
}

interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const DYNAMODB_WRITES = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
};

/** DynamoDB Local keeps a database for each access key and Region; all functions have one. */
const LOCAL = 'AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0';

export async function startCalls(options: CallsOptions): Promise<Calls> {
  const { permissions } = options;
  const agent = new Agent({ keepAlive: true });
  const watchers = new Set<Watcher>();
  const log: Call[] = [];
  const strange: string[] = [];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.sendDate = false;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const received = {
      method: request.method ?? '',
      url: new URL(request.url ?? '/', 'http://aws'),
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    const [, key = '', service = ''] =
      /Credential=(\w+)\/\d+\/[\w-]+\/(\w+)\//.exec(request.headers.authorization ?? '') ?? [];
    const caller = options.caller(key);
    if (caller === undefined || !['dynamodb', 's3', 'lambda', ...JSON_SERVICES].includes(service)) {
      strange.push(`${caller?.name ?? key} called ${service} ${received.method} ${received.url.pathname}`);
      response.writeHead(403).end();
      return;
    }
    response.setHeader('Date', new Date(caller.role === null ? Date.now() : options.clock()).toUTCString());
    if (service === 'lambda') return invoke(received, response, caller);
    const action =
      service === 's3' ? s3Action(received) : (String(request.headers['x-amz-target']).split('.')[1] ?? '');
    const call = { caller: caller.name, service, action };
    for (const seen of watchers) await seen(call);
    const { role } = caller;
    const refused =
      role !== null &&
      accessesOf(service, action, received).filter((one) => !permissions.allows(role, one, caller.name));
    if (refused !== false && refused.length > 0) {
      log.push({ ...call, units: 0 });
      deny(response, service, `${caller.name} is not authorized to perform ${refused.map((one) => one.action).join()}`);
      return;
    }
    if (service === 's3') {
      log.push({ ...call, units: 0 });
      await passToS3(received, response, role, caller.name);
    } else if (service === 'dynamodb') {
      log.push({ ...call, units: await passToDynamodb(received, response) });
    } else {
      log.push({ ...call, units: 0 });
      const allows: Allows = (access) => role === null || permissions.allows(role, access, caller.name);
      await answer(response, options.services[service as JsonServiceName], action, received.body, allows);
    }
  }

  async function passToDynamodb({ method, url, headers, body }: Received, response: ServerResponse): Promise<number> {
    const asked = JSON.stringify({ ...(JSON.parse(body.toString()) as object), ReturnConsumedCapacity: 'TOTAL' });
    const { authorization: _signed, 'content-length': _length, host: _host, ...rest } = headers;
    const answered = await passed(options.dynamodb, agent, {
      method,
      url,
      headers: { ...rest, authorization: LOCAL },
      body: Buffer.from(asked),
    });
    response.writeHead(answered.status, answered.headers).end(answered.body);
    if (answered.status !== 200) return 0;
    const { ConsumedCapacity } = JSON.parse(answered.body.toString()) as { ConsumedCapacity?: Consumed | Consumed[] };
    return [ConsumedCapacity ?? []].flat().reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
  }

  /** A function calls another one: and waits for it, or not. */
  async function invoke({ url, headers, body }: Received, response: ServerResponse, caller: Caller): Promise<void> {
    const [, name = ''] =
      /^\/2015-03-31\/functions\/([\w-]+)\/invocations$/.exec(decodeURIComponent(url.pathname)) ?? [];
    const arn = options.functions.arn(name);
    const access = { action: 'lambda:InvokeFunction', resource: arn ?? name };
    log.push({ caller: caller.name, service: 'lambda', action: 'Invoke', units: 0 });
    if (arn === undefined || (caller.role !== null && !permissions.allows(caller.role, access, caller.name))) {
      const refusal = { Message: `${caller.name} may not call ${name}` };
      response.writeHead(403, { 'x-amzn-ErrorType': 'AccessDeniedException' }).end(JSON.stringify(refusal));
      return;
    }
    const invoked = options.functions.invoke(arn, JSON.parse(body.toString()));
    if (headers['x-amz-invocation-type'] === 'Event') {
      void invoked.then((outcome) => {
        if ('failed' in outcome) strange.push(`${name} failed: ${outcome.failed.errorMessage}`);
      });
      response.writeHead(202).end();
      return;
    }
    const outcome = await invoked;
    if ('payload' in outcome) response.writeHead(200).end(outcome.payload);
    else response.writeHead(200, { 'X-Amz-Function-Error': 'Unhandled' }).end(JSON.stringify(outcome.failed));
  }

  /** Without the right to list, S3 answers 403 for an object that is not there. */
  async function passToS3(
    received: Received,
    response: ServerResponse,
    role: string | null,
    name: string,
  ): Promise<void> {
    const { host: _host, ...headers } = received.headers;
    const answered = await passed(options.s3, agent, { ...received, headers });
    const { bucket, key } = s3ObjectOf(received.url);
    if (answered.status === 404 && key !== '' && role !== null) {
      const list = { action: 's3:ListBucket', resource: `arn:${PARTITION}:s3:::${bucket}` };
      if (!permissions.allows(role, list, name)) return deny(response, 's3', 'Access Denied');
    }
    response.writeHead(answered.status, answered.headers).end(answered.body);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      strange.push(`a call could not be answered: ${String(error)}`);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    strange,
    watch: (seen) => {
      watchers.add(seen);
      return () => void watchers.delete(seen);
    },
    close: () =>
      new Promise((done) => {
        agent.destroy();
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

interface Consumed {
  readonly CapacityUnits: number;
}

interface Passed {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

function passed(target: string, agent: Agent, { method, url, headers, body }: Received): Promise<Passed> {
  return new Promise((resolve, reject) => {
    const { 'transfer-encoding': _chunked, ...rest } = headers;
    const path = `${url.pathname}${url.search}`;
    const onward = send(new URL(target), { agent, method, path, headers: { ...rest, 'content-length': body.length } });
    onward.on('error', reject).on('response', (answered) => {
      const chunks: Buffer[] = [];
      answered.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      answered.on('end', () => {
        const { 'transfer-encoding': _also, connection: _connection, date: _date, ...kept } = answered.headers;
        resolve({ status: answered.statusCode ?? 502, headers: kept, body: Buffer.concat(chunks) });
      });
    });
    onward.end(body);
  });
}

async function answer(
  response: ServerResponse,
  service: JsonService,
  action: string,
  body: Buffer,
  allows: Allows,
): Promise<void> {
  const type = { 'Content-Type': 'application/x-amz-json-1.0' };
  try {
    const answered = await service(action, JSON.parse(body.toString()) as never, allows);
    response.writeHead(200, type).end(JSON.stringify(answered));
  } catch (error) {
    const { name, message } = error as Error;
    response.writeHead(400, type).end(JSON.stringify({ __type: name, message }));
  }
}

function deny(response: ServerResponse, service: string, message: string): void {
  if (service === 's3') {
    const xml = `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`;
    response.writeHead(403, { 'Content-Type': 'application/xml' }).end(xml);
  } else {
    const body = JSON.stringify({ __type: 'AccessDeniedException', message });
    response.writeHead(400, { 'Content-Type': 'application/x-amz-json-1.0' }).end(body);
  }
}

/** The workgroup is in the id of a query of Athena here, so that its rights can be told by that. */
const workGroupOf = (id: string): string => id.slice(0, id.lastIndexOf('.'));

/** Returns the actions that a call needs, each on its resource. */
function accessesOf(service: string, action: string, received: Received): Access[] {
  if (service === 's3') return s3Accesses(action, received);
  const asked = JSON.parse(received.body.toString());
  if (service === 'dynamodb') return dynamodbAccesses(action, asked);
  if (service === 'kms') {
    const context = Object.entries<string>(asked.EncryptionContext ?? {});
    const keys = Object.fromEntries(context.map(([name, value]) => [`kms:EncryptionContext:${name}`, value]));
    const resource = String(asked.KeyId).startsWith('arn:')
      ? asked.KeyId
      : `arn:${PARTITION}:kms:${REGION}:${ACCOUNT}:key/${asked.KeyId}`;
    return [{ action: `kms:${action}`, resource, keys }];
  }
  if (service === 'events') {
    const entries = asked.Entries as { EventBusName: string }[];
    return entries.map(({ EventBusName: resource }) => ({ action: `events:${action}`, resource }));
  }
  if (service === 'athena') {
    const group = asked.WorkGroup ?? workGroupOf(asked.QueryExecutionId);
    return [
      { action: `athena:${action}`, resource: `arn:${PARTITION}:athena:${REGION}:${ACCOUNT}:workgroup/${group}` },
    ];
  }
  if (service === 'firehose') {
    const resource = `arn:${PARTITION}:firehose:${REGION}:${ACCOUNT}:deliverystream/${asked.DeliveryStreamName}`;
    return [{ action: `firehose:${action}`, resource }];
  }
  return [{ action: `states:${action}`, resource: asked.stateMachineArn ?? asked.executionArn }];
}

interface ItemKey {
  readonly pk: { readonly S: string };
}

// oxlint-disable-next-line typescript/no-explicit-any
function dynamodbAccesses(action: string, asked: any): Access[] {
  const table = (name: string): string => `arn:${PARTITION}:dynamodb:${REGION}:${ACCOUNT}:table/${name}`;
  const on = (name: string, action: string, key?: ItemKey): Access => ({
    action: `dynamodb:${action}`,
    resource: table(name),
    ...(key === undefined ? {} : { keys: { 'dynamodb:LeadingKeys': key.pk.S } }),
  });
  switch (action) {
    case 'TransactWriteItems':
      return (asked.TransactItems as Record<string, { TableName: string; Key?: ItemKey; Item?: ItemKey }>[]).flatMap(
        (item) =>
          Object.entries(item).map(([kind, { TableName, Key, Item }]) =>
            on(TableName, DYNAMODB_WRITES[kind as keyof typeof DYNAMODB_WRITES], Key ?? Item),
          ),
      );
    case 'BatchGetItem':
      return Object.entries(asked.RequestItems as Record<string, { Keys: ItemKey[] }>).flatMap(([name, { Keys }]) =>
        Keys.map((key) => on(name, action, key)),
      );
    case 'BatchWriteItem':
      return Object.keys(asked.RequestItems).map((name) => on(name, action));
    case 'Query':
      return asked.IndexName === undefined
        ? [on(asked.TableName, action)]
        : [{ action: 'dynamodb:Query', resource: `${table(asked.TableName)}/index/${asked.IndexName}` }];
    default:
      return [on(asked.TableName, action, asked.Key ?? asked.Item)];
  }
}

/** Reads `/bucket/the/key`: the endpoint is an address, so the bucket is in the path. */
function s3ObjectOf({ pathname }: URL): { bucket: string; key: string } {
  const [, bucket = '', ...key] = pathname.split('/');
  return { bucket, key: decodeURIComponent(key.join('/')) };
}

/** Returns the name of the operation. */
function s3Action({ method, url, headers }: Received): string {
  const { key } = s3ObjectOf(url);
  const has = (name: string): boolean => url.searchParams.has(name);
  if (key === '') {
    if (method === 'GET')
      return has('uploads') ? 'ListMultipartUploads' : has('location') ? 'GetBucketLocation' : 'ListObjectsV2';
    if (method === 'POST' && has('delete')) return 'DeleteObjects';
    if (method === 'HEAD') return 'HeadBucket';
  } else {
    if (method === 'HEAD') return 'HeadObject';
    if (method === 'GET') return has('uploadId') ? 'ListParts' : 'GetObject';
    if (method === 'DELETE') return has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject';
    if (method === 'POST') return has('uploads') ? 'CreateMultipartUpload' : 'CompleteMultipartUpload';
    if (method === 'PUT')
      return has('partNumber') ? 'UploadPart' : 'x-amz-copy-source' in headers ? 'CopyObject' : 'PutObject';
  }
  throw new Error(`the rehearsal does not know ${method} ${url.pathname}${url.search}`);
}

function s3Accesses(action: string, { url, headers, body }: Received): Access[] {
  const { bucket, key } = s3ObjectOf(url);
  const arn = `arn:${PARTITION}:s3:::${bucket}`;
  const object = (permission: string, name = key): Access => ({
    action: `s3:${permission}`,
    resource: `${arn}/${name}`,
  });
  switch (action) {
    case 'HeadObject':
      return [object('GetObject')];
    case 'ListParts':
      return [object('ListMultipartUploadParts')];
    case 'CreateMultipartUpload':
    case 'UploadPart':
    case 'CompleteMultipartUpload':
      return [object('PutObject')];
    case 'CopyObject': {
      const [from = '', ...rest] = decodeURIComponent(String(headers['x-amz-copy-source']))
        .replace(/^\//, '')
        .split('/');
      const source = { action: 's3:GetObject', resource: `arn:${PARTITION}:s3:::${from}/${rest.join('/')}` };
      return [source, object('PutObject')];
    }
    case 'DeleteObjects':
      return [...body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, name]) => object('DeleteObject', name));
    case 'ListMultipartUploads':
      return [{ action: 's3:ListBucketMultipartUploads', resource: arn }];
    case 'GetBucketLocation':
      return [{ action: 's3:GetBucketLocation', resource: arn }];
    case 'ListObjectsV2':
    case 'HeadBucket':
      return [{ action: 's3:ListBucket', resource: arn }];
    default:
      return [object(action)];
  }
}
