/**
 * Athena's `startQueryExecution.sync`: an UNLOAD over the lake's Glue table, answered by what stands for
 * Trino; what needs more of it fails here.
 * The table is the lake's files with the partitions of their paths, and `$path` as Athena has it; what is unloaded goes
 * to the address that the query names, in a folder for each partition, as Parquet without the partition's column.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { S3 } from '@aws-sdk/client-s3';
import { literal, pathList } from '../../lib/duckdb/database.ts';
import { StateError } from '../../lib/workflow/state-error.ts';
import { asDuckdb, openTrino } from '../support/trino.ts';
import { ACCOUNT, type Assembly, PARTITION, REGION } from './assembly.ts';
import { accessesOfStart } from './athena.ts';
import type { Access } from './permissions.ts';

export interface Query {
  readonly QueryString: string;
  readonly QueryExecutionContext?: { readonly Database: string };
  readonly WorkGroup: string;
}

/** A query that Athena would fail. */
class QueryFailed extends Error {
  override readonly name = 'QueryFailed';
}

interface QueriesOptions {
  readonly assembly: Assembly;
  readonly client: S3;
  /** Returns whether the caller's role allows it: Athena acts with its rights. */
  readonly allows: (access: Access) => boolean;
}

const UNLOAD =
  /^UNLOAD \((?<select>.*)\)\s+TO '(?<address>s3:\/\/[^']+)'\s+WITH \(format = 'PARQUET', compression = 'SNAPPY', partitioned_by = ARRAY\['(?<column>\w+)'\]\)$/s;

/** Runs one query to its end. A failure has the cause that the machine gets of Athena: the execution of the query. */
export async function runQuery(query: Query, options: QueriesOptions): Promise<void> {
  try {
    await run(query, options);
  } catch (error) {
    if (!(error instanceof QueryFailed)) throw error;
    const { QueryString, QueryExecutionContext, WorkGroup } = query;
    const Status = { AthenaError: { ErrorCategory: 2 }, State: 'FAILED', StateChangeReason: error.message };
    const QueryExecution = { Query: QueryString, QueryExecutionContext, StatementType: 'DML', Status, WorkGroup };
    throw new StateError('States.TaskFailed', JSON.stringify({ QueryExecution }));
  }
}

async function run(query: Query, options: QueriesOptions): Promise<void> {
  const { QueryString, QueryExecutionContext, WorkGroup } = query;
  const { assembly, client } = options;
  const check = (action: string, resource: string): void => {
    if (!options.allows({ action, resource }))
      throw new QueryFailed(`not authorized to perform ${action} on ${resource}`);
  };
  const group = assembly.ofType('AWS::Athena::WorkGroup').find(({ properties }) => properties['Name'] === WorkGroup);
  if (group === undefined) throw new QueryFailed(`WorkGroup ${WorkGroup} is not found`);
  for (const action of ['StartQueryExecution', 'GetQueryExecution']) {
    check(`athena:${action}`, `arn:${PARTITION}:athena:${REGION}:${ACCOUNT}:workgroup/${WorkGroup}`);
  }
  const { select = '', address = '', column = '' } = UNLOAD.exec(QueryString)?.groups ?? {};
  if (select === '') throw new QueryFailed(`mismatched input: ${QueryString.slice(0, 200)}`);
  if (Buffer.byteLength(QueryString) > 262_144) throw new QueryFailed('the query is too long');

  const [, database = '', table = ''] = /FROM "(\w+)"\."(\w+)"/.exec(select) ?? [];
  const glue = assembly
    .ofType('AWS::Glue::Table')
    .find(({ properties }) => properties['DatabaseName'] === database && properties['TableInput']['Name'] === table);
  if (glue === undefined) throw new QueryFailed(`Table ${database}.${table} does not exist`);
  const catalog = (path: string): string => `arn:${PARTITION}:glue:${REGION}:${ACCOUNT}:${path}`;
  for (const { action, resource } of accessesOfStart(QueryExecutionContext?.Database)) check(action, resource);
  for (const resource of ['catalog', `database/${database}`, `table/${database}/${table}`]) {
    for (const action of ['GetDatabase', 'GetTable', 'GetPartitions']) check(`glue:${action}`, catalog(resource));
  }

  const folder = await mkdtemp(join(tmpdir(), 'athena-'));
  try {
    const { bucket, key: root } = placeOf(glue.properties['TableInput']['StorageDescriptor']['Location']);
    const [, team] = /team_id = '(\d+)'/.exec(select) ?? [];
    if (team === undefined) throw new QueryFailed('the injected projected partition column team_id must have a value');
    const prefix = `${root}team_id=${team}/`;
    for (const action of ['ListBucket', 'GetBucketLocation']) check(`s3:${action}`, `arn:${PARTITION}:s3:::${bucket}`);
    const paths: string[] = [];
    const { Contents = [], IsTruncated } = await client.listObjectsV2({ Bucket: bucket, Prefix: prefix });
    if (IsTruncated === true) throw new Error('the rehearsal reads a thousand files of the lake at most');
    for (const { Key = '' } of Contents) {
      check('s3:GetObject', `arn:${PARTITION}:s3:::${bucket}/${Key}`);
      const { Body } = await client.getObject({ Bucket: bucket, Key });
      const path = join(folder, 'lake', Key);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, (await Body?.transformToByteArray()) ?? '');
      paths.push(path);
    }
    const unloaded = join(folder, 'unloaded');
    await mkdir(unloaded);
    if (paths.length > 0) {
      const columns = [
        ...glue.properties['TableInput']['StorageDescriptor']['Columns'],
        ...glue.properties['TableInput']['PartitionKeys'],
      ].map(({ Name }: { Name: string }) => Name);
      await unload({
        select,
        column,
        paths,
        columns,
        table: `"${database}"."${table}"`,
        lake: join(folder, 'lake'),
        bucket,
        unloaded,
      });
    }
    const target = placeOf(address);
    const arn = `arn:${PARTITION}:s3:::${target.bucket}`;
    for (const action of ['ListBucket', 'GetBucketLocation']) check(`s3:${action}`, arn);
    const there = await client.listObjectsV2({ Bucket: target.bucket, Prefix: target.key });
    if ((there.Contents ?? []).length > 0)
      throw new QueryFailed('HIVE_PATH_ALREADY_EXISTS: the target of an UNLOAD must be empty');
    for (const name of await readdir(unloaded, { recursive: true })) {
      if (!name.endsWith('.parquet')) continue;
      // Athena gives its files no ending.
      const Key = `${target.key}${name.replace(/\.parquet$/, '')}`;
      check('s3:PutObject', `${arn}/${Key}`);
      await client.putObject({ Bucket: target.bucket, Key, Body: await readFile(join(unloaded, name)) });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function placeOf(address: string): { bucket: string; key: string } {
  const { host, pathname } = new URL(address);
  return { bucket: host, key: pathname.slice(1) };
}

interface Unload {
  readonly select: string;
  readonly column: string;
  readonly paths: readonly string[];
  readonly columns: readonly string[];
  readonly table: string;
  readonly lake: string;
  readonly bucket: string;
  readonly unloaded: string;
}

async function unload({ select, column, paths, columns, table, lake, bucket, unloaded }: Unload): Promise<void> {
  const connection = await openTrino();
  try {
    const partition = (name: string): string => `regexp_extract(filename, '/${name}=([^/]+)/', 1) AS "${name}"`;
    const listed = columns.map((name) => (['team_id', 'day', 'gen'].includes(name) ? partition(name) : `"${name}"`));
    await connection.run(`CREATE SCHEMA ${table.split('.')[0]}`);
    await connection.run(`
      CREATE VIEW ${table} AS
      SELECT ${listed.join(', ')}, replace(filename, ${literal(`${lake}/`)}, ${literal(`s3://${bucket}/`)}) AS "$path"
      FROM read_parquet(${pathList(paths)}, union_by_name = true, hive_partitioning = false, filename = true)`);
    await connection.run(
      `COPY (${asDuckdb(select)}) TO ${literal(unloaded)} (FORMAT parquet, COMPRESSION snappy, PARTITION_BY (${column}), OVERWRITE_OR_IGNORE)`,
    );
  } catch (error) {
    throw new QueryFailed(`DuckDB does not take the query: ${String(error)}`);
  } finally {
    connection.end();
  }
}
