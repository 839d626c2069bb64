/** Queries of Athena whose rows are wanted here. */
import {
  type AthenaClient,
  GetQueryExecutionCommand,
  GetQueryResultsCommand,
  type QueryExecutionStatus,
  StartQueryExecutionCommand,
  StopQueryExecutionCommand,
} from '@aws-sdk/client-athena';
import { pause } from '../../basics/pause.ts';
import { SECOND_MS } from '../../basics/units.ts';
import { orTransient } from '../aws-failures.ts';
import { Transient } from '../errors.ts';
import { isOfValues } from './values.ts';

/** Values as texts; null is null. */
export type TextRow = readonly (string | null)[];

export interface RowQueries {
  /**
   * Runs a SELECT and returns its rows, values as Athena writes them. Stops it on abort, and throws the signal's reason.
   * Throws `QueryFailed` for what the query is to blame for, and `Transient`.
   */
  rows(sql: string, signal: AbortSignal): Promise<TextRow[]>;
}

/** `bytes`: it would scan more than its workgroup allows. `rows`: it gives more than is read. `other`: the message says. */
type Blame = 'bytes' | 'rows' | 'memory' | 'time' | 'values' | 'other';

/** Athena does not answer a query, and would not another time. */
export class QueryFailed extends Error {
  override readonly name = 'QueryFailed';
  readonly blame: Blame;

  constructor(blame: Blame, message: string) {
    super(message);
    this.blame = blame;
  }
}

interface AthenaQueriesOptions {
  readonly client: Pick<AthenaClient, 'send'>;
  /** Bounds what a query scans, and says where its result is kept. */
  readonly workGroup: string;
  /** In which queries run. Without it that is `default`. */
  readonly database: string;
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

/** Between two looks: more and more, up to the second. */
const LOOKS_MS = { first: 300, most: 3 * SECOND_MS };

/** What is read of a result: so many values, and so many characters. */
const MAX_VALUES = 1_000_000;
const MAX_CHARACTERS = 20_000_000;

export function athenaQueries({ client, workGroup, database, sleep = pause }: AthenaQueriesOptions): RowQueries {
  /** Resolves when the query has succeeded. */
  const ended = async (QueryExecutionId: string, signal: AbortSignal): Promise<void> => {
    for (let wait = LOOKS_MS.first; ; wait = Math.min(wait * 1.5, LOOKS_MS.most)) {
      await sleep(wait, signal);
      const command = new GetQueryExecutionCommand({ QueryExecutionId });
      const { QueryExecution } = await waitedFor(client.send(command, { abortSignal: signal }), signal);
      const { State } = QueryExecution?.Status ?? {};
      if (State === 'SUCCEEDED') return;
      if (State === 'FAILED' || State === 'CANCELLED') throw failureOf(QueryExecution?.Status ?? {});
    }
  };

  const result = async (QueryExecutionId: string, signal: AbortSignal): Promise<TextRow[]> => {
    const rows: TextRow[] = [];
    let [values, characters] = [0, 0];
    let NextToken: string | undefined;
    do {
      signal.throwIfAborted();
      const command: GetQueryResultsCommand = new GetQueryResultsCommand({ QueryExecutionId, NextToken });
      const page = await waitedFor(client.send(command, { abortSignal: signal }), signal);
      // The first row of all has the names of the columns.
      const found = (page.ResultSet?.Rows ?? []).slice(NextToken === undefined ? 1 : 0);
      for (const { Data = [] } of found) {
        const row = Data.map(({ VarCharValue = null }) => VarCharValue);
        rows.push(row);
        values += row.length;
        for (const value of row) characters += value?.length ?? 0;
      }
      if (values > MAX_VALUES || characters > MAX_CHARACTERS)
        throw new QueryFailed('rows', 'the result has more rows than are read');
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    return rows;
  };

  return {
    rows: async (QueryString, signal) => {
      signal.throwIfAborted();
      // To its end, also on abort: what has begun unknown to us could not be stopped.
      const { QueryExecutionId } = await orTransient(
        'Athena',
        client.send(
          new StartQueryExecutionCommand({
            QueryString,
            QueryExecutionContext: { Database: database },
            WorkGroup: workGroup,
          }),
        ),
      );
      if (QueryExecutionId === undefined) throw new Error('Athena did not say which query it has begun');
      try {
        await ended(QueryExecutionId, signal);
      } catch (error) {
        // Nobody waits for it any more; what has ended is not stopped again.
        if (!(error instanceof QueryFailed))
          await client.send(new StopQueryExecutionCommand({ QueryExecutionId })).catch(() => {});
        throw error;
      }
      return result(QueryExecutionId, signal);
    },
  };
}

/** Returns the answer of a call that is aborted by the signal, and then throws its reason. */
const waitedFor = <T>(call: Promise<T>, signal: AbortSignal): Promise<T> =>
  orTransient('Athena', call).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });

/** Athena's own, as it numbers whose fault an error is. */
const SYSTEM = 1;

function failureOf({ State, StateChangeReason: reason = '', AthenaError }: QueryExecutionStatus): Error {
  if (/bytes scanned limit/i.test(reason)) return new QueryFailed('bytes', reason);
  if (/exhausted resources|memory limit|INSUFFICIENT_RESOURCES/i.test(reason)) return new QueryFailed('memory', reason);
  if (/time ?(?:out|limit)/i.test(reason)) return new QueryFailed('time', reason);
  if (isOfValues(reason)) return new QueryFailed('values', reason);
  if (State === 'CANCELLED' || AthenaError?.ErrorCategory === SYSTEM || AthenaError?.Retryable === true)
    return new Transient(`Athena did not run the query to its end: ${reason}`);
  return new QueryFailed('other', reason);
}
