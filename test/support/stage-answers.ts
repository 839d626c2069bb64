/** A service that answers queries as a stage on AWS does: its lake in a bucket, read by functions that are called. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type LambdaClient, TooManyRequestsException } from '@aws-sdk/client-lambda';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type { AnswerInput } from '../../lib/insights/answering/answerer.ts';
import { athenaPool, bySize } from '../../lib/insights/answering/athena-pool.ts';
import { type AnswerOfAthena, athenaAnswers } from '../../lib/insights/answering/athena-world.ts';
import { type AnswerOfCopies, answerOfCopies } from '../../lib/insights/answering/copied-world.ts';
import { lakeWorker } from '../../lib/insights/answering/lake-worker.ts';
import { pooledAnswerer } from '../../lib/insights/answering/pooled-answerer.ts';
import type { QueryOrder } from '../../lib/insights/answering/query-orders.ts';
import { queryRunner } from '../../lib/insights/answering/query-runner.ts';
import { stageAnswers } from '../../lib/insights/answering/stage-answers.ts';
import { worldDatabase } from '../../lib/insights/answering/world.ts';
import { lakeCopies } from '../../lib/lake/copies.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { s3Files } from '../../lib/ports/files/s3.ts';
import { lambdaFunction } from '../../lib/ports/functions/lambda.ts';
import type { RowQueries } from '../../lib/ports/queries/athena.ts';
import { duckdbReader } from '../../lib/warehouse/duckdb-reader.ts';
import { pooledReader } from '../../lib/warehouse/pooled-reader.ts';
import type { Reading } from '../../lib/warehouse/reader.ts';
import { type FunctionTask, functionPool } from '../../lib/workers/function-pool.ts';
import { tableTurns } from '../../lib/workers/table-turns.ts';
import { athenaHere } from './athena.ts';
import { startBucket } from './bucket.ts';
import { temporaryFolder, testContext } from './context.ts';
import { onEnd } from './on-end.ts';
import { parser } from './parser.ts';

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** How Lambda answers a call in the place of the function. */
export const REFUSED = {
  throttled: () => {
    throw new TooManyRequestsException({ message: 'Rate Exceeded.', $metadata: {} });
  },
  memory: () => failed('Runtime.OutOfMemory', 'RequestId: 1 Error: Runtime exited with error: signal: killed'),
  time: () => failed('Sandbox.Timedout', 'RequestId: 1 Error: Task timed out after 29.00 seconds'),
  size: () =>
    failed(
      'Function.ResponseSizeTooLarge',
      'Response payload size exceeded maximum allowed payload size (6291556 bytes).',
    ),
  mistake: () => failed('TypeError', 'x is not a function'),
};

const failed = (errorType: string, errorMessage: string) => ({
  FunctionError: 'Unhandled',
  Payload: Buffer.from(JSON.stringify({ errorType, errorMessage })),
});

interface StageContextOptions {
  readonly turns?: number;
  readonly queryBytes?: { readonly waited: number; readonly background: number; readonly athena: number };
}

/**
 * Returns such a context. `fetched` are the paths of the lake that were fetched, `orders` those that nobody has carried
 * out yet; `lambda.before` is awaited at the beginning of each call of the function that reads
 * the lake, and `lambda.instead` answers in its place. `athena` are the queries that
 * Athena was asked, and `athena.instead` answers in its place.
 */
export async function stageContext({
  turns = 8,
  queryBytes = { waited: 1e9, background: 4e9, athena: 100e9 },
}: StageContextOptions = {}) {
  const bucket = await startBucket();
  onEnd(() => bucket.close());
  const fetched: string[] = [];
  const base = testContext({ lake: s3Files({ client: bucket.client, bucket: bucket.name }) });
  const watched = new S3Client({
    endpoint: bucket.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'AKIATEST', secretAccessKey: 'secret-of-the-test' },
  });
  watched.middlewareStack.add((next, { commandName }) => async (args) => {
    if (commandName === GetObjectCommand.name) fetched.push((args.input as { Key: string }).Key);
    return next(args);
  });
  onEnd(() => watched.destroy());

  const folder = join(temporaryFolder(), 'lake');
  const copies = lakeCopies({ lake: s3Files({ client: watched, bucket: bucket.name }), folder, mostBytes: 1e9 });
  const local = folderFiles(folder);
  const worlds = worldDatabase({ lake: local, parser });
  const rows = duckdbReader({ lake: local });
  onEnd(() => Promise.all([worlds.close(), rows.close()]));
  const worker = lakeWorker({
    copies,
    answers: {
      run: async ({ name, input }) => {
        if (name !== 'answer-of-copies') throw new Error(`there is no task ${name}`);
        return plain(
          await answerOfCopies(worlds, plain(input) as AnswerOfCopies, (path) => existsSync(local.address(path))),
        );
      },
    },
    rows: {
      run: async ({ input }) =>
        plain(await rows.read(plain(input) as Reading, { organization: '', signal: AbortSignal.timeout(60_000) })),
    },
    mostBytes: queryBytes,
    clock: base.clock,
    log: base.log,
  });

  const lambda: {
    before: () => Promise<unknown>;
    instead: (() => object) | undefined;
    tasks: FunctionTask[];
  } = { before: () => Promise.resolve(), instead: undefined, tasks: [] };
  const send = (
    { input }: { readonly input: { readonly Payload?: Uint8Array } },
    { abortSignal }: { readonly abortSignal?: AbortSignal } = {},
  ) => {
    const left = Promise.withResolvers<never>();
    abortSignal?.addEventListener('abort', () => left.reject(new Error('Request aborted')));
    return Promise.race([done(input), left.promise]);
  };
  const done = async (input: { readonly Payload?: Uint8Array }) => {
    const task = JSON.parse(Buffer.from(input.Payload ?? []).toString()) as FunctionTask;
    lambda.tasks.push(task);
    await lambda.before();
    if (lambda.instead !== undefined) return lambda.instead();
    return { Payload: Buffer.from(JSON.stringify(await worker.run(task))) };
  };
  const shared = (kind: string, waitMs?: number) =>
    tableTurns({
      ...base,
      kind,
      each: turns,
      ...(waitMs === undefined ? {} : { waitMs }),
      sleep: () => Promise.resolve(),
    });
  const pool = (kind: string | null, ms: number) =>
    functionPool({
      worker: lambdaFunction(async () => ({ send }) as unknown as LambdaClient, 'lake-worker'),
      ...(kind === null ? {} : { turns: shared(kind) }),
      ms,
      clock: base.clock,
    });
  const orders: QueryOrder[] = [];
  const waited = pool('waited', 25_000);
  const background = pool(null, 300_000);
  const context = {
    ...base,
    reader: pooledReader(pool('read', 25_000)),
    answers: stageAnswers(base, {
      answerer: pooledAnswerer({ waited, background: waited }),
      start: async (order) => void orders.push(plain(order)),
      background: shared('background', 0),
    }),
  };
  const here = await athenaHere({ lake: base.lake, database: 'lake', folder: join(temporaryFolder(), 'athena') });
  onEnd(() => here.end());
  const athena: { instead: RowQueries['rows'] | undefined; asked: string[] } = { instead: undefined, asked: [] };
  const answered = athenaAnswers(parser);
  const large = athenaPool({
    queries: {
      rows: async (sql, signal) => {
        athena.asked.push(sql);
        return athena.instead === undefined ? here.rows(sql) : athena.instead(sql, signal);
      },
    },
    workers: { run: async ({ input }) => plain(await answered(plain(input) as AnswerOfAthena)) },
    turns: shared('athena'),
    lake: { database: 'lake', address: base.lake.root },
    mostBytes: queryBytes.athena,
    ms: 300_000,
    log: base.log,
  });
  const small = pooledAnswerer({ waited: background, background });
  const carryOut = queryRunner({
    ...base,
    answerer: bySize(small, pooledAnswerer({ waited: large, background: large })),
    renewing: small,
    background: shared('background', 0),
    cancelMs: 5,
  });
  return { context, fetched, folder, lambda, athena, orders, carryOut };
}

/** The queries that the function was asked for. */
export const askedOf = (tasks: readonly FunctionTask[]): readonly AnswerInput['query'][] =>
  tasks.filter(({ name }) => name === 'answer').map(({ input }) => (input as AnswerInput).query);
