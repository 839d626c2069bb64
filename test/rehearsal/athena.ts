/**
 * Athena as functions call it: a SELECT over the lake's Glue tables, with the caller's rights, whose rows are kept where
 * its workgroup says and read from there. Queries that machines have run are in queries.ts.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { S3 } from '@aws-sdk/client-s3';
import { s3Files } from '../../lib/ports/files/s3.ts';
import type { TextRow } from '../../lib/ports/queries/athena.ts';
import { athenaHere } from '../support/athena.ts';
import { ACCOUNT, type Assembly, PARTITION, REGION } from './assembly.ts';
import type { Allows } from './calls.ts';
import type { Access } from './permissions.ts';

interface AthenaOptions {
  readonly assembly: Assembly;
  readonly client: S3;
  readonly lakeBucket: string;
}

interface Asked {
  readonly QueryString: string;
  readonly QueryExecutionContext?: { readonly Database: string };
  readonly WorkGroup: string;
  readonly QueryExecutionId: string;
  readonly NextToken?: string;
}

interface Execution {
  state: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  reason: string;
  rows: TextRow[];
  /** The ARN of the object that has the result. */
  readonly result: string;
}

const PAGE = 1000;

/** Returns what Athena asks for before it looks at a query's text: the catalog, and `default` beside the query's database. */
export function accessesOfStart(database = 'default'): Access[] {
  const arn = (path: string): string => `arn:${PARTITION}:${path.replace(':', `:${REGION}:${ACCOUNT}:`)}`;
  const of = (action: string, ...paths: string[]): Access[] => paths.map((path) => ({ action, resource: arn(path) }));
  return [
    ...of('athena:GetDataCatalog', 'athena:datacatalog/AwsDataCatalog'),
    ...of('glue:GetDatabase', 'glue:catalog', 'glue:database/default', `glue:database/${database}`),
    ...of('glue:CreateDatabase', 'glue:catalog', 'glue:database/default'),
  ];
}

export function fakeAthena({ assembly, client, lakeBucket }: AthenaOptions) {
  const executions = new Map<string, Execution>();

  const run = async (execution: Execution, sql: string): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), 'athena-'));
    const [, database = ''] = /"(\w+)"\."\w+"/.exec(sql) ?? [];
    const here = await athenaHere({ lake: s3Files({ client, bucket: lakeBucket }), database, folder });
    try {
      const rows = await here.rows(sql);
      if (execution.state === 'RUNNING') Object.assign(execution, { state: 'SUCCEEDED', rows });
    } catch (error) {
      Object.assign(execution, { state: 'FAILED', reason: String(error) });
    } finally {
      here.end();
      await rm(folder, { recursive: true, force: true });
    }
  };

  const start = ({ QueryString, QueryExecutionContext, WorkGroup }: Asked, allows: Allows): object => {
    const group = assembly.ofType('AWS::Athena::WorkGroup').find(({ properties }) => properties['Name'] === WorkGroup);
    const { ResultConfiguration, BytesScannedCutoffPerQuery } = group?.properties['WorkGroupConfiguration'] ?? {};
    if (typeof BytesScannedCutoffPerQuery !== 'number') throw refusal(`nothing bounds what ${WorkGroup} scans`);
    if (Buffer.byteLength(QueryString) > 262_144) throw refusal('the query is too long');
    const check = (action: string, resource: string): void => {
      if (!allows({ action, resource })) throw refusal(`not authorized to perform ${action} on ${resource}`);
    };
    const lake = `arn:${PARTITION}:s3:::${lakeBucket}`;
    const catalog = (path: string): string => `arn:${PARTITION}:glue:${REGION}:${ACCOUNT}:${path}`;
    for (const access of accessesOfStart(QueryExecutionContext?.Database)) check(access.action, access.resource);
    for (const [, database = '', table = ''] of QueryString.matchAll(/"(\w+)"\."(\w+)"/g)) {
      for (const resource of ['catalog', `database/${database}`, `table/${database}/${table}`])
        for (const action of ['GetDatabase', 'GetTable', 'GetPartitions']) check(`glue:${action}`, catalog(resource));
      for (const action of ['ListBucket', 'GetBucketLocation']) check(`s3:${action}`, lake);
      check('s3:GetObject', `${lake}/${table}/team_id=1/a.parquet`);
      const where = QueryString.slice(QueryString.indexOf(`"${database}"."${table}"`));
      if (!/^"\w+"\."\w+" WHERE team_id = '\d+' AND day BETWEEN /.test(where))
        throw refusal('the injected projected partition column team_id must have a value');
    }
    // calls.ts tells by it which workgroup a later call is about.
    const QueryExecutionId = `${WorkGroup}.${randomUUID()}`;
    const { host, pathname } = new URL(`${ResultConfiguration.OutputLocation}${QueryExecutionId}.csv`);
    const bucket = `arn:${PARTITION}:s3:::${host}`;
    for (const action of ['ListBucket', 'GetBucketLocation']) check(`s3:${action}`, bucket);
    check('s3:PutObject', `${bucket}${pathname}`);
    const execution: Execution = { state: 'RUNNING', reason: '', rows: [], result: `${bucket}${pathname}` };
    executions.set(QueryExecutionId, execution);
    void run(execution, QueryString);
    return { QueryExecutionId };
  };

  return (action: string, asked: Asked, allows: Allows): object => {
    if (action === 'StartQueryExecution') return start(asked, allows);
    const execution = executions.get(asked.QueryExecutionId);
    if (execution === undefined) throw refusal('QueryExecution was not found');
    const { state, reason, rows, result } = execution;
    if (action === 'GetQueryExecution')
      return {
        QueryExecution: { Status: { State: state, StateChangeReason: reason, AthenaError: { ErrorCategory: 2 } } },
      };
    if (action === 'StopQueryExecution') return (Object.assign(execution, { state: 'CANCELLED' }), {});
    if (action !== 'GetQueryResults' || state !== 'SUCCEEDED') throw refusal(`no ${action} of what is ${state}`);
    if (!allows({ action: 's3:GetObject', resource: result })) throw refusal('not authorized to read the result');
    const from = Number(asked.NextToken ?? 0);
    const width = rows[0]?.length ?? 0;
    // The names of the columns stand before all rows.
    const all: TextRow[] = [Array.from({ length: width }, (_, n) => `c${n}`), ...rows];
    return {
      ResultSet: {
        Rows: all.slice(from, from + PAGE).map((row) => ({
          Data: row.map((value) => (value === null ? {} : { VarCharValue: value })),
        })),
      },
      ...(from + PAGE < all.length ? { NextToken: String(from + PAGE) } : {}),
    };
  };
}

const refusal = (message: string): Error => Object.assign(new Error(message), { name: 'InvalidRequestException' });
