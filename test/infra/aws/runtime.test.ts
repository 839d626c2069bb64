import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AthenaClient } from '@aws-sdk/client-athena';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { FirehoseClient } from '@aws-sdk/client-firehose';
import { KMSClient } from '@aws-sdk/client-kms';
import { S3Client } from '@aws-sdk/client-s3';
import { SESv2Client } from '@aws-sdk/client-sesv2';
import { SFNClient } from '@aws-sdk/client-sfn';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { ENVIRONMENT } from '../../../infra/aws/functions.ts';
import { contextOf } from '../../../infra/aws/runtime/context.ts';
import { endedInput } from '../../../infra/aws/runtime/ended-input.ts';
import { layoutNote } from '../../../infra/aws/runtime/layout-note.ts';
import { events } from '../../../infra/aws/runtime/ports/events.ts';
import { imports } from '../../../infra/aws/runtime/ports/imports.ts';
import { inbox } from '../../../infra/aws/runtime/ports/inbox.ts';
import { lake } from '../../../infra/aws/runtime/ports/lake.ts';
import { mail } from '../../../infra/aws/runtime/ports/mail.ts';
import { pictures } from '../../../infra/aws/runtime/ports/pictures.ts';
import { rowQueries } from '../../../infra/aws/runtime/ports/query-runner.ts';
import { reader } from '../../../infra/aws/runtime/ports/reader.ts';
import { runFiles } from '../../../infra/aws/runtime/ports/run-files.ts';
import { testTurns } from '../../../infra/aws/runtime/ports/test-turns.ts';
import { vault } from '../../../infra/aws/runtime/ports/vault.ts';
import { workflow } from '../../../infra/aws/runtime/ports/workflow.ts';
import { ofMemory } from '../../../infra/aws/runtime/workers.ts';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import type { Context } from '../../../lib/ports/context.ts';
import type { CapturedRequest } from '../../../lib/ports/inbox/inbox.ts';
import { DATA_LAYOUT, dataLayoutOf, noteDataLayout } from '../../../lib/ports/table/data-layout.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import type { Reading } from '../../../lib/warehouse/reader.ts';
import { LineFull } from '../../../lib/workers/turns.ts';
import { MACHINES } from '../../../lib/workflow/definitions/index.ts';
import { testContext } from '../../support/context.ts';
import { never, until } from '../../support/engine-world.ts';
import { onEnd } from '../../support/on-end.ts';
import { tableWith } from '../../support/table-override.ts';

const arn = (machine: string) => `arn:aws:states:eu-central-1:123456789012:stateMachine:workspaces-dev-${machine}`;

/** An event as EventBridge sends it, with what of it nobody reads left out. */
const event = (machineArn: string, detail: object = {}) =>
  ({
    'detail-type': 'Step Functions Execution Status Change',
    source: 'aws.states',
    detail: {
      executionArn: `${machineArn.replace(':stateMachine:', ':execution:')}:execution`,
      stateMachineArn: machineArn,
      name: 'execution',
      status: 'FAILED',
      input: '{"export":"e","trigger":"schedule"}',
      inputDetails: { included: true },
      output: null,
      error: null,
      cause: null,
      ...detail,
    },
  }) as unknown as Parameters<typeof endedInput>[0];

describe('what EventBridge says of an execution that did not succeed', () => {
  beforeAll(() => {
    process.env['STAGE'] = 'dev';
  });
  afterAll(() => {
    delete process.env['STAGE'];
  });

  test.each(Object.keys(MACHINES))('names the machine %s', (machine) => {
    for (const status of ['FAILED', 'TIMED_OUT', 'ABORTED']) {
      expect(endedInput(event(arn(machine), { status }))).toEqual({
        machine,
        execution: 'execution',
        status,
        input: { export: 'e', trigger: 'schedule' },
        error: null,
      });
    }
  });

  test('carries the error, with a cause even where there is none', () => {
    const error = (detail: object) => endedInput(event(arn('export-run'), detail)).error;
    expect(error({ error: 'Permanent', cause: 'No such bucket.' })).toEqual({
      Error: 'Permanent',
      Cause: 'No such bucket.',
    });
    expect(error({ error: 'States.Timeout' })).toEqual({ Error: 'States.Timeout', Cause: '' });
  });

  test('of a machine that is not ours is an error', () => {
    expect(() => endedInput(event(arn('somebody-elses')))).toThrow("somebody-elses is none of the service's machines");
  });
});

test('a worker process has less where the function has less, and what was measured where nothing tells', () => {
  const before = process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'];
  const given = (memory: string) => {
    process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] = memory;
    return ofMemory(2_800, 4_096);
  };
  try {
    expect([given('4096'), given('3008'), given('10240')]).toEqual([2_800, 2_056, 2_800]);
    delete process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'];
    expect(ofMemory(2_800, 4_096)).toBe(2_800);
  } finally {
    if (before !== undefined) process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] = before;
  }
});

describe('the context of a function', () => {
  const environment = {
    STAGE: 'dev',
    LOG_LEVEL: 'INFO',
    TABLE_NAME: 'table',
    SETTINGS: '{}',
    AWS_REGION: 'eu-central-1',
    AWS_LAMBDA_FUNCTION_NAME: 'tick',
    _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=557abcec3ee5a047;Sampled=1',
  };
  const before = { ...process.env };
  beforeAll(() => {
    Object.assign(process.env, environment);
  });
  afterAll(() => {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('is asked for rows again after its connections have died unseen, as they do while it is frozen', async () => {
    const used = new Set<Socket>();
    const server = createServer(({ socket }, response) => {
      // A connection that was at rest is dead.
      if (used.has(socket)) socket.destroy();
      else response.end('{"result":"rows"}');
      used.add(socket);
    });
    onEnd(() => server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const credentials = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' };
    const worker = { LAKE_WORKER: 'lake-worker', AWS_ENDPOINT_URL_LAMBDA: `http://127.0.0.1:${port}` };
    Object.assign(process.env, credentials, worker);
    try {
      const rows = reader(testContext());
      const look = async () => rows.read({} as Reading, { organization: 'o', signal: new AbortController().signal });
      expect(await look()).toBe('rows');
      expect(await look()).toBe('rows');
    } finally {
      for (const name of Object.keys({ ...credentials, ...worker })) delete process.env[name];
    }
  });

  test('does not wait for ever for a table or a bucket that has fallen silent', async () => {
    const buckets = {
      RUN_FILES_BUCKET: 'run-files',
      LAKE_BUCKET: 'lake',
      INBOX_BUCKET: 'inbox',
      INBOX_STREAM: 'inbox',
    };
    Object.assign(process.env, buckets);
    const limits: unknown[] = [];
    const note = async (_input: unknown, client: () => unknown) => {
      const { config } = client() as { config: { requestHandler: { configProvider: Promise<unknown> } } };
      limits.push(await config.requestHandler.configProvider);
      return {};
    };
    const [ofDynamodb, ofS3] = [mockClient(DynamoDBDocumentClient), mockClient(S3Client)];
    ofDynamodb.onAnyCommand().callsFake(note);
    ofS3.onAnyCommand().callsFake(note);
    try {
      const context = contextOf({ runFiles, lake, inbox });
      await context.table.get({ pk: 'a', sk: 'b' });
      await context.runFiles.read('a');
      await context.lake.read('a');
      await context.inbox?.segments();
    } finally {
      ofDynamodb.restore();
      ofS3.restore();
      for (const name of Object.keys(buckets)) delete process.env[name];
    }
    // A second attempt at the table fits into what a gateway waits; a body of S3 may take long, but not pause for long.
    const ofTable = { connectionTimeout: 1_000, requestTimeout: 2_500, throwOnRequestTimeout: true };
    const ofBucket = { connectionTimeout: 3_000, socketTimeout: 30_000 };
    expect(limits).toMatchObject([ofTable, ...Array.from({ length: limits.length - 1 }, () => ofBucket)]);
    expect(limits.length).toBeGreaterThan(3);
  });

  test('does not wait for ever for a service that has fallen silent', async () => {
    const own = {
      KEY_ARN: 'key',
      EVENT_BUS: 'bus',
      MACHINES: JSON.stringify({ landing: arn('landing') }),
      QUERY_WORK_GROUP: 'queries',
      LAKE_DATABASE: 'lake',
      INBOX_BUCKET: 'inbox',
      INBOX_STREAM: 'inbox',
      SETTINGS: '{"mailFrom":"analytics@example.com"}',
    };
    Object.assign(process.env, own);
    const limits = new Map<string, unknown>();
    const clients = [KMSClient, SESv2Client, EventBridgeClient, AthenaClient, SFNClient, FirehoseClient, S3Client].map(
      (kind) => {
        const mock = mockClient(kind as typeof KMSClient);
        mock.onAnyCommand().callsFake(async (_input: unknown, client: () => unknown) => {
          const { config } = client() as { config: { requestHandler: { configProvider: Promise<unknown> } } };
          limits.set(kind.name, await config.requestHandler.configProvider);
          throw new Error('asked');
        });
        return mock;
      },
    );
    const letter = { id: '1', to: 'ada@example.com', subject: '', text: '', html: '', pictures: [] };
    const request = { projectId: 1, receivedAt: 0, headers: {}, body: Buffer.alloc(0) };
    try {
      const context = contextOf({ vault, mail, events, workflow, inbox });
      const ask: readonly (() => unknown)[] = [
        () => context.vault.seal('secret', { organization: 'o', alert: 'a' }),
        () => context.mail?.send(letter),
        () => context.events?.publish('type', {}),
        () => rowQueries().rows('SELECT 1', new AbortController().signal),
        () => context.workflow.start('landing', 'n', {}),
        () => context.inbox?.append(request as unknown as CapturedRequest),
      ];
      for (const call of ask) await expect(call()).rejects.toThrow(/asked|SES did not take the mail/);
    } finally {
      for (const mock of clients) mock.restore();
      for (const name of Object.keys(own)) delete process.env[name];
      Object.assign(process.env, environment);
    }
    const within = (requestTimeout: number) => ({
      requestTimeout,
      connectionTimeout: 1_000,
      throwOnRequestTimeout: true,
    });
    expect(Object.fromEntries(limits)).toMatchObject({
      KMSClient: within(2_500),
      SESv2Client: within(10_000),
      EventBridgeClient: within(2_500),
      AthenaClient: within(5_000),
      SFNClient: within(2_500),
      FirehoseClient: within(3_000),
    });
  });

  test('tells it that what it needs is not offered', () => {
    expect(contextOf({ imports, pictures })).toMatchObject({
      imports: null,
      pictures: null,
    });
  });

  test.each(Object.keys(ENVIRONMENT).filter((name) => name !== 'always' && name !== 'converter'))(
    'refuses %s to a function that was deployed without it',
    (name) => {
      expect(() => contextOf({})[name as keyof Context]).toThrow(`deployed without its need for ${name}`);
    },
  );

  test('writes lines of the log that name the function and the X-Ray trace of the invocation', () => {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      contextOf({}).log.info('hello');
      expect(JSON.parse(String(write.mock.calls[0]?.[0]))).toMatchObject({
        level: 'INFO',
        message: 'hello',
        service: 'workspaces',
        stage: 'dev',
        function_name: 'tick',
        xray_trace_id: '1-5759e988-bd862e3fe1be46a994272793',
      });
    } finally {
      write.mockRestore();
    }
  });
});

describe('the layout of the data', () => {
  const layoutIn = ({ table }: Context) => dataLayoutOf(table);

  test('is noted at the first call of a function, and looked at by no other', async () => {
    const context = testContext();
    const note = layoutNote(context);
    await note();
    expect(await layoutIn(context)).toBe(DATA_LAYOUT);
    await context.table.write([{ remove: keys.dataLayout() }]);
    await note();
    expect(await layoutIn(context)).toBeUndefined();
  });

  test('is raised by a later version, and left as it is by an earlier one', async () => {
    const context = testContext();
    for (const layout of [DATA_LAYOUT, DATA_LAYOUT + 2, DATA_LAYOUT + 1]) await noteDataLayout(context.table, layout);
    await layoutNote(context)();
    expect(await layoutIn(context)).toBe(DATA_LAYOUT + 2);
  });

  test('that could not be noted is in the way of nothing, and noted by the next call', async () => {
    const context = testContext();
    let failures = 1;
    const get: Context['table']['get'] = (key) =>
      failures-- > 0 ? Promise.reject(new Error('throttled')) : context.table.get(key);
    const note = layoutNote({ ...context, table: tableWith(context.table, { get }) });
    await note();
    expect(context.lines).toMatchObject([{ level: 'ERROR', message: 'the layout of the data could not be noted' }]);
    await note();
    expect(await layoutIn(context)).toBe(DATA_LAYOUT);
  });
});

test('an organization has four destinations tested at once, by all functions together; a turn of one that died ends', async () => {
  const context = testContext();
  const [one, another] = [testTurns(context), testTurns(context)];
  const gate = Promise.withResolvers<string>();
  const begun: string[] = [];
  const work = (name: string) => () => {
    begun.push(name);
    return gate.promise;
  };
  const many = [one, one, another, another].map((turns) => turns.run('many', work('many')));
  await until(() => begun.length === 4);
  for (const turns of [one, another]) await expect(turns.run('many', async () => 'fifth')).rejects.toThrow(LineFull);
  const few = another.run('few', work('few'));
  gate.resolve('done');
  expect(await Promise.all([...many, few])).toEqual(Array(5).fill('done'));
  expect(begun).toEqual(['many', 'many', 'many', 'many', 'few']);
  let hanging = 0;
  const dying = () => {
    hanging += 1;
    return never();
  };
  for (let n = 0; n < 4; n += 1) void one.run('many', dying);
  await until(() => hanging === 4);
  context.clock.advance(31 * SECOND_MS);
  expect(await one.run('many', work('after'))).toBe('done');
});
