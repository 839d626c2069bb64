/** Customers' servers for the destinations beside S3, each at a public name that leads here (surroundings.ts). */
import type { Certificate } from '../support/certificate.ts';
import { openPostgres, startPostgres } from '../support/postgres.ts';
import { startReceiver } from '../support/receiver.ts';
import { REDSHIFT_WORDS } from '../support/redshift-stand-in.ts';
import { startTlsProxy } from '../support/tls-proxy.ts';

interface Receiver {
  /** Type and config. */
  readonly destination: { readonly type: string; readonly config: object };
  /** Rows that have arrived; null: nobody can tell. */
  rows(): Promise<number | null>;
  close(): Promise<void>;
}

async function overHttp(): Promise<Receiver> {
  const receiver = await startReceiver();
  const config = { url: `${receiver.url.replace('127.0.0.1', 'batches.acme.com')}/batch/`, token: 'phc_acme' };
  const batchOf = (body: string) => (JSON.parse(body) as { batch: unknown[] }).batch;
  return {
    destination: { type: 'HTTP', config },
    rows: async () => receiver.received.reduce((sum, { body }) => sum + batchOf(body).length, 0),
    close: () => receiver.close(),
  };
}

const intoDatabase =
  (type: string, words = '') =>
  async (certificate: Certificate): Promise<Receiver> => {
    const server = await startPostgres();
    const database = await openPostgres(server.config);
    if (words !== '') await database.sql(words);
    const proxy = await startTlsProxy(server.config, certificate);
    const reached = { host: 'database.acme.com', port: proxy.port };
    return {
      destination: { type, config: { ...server.config, ...reached, schema: 'public', table_name: 'events' } },
      rows: async () => Number((await database.sql('SELECT count(*) FROM events'))[0]?.['count']),
      close: async () => {
        await proxy.close();
        await database.close();
        await server.stop();
      },
    };
  };

const nowhere = async (): Promise<Receiver> => ({
  destination: { type: 'NoOp', config: {} },
  rows: async () => null,
  close: async () => {},
});

/** How a receiver is started, by the destination's type; with a certificate that functions trust. */
export const RECEIVERS: Readonly<Record<string, (certificate: Certificate) => Promise<Receiver>>> = {
  HTTP: overHttp,
  NoOp: nowhere,
  Postgres: intoDatabase('Postgres'),
  Redshift: intoDatabase('Redshift', REDSHIFT_WORDS),
};
