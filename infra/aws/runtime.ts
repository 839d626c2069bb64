/**
 * What a function on AWS runs in: ports over what the template names in its environment. An entry (bundle.ts writes
 * one for each function) asks for the ports that its function needs, and carries the code of no other.
 */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { AthenaClient } from '@aws-sdk/client-athena';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { FirehoseClient } from '@aws-sdk/client-firehose';
import { KMSClient } from '@aws-sdk/client-kms';
import { S3Client } from '@aws-sdk/client-s3';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { SFNClient } from '@aws-sdk/client-sfn';
import type { EventBridgeEvent } from 'aws-lambda';
import { v7 } from 'uuid';
import { MINUTE_MS, SECOND_MS } from '../../lib/basics/units.ts';
import { pooledCompiler } from '../../lib/exports/query/compiler.ts';
import { athenaPool, bySize } from '../../lib/insights/answering/athena-pool.ts';
import { BACKGROUND_MS, pooledAnswerer, WAITED_MS } from '../../lib/insights/answering/pooled-answerer.ts';
import { queryRunner as runnerOf } from '../../lib/insights/answering/query-runner.ts';
import { stageAnswers } from '../../lib/insights/answering/stage-answers.ts';
import { askedPersonRemoval } from '../../lib/lake/import/person-removal.ts';
import type { Context } from '../../lib/ports/context.ts';
import { eventBridgeEvents } from '../../lib/ports/events/eventbridge.ts';
import { s3Files } from '../../lib/ports/files/s3.ts';
import { lambdaFunction, lambdaSdk } from '../../lib/ports/functions/lambda.ts';
import { firehoseInbox } from '../../lib/ports/inbox/firehose.ts';
import { isLevel, jsonLines, type LogSink, logTo } from '../../lib/ports/log.ts';
import { sesMail } from '../../lib/ports/mail/ses.ts';
import { emfMetrics } from '../../lib/ports/metrics/emf.ts';
import { openOutbound } from '../../lib/ports/outbound/outbound.ts';
import { athenaQueries } from '../../lib/ports/queries/athena.ts';
import type { Settings } from '../../lib/ports/settings.ts';
import { dynamodbTable } from '../../lib/ports/table/dynamodb.ts';
import { kmsVault } from '../../lib/ports/vault/kms.ts';
import { athenaWarehouse, type Converter } from '../../lib/warehouse/athena.ts';
import { pooledReader } from '../../lib/warehouse/pooled-reader.ts';
import { READING_MS } from '../../lib/warehouse/reader.ts';
import { functionPool, type SharedTurns } from '../../lib/workers/function-pool.ts';
import { type PoolOptions, workerPool } from '../../lib/workers/pool.ts';
import { runningInTurns, tableTurns } from '../../lib/workers/table-turns.ts';
import type { EndedInput } from '../../lib/workflow/messages.ts';
import { stepFunctionsWorkflow } from '../../lib/workflow/stepfunctions.ts';
import type { StepNeed } from '../../lib/workflow/steps.ts';
import { MACHINE_NAMES, type Workflow } from '../../lib/workflow/workflow.ts';
import type { Variable } from './functions.ts';
import { machineName } from './machine-name.ts';

const variable = (name: Variable): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`the environment of this function lacks ${name}`);
  return value;
};

const write = (text: string): void => void process.stdout.write(text);

const settings = (): Settings => JSON.parse(variable('SETTINGS'));

/** How long an answer may take. Three attempts and their waits fit into the 15 s that a tick has after its last start. */
const STEP_FUNCTIONS_TIMEOUT_MS = 2.5 * SECOND_MS;

/** `MACHINES` is JSON: the ARN of each machine by its name. */
export const workflow = (): Workflow => {
  const requestHandler = { requestTimeout: STEP_FUNCTIONS_TIMEOUT_MS, throwOnRequestTimeout: true };
  const client = new SFNClient({ requestHandler });
  return stepFunctionsWorkflow({ client, machines: JSON.parse(variable('MACHINES')) });
};

export const vault = () => kmsVault({ client: new KMSClient(), keyId: variable('KEY_ARN') });

/** A body may take long, but not pause for long: S3 sends something now and then, also while it joins the parts of an upload. */
const S3_TIMEOUTS = { connectionTimeout: 3 * SECOND_MS, socketTimeout: 30 * SECOND_MS };

const filesIn = (bucket: string) => s3Files({ client: new S3Client({ requestHandler: S3_TIMEOUTS }), bucket });

export const runFiles = () => filesIn(variable('RUN_FILES_BUCKET'));

export const lake = () => filesIn(variable('LAKE_BUCKET'));

/** What does not answer within this is kept past the stream. */
const FIREHOSE_TIMEOUT_MS = 3 * SECOND_MS;

export const inbox = ({ newId, clock, log }: Pick<Context, 'newId' | 'clock' | 'log'>) =>
  firehoseInbox({
    client: new FirehoseClient({
      maxAttempts: 2,
      requestHandler: { requestTimeout: FIREHOSE_TIMEOUT_MS, throwOnRequestTimeout: true },
    }),
    stream: variable('INBOX_STREAM'),
    files: filesIn(variable('INBOX_BUCKET')),
    newId,
    clock,
    log,
  });

export const outbound = () => openOutbound(settings());

/** A query of a thousand columns takes 1.3 s of a whole core; on the sixth of one that a function may have, 8. */
const QUERY_SILENCE_MS = 10 * SECOND_MS;
/** Of the 512 MB that its functions have. */
const QUERY_MEMORY_MB = 250;

/** Returns these MB, which suit a function of `declared` MB, or as much less as this one has less: a stage may give less. */
export const ofMemory = (mb: number, declared: number): number => {
  const given = Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? declared);
  return Math.floor(mb * Math.min(1, given / declared));
};

/** A worker process of a function, which does one thing at a time and is frozen with it between calls. */
export const workers = ({
  memoryMb,
  ...options
}: Pick<PoolOptions, 'program' | 'options' | 'what' | 'silenceMs'> & { readonly memoryMb: number }) =>
  workerPool({
    ...options,
    turns: { atOnce: 1, each: 1 },
    memory: { each: memoryMb, all: memoryMb },
    log: logTo(jsonLines(write), Date.now, 'INFO', { stage: variable('STAGE') }),
  });

/** Its worker's program lies beside the function's own (bundle.ts). */
export const compiler = () =>
  pooledCompiler(
    workers({
      program: fileURLToPath(new URL('./query-worker.js', import.meta.url)),
      options: null,
      what: 'Reading the query',
      memoryMb: QUERY_MEMORY_MB,
      silenceMs: QUERY_SILENCE_MS,
    }),
  );

/** A function beside the lake does it: it may take minutes. */
export const personRemoval = (context: Pick<Context, 'table' | 'clock' | 'newId'>) => askedPersonRemoval(context);
/** Not offered: a file is larger than what a function may be sent, and its import takes longer than one may run. */
export const imports = () => null;
/** Not offered: a browser is larger than all of a function may be. */
export const pictures = () => null;

/**
 * What an organization has done at once beside the queries of its stage's `queryTurns`: pages of rows; queries by Athena;
 * tests of destinations, which a user has as many of, too.
 */
const TURNS = { read: 4, athena: 2, test: 4 };

/**
 * Nothing is sent twice: what was lost may have been done. So no connection is kept for the next call: it may die unseen
 * while this function is frozen in between.
 */
const functionOf = (name: 'LAKE_WORKER' | 'QUERY_RUNNER', ms: number) =>
  lambdaFunction(async () => {
    const { LambdaClient } = await lambdaSdk();
    return new LambdaClient({
      maxAttempts: 1,
      requestHandler: {
        httpAgent: UNKEPT,
        httpsAgent: UNKEPT,
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: ms,
        throwOnRequestTimeout: true,
      },
    });
  }, variable(name));
const UNKEPT = { keepAlive: false };
const CONNECT_TIMEOUT_MS = 3 * SECOND_MS;
/** An order is taken in this time, or not at all: what took 25 s before it is ordered is answered before the gateway gives up. */
const ORDER_TIMEOUT_MS = 2.5 * SECOND_MS;

type Turning = Pick<Context, 'table' | 'clock' | 'newId' | 'settings'>;

const turnsOf = (
  { settings: { queryTurns }, ...context }: Turning,
  kind: keyof typeof TURNS | keyof NonNullable<typeof queryTurns>,
  waitMs?: number,
) => {
  const each = { ...TURNS, ...queryTurns }[kind] ?? 1;
  return tableTurns({ ...context, kind, each, ...(waitMs === undefined ? {} : { waitMs }) });
};

/** The function of an endpoint ends before. */
const TEST_TURN_MS = 30 * SECOND_MS;

/** Of all functions together: one instance has one request at a time, and cannot count those of an organization. */
export const testTurns = (context: Turning) => runningInTurns(turnsOf(context, 'test', 0), TEST_TURN_MS);

/** What runs behind has a turn, or is refused at once. */
const backgroundTurns = (context: Turning) => turnsOf(context, 'background', 0);

/** Returns what has the function that has copies of the lake's files do tasks; without `turns` whoever asks has one. */
const lakeWorkers = ({ clock }: Pick<Context, 'clock'>, ms: number, turns?: SharedTurns) =>
  functionPool({ worker: functionOf('LAKE_WORKER', ms), ms, clock, ...(turns === undefined ? {} : { turns }) });

/** Rows of the lake. */
export const reader = (context: Turning) => pooledReader(lakeWorkers(context, READING_MS, turnsOf(context, 'read')));

/**
 * Answers that somebody waits for come from the same; others are ordered. A step waits where nobody else does: its
 * function is told the one that is for the background.
 */
export const answers = (context: Turning & Pick<Context, 'log'>) => {
  const runner = functionOf('QUERY_RUNNER', ORDER_TIMEOUT_MS);
  return stageAnswers(context, {
    answerer: pooledAnswerer({
      waited: lakeWorkers(context, WAITED_MS, turnsOf(context, 'waited')),
      background: lakeWorkers(context, BACKGROUND_MS, turnsOf(context, 'background')),
    }),
    start: (order) => runner.order(order),
    background: backgroundTurns(context),
  });
};

/** Of the 1,024 MB that the function has: kinds fold the rows that Athena gave. */
const ATHENA_WORKER_MB = 600;
/** Nobody waits, so a turn of Athena may take a while to come free. */
const ATHENA_TURN_MS = MINUTE_MS;

/** Its worker's program lies beside the function's own (bundle.ts). */
const athena = (context: Turning & Pick<Context, 'log'>) =>
  athenaPool({
    queries: athenaQueries({
      client: new AthenaClient(),
      workGroup: variable('QUERY_WORK_GROUP'),
      database: variable('LAKE_DATABASE'),
    }),
    workers: workers({
      program: fileURLToPath(new URL('./athena-worker.js', import.meta.url)),
      options: null,
      what: 'Answering the query',
      memoryMb: ATHENA_WORKER_MB,
      silenceMs: BACKGROUND_MS,
    }),
    turns: turnsOf(context, 'athena', ATHENA_TURN_MS),
    lake: { database: variable('LAKE_DATABASE'), address: `s3://${variable('LAKE_BUCKET')}/` },
    mostBytes: context.settings.queryBytes?.athena ?? 0,
    ms: BACKGROUND_MS,
    log: context.log,
  });

/** In the one function that carries out orders. */
export const queryRunner = (context: Turning & Pick<Context, 'log'>) => {
  const background = lakeWorkers(context, BACKGROUND_MS);
  const small = pooledAnswerer({ waited: background, background });
  const large = athena(context);
  return runnerOf({
    ...context,
    answerer: bySize(small, pooledAnswerer({ waited: large, background: large })),
    renewing: small,
    background: backgroundTurns(context),
    cancelMs: context.settings.cancelSeconds * SECOND_MS,
  });
};

export const mail = () => {
  const { mailFrom } = settings();
  return mailFrom === null ? null : sesMail({ client: new SESv2Client(), from: mailFrom });
};

/** The source names the stage: `workspaces.prod`. */
export const events = () =>
  eventBridgeEvents({
    client: new EventBridgeClient(),
    bus: variable('EVENT_BUS'),
    source: `workspaces.${variable('STAGE')}`,
  });

export const warehouse = (converter?: Converter) =>
  athenaWarehouse({
    database: variable('LAKE_DATABASE'),
    workGroup: variable('WORK_GROUP'),
    lake: lake(),
    runFiles: runFiles(),
    ...(converter === undefined ? {} : { converter }),
  });

/** Whoever forms bytes has a warehouse that does so; to the function it is the warehouse. */
type PortName = Exclude<StepNeed, 'converter'>;

const PORTS: Readonly<Record<PortName, true>> = {
  workflow: true,
  warehouse: true,
  runFiles: true,
  lake: true,
  vault: true,
  outbound: true,
  compiler: true,
  reader: true,
  personRemoval: true,
  personDeletions: true,
  answers: true,
  imports: true,
  pictures: true,
  testTurns: true,
  events: true,
  mail: true,
  compactor: true,
  inbox: true,
  landing: true,
  lakeWorker: true,
  queryRunner: true,
};

const lines = jsonLines(write);

/** Writes lines with the function's name and the X-Ray trace of the invocation, by the names of Powertools. */
const invocationLines: LogSink = (line) => {
  const { AWS_LAMBDA_FUNCTION_NAME: function_name, _X_AMZN_TRACE_ID: trace = '' } = process.env;
  const [, xray_trace_id] = /Root=([^;]+)/.exec(trace) ?? [];
  lines({ ...line, fields: { function_name, xray_trace_id, ...line.fields } });
};

/** DynamoDB answers in milliseconds: what does not is lost, as with a connection that died while the function was frozen. */
const TABLE_TIMEOUTS = { connectionTimeout: SECOND_MS, requestTimeout: 2.5 * SECOND_MS, throwOnRequestTimeout: true };

/** The context of a function that needs these ports. To touch another one is an error that says so. */
export function contextOf(ports: { readonly [name in PortName]?: (context: Context) => Context[name] }): Context {
  const level = variable('LOG_LEVEL');
  const stage = variable('STAGE');
  const clock = Date.now;
  const context = {
    // The table's adapter tries again by itself.
    table: dynamodbTable({
      client: new DynamoDBClient({ maxAttempts: 1, requestHandler: TABLE_TIMEOUTS }),
      tableName: variable('TABLE_NAME'),
      clock,
    }),
    clock,
    newId: v7,
    random: randomBytes,
    log: logTo(invocationLines, clock, isLevel(level) ? level : 'INFO', { stage }),
    metrics: emfMetrics({ write, clock, stage }),
    settings: settings(),
  };
  for (const name of Object.keys(PORTS) as PortName[]) {
    const open = ports[name];
    const missing = () => {
      throw new Error(`this function was deployed without its need for ${name}`);
    };
    const made = context as unknown as Context;
    Object.defineProperty(
      context,
      name,
      open === undefined ? { get: missing } : { value: open(made), enumerable: true },
    );
  }
  return context as unknown as Context;
}

type Ended = EventBridgeEvent<
  'Step Functions Execution Status Change',
  {
    readonly stateMachineArn: string;
    readonly name: string;
    readonly status: EndedInput['status'];
    readonly input: string;
    readonly error?: string | null;
    readonly cause?: string | null;
  }
>;

/** What EventBridge says of an execution, as `execution-ended` is told it. */
export function endedInput({ detail }: Ended): EndedInput {
  const { stateMachineArn, name, status, input, error, cause } = detail;
  const stage = variable('STAGE');
  const machine = MACHINE_NAMES.find((known) => stateMachineArn.endsWith(`:${machineName(stage, known)}`));
  if (machine === undefined) throw new Error(`${stateMachineArn} is none of the service's machines`);
  const failure = typeof error === 'string' ? { Error: error, Cause: cause ?? '' } : null;
  return { machine, execution: name, status, input: JSON.parse(input), error: failure };
}
