import {
  AthenaClient,
  GetQueryExecutionCommand,
  GetQueryResultsCommand,
  StartQueryExecutionCommand,
  StopQueryExecutionCommand,
} from '@aws-sdk/client-athena';
import { mockClient } from 'aws-sdk-client-mock';
import { Transient } from '../../../../lib/ports/errors.ts';
import { athenaQueries, QueryFailed } from '../../../../lib/ports/queries/athena.ts';

const never = new AbortController().signal;

function athena(sleep: (ms: number, signal: AbortSignal) => Promise<unknown> = () => Promise.resolve()) {
  const client = new AthenaClient({ region: 'us-east-1' });
  const mock = mockClient(client);
  mock.on(StartQueryExecutionCommand).resolves({ QueryExecutionId: 'q' });
  mock.on(StopQueryExecutionCommand).resolves({});
  return { mock, queries: athenaQueries({ client, workGroup: 'queries', database: 'lake', sleep }) };
}

const state = (State: 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED', StateChangeReason = '', category = 2) => ({
  QueryExecution: { Status: { State, StateChangeReason, AthenaError: { ErrorCategory: category } } },
});
const row = (...values: (string | undefined)[]) => ({
  Data: values.map((VarCharValue) => (VarCharValue === undefined ? {} : { VarCharValue })),
});

test('a query is begun in its workgroup, looked after, and its rows are read page by page without their header', async () => {
  const waits: number[] = [];
  const { mock, queries } = athena((ms) => Promise.resolve(waits.push(ms)));
  mock
    .on(GetQueryExecutionCommand)
    .resolvesOnce(state('RUNNING'))
    .resolvesOnce(state('RUNNING'))
    .resolves(state('SUCCEEDED'));
  mock
    .on(GetQueryResultsCommand, { QueryExecutionId: 'q' })
    .resolvesOnce({ ResultSet: { Rows: [row('c0', 'c1'), row('1', undefined)] }, NextToken: 'more' })
    .resolves({ ResultSet: { Rows: [row('', 'b')] } });
  expect(await queries.rows('SELECT 1', never)).toEqual([
    ['1', null],
    ['', 'b'],
  ]);
  expect(mock.commandCalls(StartQueryExecutionCommand)[0]?.args[0].input).toMatchObject({
    QueryString: 'SELECT 1',
    // Without it Athena asks for the database `default`, which the service has no right to.
    QueryExecutionContext: { Database: 'lake' },
    WorkGroup: 'queries',
  });
  expect(waits).toEqual([...waits].toSorted((a, b) => a - b));
  expect(mock.commandCalls(GetQueryExecutionCommand)).toHaveLength(3);
  expect(mock.commandCalls(StopQueryExecutionCommand)).toEqual([]);
});

test.each([
  ['bytes', state('CANCELLED', 'Query cancelled! : Bytes scanned limit was exceeded')],
  ['memory', state('FAILED', 'Query exhausted resources at this scale factor')],
  ['time', state('FAILED', 'Query timeout')],
  ['values', state('FAILED', 'DIVISION_BY_ZERO: Division by zero')],
  ['other', state('FAILED', "COLUMN_NOT_FOUND: line 1:8: Column 'x' cannot be resolved")],
] as const)('a query that fails tells what is to blame: %s', async (blame, ended) => {
  const { mock, queries } = athena();
  mock.on(GetQueryExecutionCommand).resolves(ended);
  const thrown = await queries.rows('SELECT 1', never).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(QueryFailed);
  expect(thrown).toMatchObject({ blame });
  expect(mock.commandCalls(StopQueryExecutionCommand)).toEqual([]);
});

test('what Athena itself is to blame for may pass', async () => {
  const { mock, queries } = athena();
  for (const ended of [state('FAILED', 'GENERIC_INTERNAL_ERROR', 1), state('CANCELLED', 'by an operator')]) {
    mock.on(GetQueryExecutionCommand).resolves(ended);
    await expect(queries.rows('SELECT 1', never)).rejects.toThrow(Transient);
  }
});

test('it is stopped when nobody waits any more', async () => {
  const left = new AbortController();
  const reason = new Error('left');
  const { mock, queries } = athena((_, signal) => {
    left.abort(reason);
    return Promise.reject(signal.reason as Error);
  });
  await expect(queries.rows('SELECT 1', left.signal)).rejects.toBe(reason);
  expect(mock.commandCalls(StopQueryExecutionCommand)[0]?.args[0].input).toEqual({ QueryExecutionId: 'q' });
  await expect(queries.rows('SELECT 1', left.signal)).rejects.toBe(reason);
  expect(mock.commandCalls(StartQueryExecutionCommand)).toHaveLength(1);
});

test.each([
  ['whether it has ended', GetQueryExecutionCommand, ['q']],
  ['for its rows', GetQueryResultsCommand, []],
] as const)(
  'who does not wait any more is let go at once, also while Athena is asked %s',
  async (_, silent, stopped) => {
    const left = new AbortController();
    const asked = Promise.withResolvers<void>();
    const stops: unknown[] = [];
    const send = (
      command: { input: { QueryExecutionId?: string } },
      { abortSignal }: { abortSignal?: AbortSignal } = {},
    ) => {
      if (command instanceof StopQueryExecutionCommand) stops.push(command.input.QueryExecutionId);
      if (!(command instanceof silent)) return Promise.resolve({ QueryExecutionId: 'q', ...state('SUCCEEDED') });
      asked.resolve();
      return new Promise((_resolve, reject) => {
        abortSignal?.addEventListener('abort', () =>
          reject(Object.assign(new Error('aborted'), { name: 'AbortError' })),
        );
      });
    };
    const client = { send } as unknown as AthenaClient;
    const queries = athenaQueries({ client, workGroup: 'queries', database: 'lake', sleep: () => Promise.resolve() });
    const reason = new Error('left');
    const rows = queries.rows('SELECT 1', left.signal);
    await asked.promise;
    left.abort(reason);
    await expect(rows).rejects.toBe(reason);
    expect(stops).toEqual(stopped);
  },
);

test('a result of more than is read is refused', async () => {
  const { mock, queries } = athena();
  mock.on(GetQueryExecutionCommand).resolves(state('SUCCEEDED'));
  mock
    .on(GetQueryResultsCommand)
    .resolves({ ResultSet: { Rows: [row('c0'), row('x'.repeat(21_000_000))] }, NextToken: 'more' });
  await expect(queries.rows('SELECT 1', never)).rejects.toMatchObject({ blame: 'rows' });
});
