/** Servers of customers' to which whole exports deliver, and what is there afterwards. */
import { startBucket } from './bucket.ts';
import type { ExportWorldOptions } from './export-world.ts';
import { newDatabase } from './postgres.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export interface DestinationServer {
  readonly destination: NonNullable<ExportWorldOptions['destination']>;
  /** Returns the uuid of every row that is there, as often as it is there, in order. */
  rows(): Promise<string[]>;
  /** Returns what no reader should meet: unfinished uploads, open sessions. */
  leftovers(): Promise<readonly string[]>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

interface Batch {
  readonly batch: readonly { readonly uuid: string }[];
}

const uuidsOf = (body: string): string[] => (JSON.parse(body) as Batch).batch.map(({ uuid }) => uuid);

export async function s3Destination(): Promise<DestinationServer> {
  const bucket = await startBucket();
  const { config } = bucket;
  return {
    destination: { type: 'S3', config },
    async rows() {
      const uuids: string[] = [];
      for (const key of await bucket.keys()) {
        const lines = (await bucket.read(key)).body.toString().trimEnd().split('\n');
        uuids.push(...lines.map((line) => (JSON.parse(line) as { uuid: string }).uuid));
      }
      return uuids.toSorted();
    },
    leftovers: async () => bucket.uploads(),
    empty: () => bucket.empty(),
    close: () => bucket.close(),
  };
}

export async function postgresDestination(): Promise<DestinationServer> {
  const database = await newDatabase();
  const schema = await database.newSchema();
  const texts = async (query: string): Promise<string[]> => (await database.sql(query)).map(({ text }) => String(text));
  return {
    destination: { type: 'Postgres', config: { ...database.config, schema } },
    rows: () => texts('SELECT uuid AS text FROM events ORDER BY uuid'),
    leftovers: () =>
      texts(
        `SELECT query AS text FROM pg_stat_activity
          WHERE state LIKE 'idle in transaction%' AND datname = current_database()`,
      ),
    empty: async () => void (await database.sql('DROP TABLE IF EXISTS events, batch_export_deliveries')),
    close: () => database.close(),
  };
}

export async function httpDestination(): Promise<DestinationServer & { readonly receiver: Receiver }> {
  const receiver = await startReceiver();
  return {
    receiver,
    destination: { type: 'HTTP', config: { url: `${receiver.url}/batch/`, token: 'secret-of-the-test' } },
    rows: async () => receiver.received.flatMap(({ body }) => uuidsOf(body)).toSorted(),
    leftovers: async () => [],
    empty: async () => receiver.reset(),
    close: () => receiver.close(),
  };
}
