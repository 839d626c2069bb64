import { randomBytes } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { v7 } from 'uuid';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { isLevel, jsonLines, type LogSink, logTo } from '../../../lib/ports/log.ts';
import { emfMetrics } from '../../../lib/ports/metrics/emf.ts';
import { dynamodbTable } from '../../../lib/ports/table/dynamodb.ts';
import type { StepNeed } from '../../../lib/workflow/steps.ts';
import { settings, variable, write } from './environment.ts';
import { answersWithin } from './timeouts.ts';

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

/** DynamoDB answers in milliseconds. */
const TABLE_TIMEOUT_MS = 2.5 * SECOND_MS;

/** The context of a function that needs these ports. To touch another one is an error that says so. */
export function contextOf(ports: { readonly [name in PortName]?: (context: Context) => Context[name] }): Context {
  const level = variable('LOG_LEVEL');
  const stage = variable('STAGE');
  const clock = Date.now;
  const context = {
    // The table's adapter tries again by itself.
    table: dynamodbTable({
      client: new DynamoDBClient({ maxAttempts: 1, requestHandler: answersWithin(TABLE_TIMEOUT_MS) }),
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
