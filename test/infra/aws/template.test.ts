import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import recommended from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { ENVIRONMENT, FUNCTIONS, type LambdaSpec } from '../../../infra/aws/functions.ts';
import { optionsOf } from '../../../infra/aws/options.ts';
import { addStacks } from '../../../infra/aws/stacks.ts';
import { STAGE_NAMES, stageNamed } from '../../../infra/aws/stages.ts';
import { allowedMethods } from '../../../lib/api/methods.ts';
import { routes, rowFor, templates } from '../../../lib/api/routes.ts';
import { BUSY_SDK_TEMPLATES, isSdkPath, SDK_TEMPLATES } from '../../../lib/capture/answers.ts';
import { GATEWAY_RESPONSES } from '../../../lib/http/gateway-responses.ts';
import { METRICS } from '../../../lib/ports/metrics/metrics.ts';
import { TABLE_DEFINITION } from '../../../lib/ports/table/keys.ts';
import { MACHINES } from '../../../lib/workflow/definitions/index.ts';
import { temporaryFolder } from '../../support/context.ts';
import { ROOT } from '../../support/source.ts';

interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}
type Resources = Readonly<Record<string, Resource>>;

// What CDK's own check finds are warnings, which `npm run synth` shows; here nobody would read them.
process.env['CDK_VALIDATION'] = 'false';

/** Both templates of a stage, as `cdk synth` makes them, over empty bundles. Findings of cdk-nag make it throw. */
function synthesized(name: string, stages: object = {}) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'index.js'), '');
  const { context } = JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));
  const app = new App({ outdir: temporaryFolder(), context: { ...context, stages } });
  const { data, service } = addStacks(app, stageNamed(name), () => folder);
  app.synth();
  const resources = (stack: Stack): Resources => Template.fromStack(stack).toJSON()['Resources'];
  const tags = [data, service].map((stack) => stack.tags.tagValues());
  const sizes = [data, service].map(({ templateFile }) => statSync(join(app.outdir, templateFile)).size);
  return { data: resources(data), service: resources(service), tags, sizes };
}

/** What a deployment may say of a stage of its own. */
const OWN = {
  alertEmail: 'ops@example.com',
  mailFrom: 'analytics@mail.example.com',
  restoredTable: 'workspaces-prod-restored',
  domain: { name: 'api.example.com', certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/abc' },
};

let dev: ReturnType<typeof synthesized>;
let prod: ReturnType<typeof synthesized>;
beforeAll(() => {
  // cdk-nag reports on the console.
  jest.spyOn(console, 'error').mockImplementation(() => {});
  jest.spyOn(console, 'warn').mockImplementation(() => {});
  dev = synthesized('dev');
  prod = synthesized('prod', { prod: OWN });
});

const ofType = (resources: Resources, type: string): [string, Resource][] =>
  Object.entries(resources).filter(([, resource]) => resource.Type === type);

/** A value with its references written out: `<LogicalId.Arn>`, `<AWS::Region>`, the name of an import. */
function flat(value: unknown): string {
  if (typeof value === 'string') return value;
  const node = value as Record<string, unknown>;
  if ('Fn::Join' in node) return (node['Fn::Join'] as [string, unknown[]])[1].map(flat).join('');
  if ('Fn::GetAtt' in node) return `<${(node['Fn::GetAtt'] as string[]).join('.')}>`;
  if ('Fn::ImportValue' in node) return flat(node['Fn::ImportValue']);
  if ('Ref' in node) return `<${flat(node['Ref'])}>`;
  throw new Error(`cannot read ${JSON.stringify(value)}`);
}

/** Name of a function (below `functions/`) by the logical id of its resource. */
const functionName = (id: string | undefined): string =>
  String(dev.service[id ?? '']?.Properties['Description']).replace(' (dev)', '');

/** Logical id in a `<Id.Arn>` inside a text. */
const idIn = (text: string): string | undefined => /<(\w+)\.Arn>/.exec(text)?.[1];

const functionNamed = (name: string): Resource => {
  const found = ofType(dev.service, 'AWS::Lambda::Function').find(([id]) => functionName(id) === name);
  if (found === undefined) throw new Error(`no function ${name}`);
  return found[1];
};

function statementsOf(name: string): Statement[] {
  const role = idIn(flat(functionNamed(name).Properties['Role']));
  return ofType(dev.service, 'AWS::IAM::Policy')
    .filter(([, { Properties }]) => (Properties['Roles'] as { Ref: string }[]).some(({ Ref }) => Ref === role))
    .flatMap(([, { Properties }]) => (Properties['PolicyDocument'] as { Statement: Statement[] }).Statement);
}

/** `action resource` of all that the function's role may do. */
function rightsOf(name: string, statements = statementsOf(name)): string[] {
  return statements.flatMap(({ Action, Resource: resource }) =>
    [Action].flat().flatMap((action) => [resource].flat().map((one) => `${action} ${flat(one)}`)),
  );
}
interface Statement {
  readonly Condition?: object;
  readonly Action: string | string[];
  readonly Resource: unknown;
}

/** The logical id of the log group of this name. */
const logGroupNamed = (name: string): string | undefined =>
  ofType(dev.service, 'AWS::Logs::LogGroup').find(
    ([, { Properties }]) => 'LogGroupName' in Properties && flat(Properties['LogGroupName']) === name,
  )?.[0];

const services = (name: string): string[] =>
  [...new Set(rightsOf(name).map((right) => right.slice(0, right.indexOf(':'))))].toSorted((a, b) => (a < b ? -1 : 1));

describe('the API of a stage', () => {
  interface Method {
    readonly security?: unknown;
    readonly 'x-amazon-apigateway-integration': { readonly uri: unknown; readonly timeoutInMillis: number };
  }
  const body = () =>
    ofType(dev.service, 'AWS::ApiGateway::RestApi')[0]?.[1].Properties['Body'] as {
      readonly paths: Record<string, Record<string, Method>>;
      readonly components: unknown;
      readonly 'x-amazon-apigateway-binary-media-types': readonly string[];
      readonly 'x-amazon-apigateway-minimum-compression-size': number;
      readonly 'x-amazon-apigateway-gateway-responses': Record<string, unknown>;
    };
  const target = (method: Method | undefined) =>
    functionName(idIn(flat(method?.['x-amazon-apigateway-integration'].uri)));

  test('has a method for every row, which calls the handler and asks for a key unless the row is public', () => {
    expect(Object.keys(body().paths)).toEqual([...templates, ...SDK_TEMPLATES]);
    for (const path of templates) {
      for (const verb of allowedMethods(path)) {
        const method = body().paths[path]?.[verb.toLowerCase()];
        const row = rowFor(verb, path);
        expect({ path, verb, calls: target(method), security: method?.security }).toEqual({
          path,
          verb,
          calls: row?.handler,
          security: row?.scope === 'public' ? undefined : [{ key: [] }],
        });
      }
    }
  });

  test('has one function for all that SDKs ask, which nobody needs a key for, and hands it their bytes as they are', () => {
    expect(body()['x-amazon-apigateway-binary-media-types']).toEqual(['*/*']);
    // What is smaller the gateway neither unpacks nor packs, and nothing that it takes is larger.
    expect(body()['x-amazon-apigateway-minimum-compression-size']).toBe(10 * 1024 * 1024);
    for (const path of SDK_TEMPLATES) {
      expect(isSdkPath(path.replace('{token}', 'phc_1'))).toBe(true);
      const method = body().paths[path]?.['x-amazon-apigateway-any-method'];
      expect(method?.security).toBeUndefined();
      expect(target(method)).toBe('capture');
    }
  });

  test('answers any other method of a known path by one function, to whom has a key', () => {
    for (const path of templates) {
      const methods = body().paths[path];
      const any = methods?.['x-amazon-apigateway-any-method'];
      expect(target(any)).toBe('method-not-allowed');
      expect(any?.security).toEqual([{ key: [] }]);
      const known = [...allowedMethods(path).map((verb) => verb.toLowerCase()), 'parameters'];
      expect(Object.keys(methods ?? {}).filter((name) => !known.includes(name))).toEqual([
        'x-amazon-apigateway-any-method',
      ]);
    }
  });

  test('asks the authorizer once a minute for each header, method and path template', () => {
    expect(body().components).toMatchObject({
      securitySchemes: {
        key: {
          name: 'Authorization',
          'x-amazon-apigateway-authorizer': {
            type: 'request',
            identitySource: 'method.request.header.Authorization, context.httpMethod, context.resourcePath',
            authorizerResultTtlInSeconds: 60,
          },
        },
      },
    });
  });

  test("speaks for itself in the API's own error shape", () => {
    const responses = body()['x-amazon-apigateway-gateway-responses'];
    expect(Object.keys(responses)).toEqual(Object.keys(GATEWAY_RESPONSES));
    expect(responses['ACCESS_DENIED']).toEqual({
      statusCode: '403',
      responseParameters: {
        'gatewayresponse.header.Cache-Control': "'no-store'",
        'gatewayresponse.header.X-Content-Type-Options': "'nosniff'",
      },
      responseTemplates: { 'application/json': GATEWAY_RESPONSES.ACCESS_DENIED.template },
    });
    expect(responses['THROTTLED']).toEqual({
      statusCode: '429',
      responseParameters: {
        'gatewayresponse.header.Cache-Control': "'no-store'",
        'gatewayresponse.header.X-Content-Type-Options': "'nosniff'",
        'gatewayresponse.header.Retry-After': "'1'",
      },
      responseTemplates: { 'application/json': GATEWAY_RESPONSES.THROTTLED.template },
    });
    expect(responses['DEFAULT_4XX']).not.toHaveProperty('statusCode');
  });

  test('tells whoever meets a function that cannot be begun to come again', () => {
    expect(body()['x-amazon-apigateway-gateway-responses']).toMatchObject({
      INTEGRATION_FAILURE: {
        statusCode: '503',
        responseParameters: { 'gatewayresponse.header.Retry-After': "'5'" },
        responseTemplates: { 'application/json': expect.stringContaining('"code":"service_unavailable"') },
      },
      API_CONFIGURATION_ERROR: { statusCode: '500' },
    });
  });

  test('lets pages read what SDKs meet of that, and nothing else', () => {
    const responses = body()['x-amazon-apigateway-gateway-responses'] as Record<string, { responseParameters: object }>;
    const isReadable = ({ responseParameters }: { responseParameters: object }) =>
      Object.hasOwn(responseParameters, 'gatewayresponse.header.Access-Control-Allow-Origin');
    const readable = Object.entries(responses).filter(([, response]) => isReadable(response));
    expect(readable.map(([type]) => type)).toEqual([
      'REQUEST_TOO_LARGE',
      'INTEGRATION_TIMEOUT',
      'INTEGRATION_FAILURE',
      'API_CONFIGURATION_ERROR',
      'DEFAULT_5XX',
    ]);
  });

  test('is Regional: it answers from where its table is', () => {
    const [, api] = ofType(dev.service, 'AWS::ApiGateway::RestApi')[0] ?? [];
    expect(api?.Properties['EndpointConfiguration']).toEqual({ Types: ['REGIONAL'] });
  });

  test('may call the functions that its methods name, and nobody else may', () => {
    const api = ofType(dev.service, 'AWS::ApiGateway::RestApi')[0]?.[0] ?? '';
    const callers = ofType(dev.service, 'AWS::Lambda::Permission').map(([, { Properties }]) => ({
      of: functionName(idIn(flat(Properties['FunctionName']))),
      who: Properties['Principal'],
      from: flat(Properties['SourceArn']),
    }));
    const called = FUNCTIONS.filter(
      ({ name }) => name !== 'tick' && !name.startsWith('steps/') && !INTERNAL.includes(name),
    );
    expect(callers.filter(({ who }) => who === 'apigateway.amazonaws.com').map(({ of }) => of)).toEqual(
      expect.arrayContaining(called.map(({ name }) => name)),
    );
    const others = callers.filter(({ from }) => !from.includes(`:<${api}>/*`));
    expect(others).toEqual([
      {
        of: 'steps/execution-ended',
        who: 'events.amazonaws.com',
        from: expect.stringMatching(/^<WorkflowsEnded\w+\.Arn>$/),
      },
    ]);
  });

  test('keeps what API Gateway logs by itself as long as all else, and not for good, which is what it does unasked', () => {
    const [[, stage] = []] = ofType(dev.service, 'AWS::ApiGateway::Stage');
    const [[api] = ['']] = ofType(dev.service, 'AWS::ApiGateway::RestApi');
    const log = logGroupNamed(`API-Gateway-Execution-Logs_<${api}>/dev`);
    expect(log).toBeDefined();
    // Before the stage is there, which would make it.
    expect(stage?.DependsOn).toContain(log);
  });

  // https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
  test('lets less through of all busy paths of SDKs, in all stages together, than an account has by default', () => {
    const settings = (resources: Resources) =>
      ofType(resources, 'AWS::ApiGateway::Stage').flatMap(([, { Properties }]) => Properties['MethodSettings']) as {
        readonly ResourcePath: string;
        readonly ThrottlingRateLimit: number;
        readonly ThrottlingBurstLimit: number;
      }[];
    expect(settings(prod.service).map(({ ResourcePath }) => ResourcePath)).toEqual([
      '/*',
      '/~1i~1v0~1e',
      '/~1e',
      '/~1batch',
      '/~1i~1v1~1analytics~1events',
      '/~1i~1v1~1ai~1events',
    ]);
    const [ofEach, ...busy] = settings(prod.service);
    expect(new Set(busy.map(({ ThrottlingRateLimit }) => ThrottlingRateLimit))).toEqual(new Set([1_500]));
    const sumOf = (limit: 'rate' | 'burst') =>
      STAGE_NAMES.reduce((sum, name) => sum + stageNamed(name).throttling.busy[limit] * BUSY_SDK_TEMPLATES.length, 0);
    expect(sumOf('rate')).toBeLessThan(10_000);
    expect(sumOf('burst')).toBeLessThan(5_000);
    // What is left to all else in an account of this stage alone is enough for some other methods at their limit.
    expect(10_000 - busy.length * 1_500).toBeGreaterThanOrEqual(5 * (ofEach?.ThrottlingRateLimit ?? 0));
  });

  test('is throttled, traced and logged, without what may be secret', () => {
    const stage = ofType(dev.service, 'AWS::ApiGateway::Stage')[0]?.[1].Properties ?? {};
    expect(stage).toMatchObject({ StageName: 'dev', TracingEnabled: true });
    expect(stage['MethodSettings']).toMatchObject([
      {
        HttpMethod: '*',
        ResourcePath: '/*',
        ThrottlingRateLimit: 50,
        ThrottlingBurstLimit: 100,
        DataTraceEnabled: false,
        // Numbers of each method would be paid for, and nothing reads them.
        MetricsEnabled: false,
      },
      ...BUSY_SDK_TEMPLATES.map((path) => ({
        HttpMethod: 'POST',
        ResourcePath: `/${path.replaceAll('/', '~1')}`,
        LoggingLevel: 'ERROR',
        DataTraceEnabled: false,
      })),
    ]);
    const { DestinationArn, Format } = stage['AccessLogSetting'] as { DestinationArn: unknown; Format: string };
    expect(flat(DestinationArn)).toMatch(/:log-group:<ApiAccessLog\w+>$/);
    expect(Object.keys(JSON.parse(Format))).toEqual(
      expect.arrayContaining(['requestId', 'extendedRequestId', 'host', 'status', 'principal', 'ms']),
    );
    expect(Format).not.toMatch(/authorizer\.(?!latency|principalId)|querystring|header/i);
  });
});

/** Those that carry DuckDB, which is made for one processor. */
const NATIVE = [
  'lake-worker/waited',
  'lake-worker/background',
  'steps/send-interval',
  'steps/compact-lake',
  'steps/delete-persons',
  'steps/land-inbox',
];

/** Those that other functions call, and nobody else. */
const INTERNAL = ['lake-worker/waited', 'lake-worker/background', 'run-queries'];

describe('the functions of a stage', () => {
  test('are those of the list, on the processor and with the time that each needs', () => {
    const deployed = ofType(dev.service, 'AWS::Lambda::Function').map(([id, { Properties }]) => ({
      name: functionName(id),
      timeout: Properties['Timeout'],
      architecture: (Properties['Architectures'] as string[])[0],
    }));
    expect(deployed).toEqual(
      FUNCTIONS.map(({ name, timeout }) => ({
        name,
        timeout,
        architecture: NATIVE.includes(name) ? 'x86_64' : 'arm64',
      })),
    );
  });

  test('run on Node 24, are traced, and log where lines go after a time', () => {
    const groups = Object.fromEntries(ofType(dev.service, 'AWS::Logs::LogGroup'));
    for (const [, { Properties }] of ofType(dev.service, 'AWS::Lambda::Function')) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Handler: 'index.handler',
        TracingConfig: { Mode: 'Active' },
        LoggingConfig: { LogGroup: { Ref: expect.any(String) } },
      });
      const { LogGroup } = Properties['LoggingConfig'] as { LogGroup: { Ref: string } };
      expect(Object.keys(groups)).toContain(LogGroup.Ref);
    }
    for (const { Properties } of Object.values(groups)) expect(Properties).toMatchObject({ RetentionInDays: 14 });
  });

  test('share a role only where they are called by the same and declare the same: their own would allow no less', () => {
    const declared = ({ name, table, countsKeys, reads, seals, needs, uses = {} }: LambdaSpec): string => {
      const kind = name.startsWith('steps/') ? 'steps' : 'endpoints';
      const caller = ['authorizer', 'tick', 'steps/execution-ended'].includes(name) ? name : kind;
      return JSON.stringify([
        caller,
        table,
        countsKeys === true,
        reads === true,
        needs.toSorted((a, b) => (a < b ? -1 : 1)),
        uses,
        seals === true,
      ]);
    };
    const role = ({ name }: LambdaSpec): string => flat(functionNamed(name).Properties['Role']);
    const byRole = Map.groupBy(FUNCTIONS, role);
    for (const group of byRole.values()) expect(new Set(group.map(declared)).size).toBe(1);
    expect(byRole.size).toBe(new Set(FUNCTIONS.map(declared)).size);
  });

  test('write the table only where something is changed, and never where anybody may call', () => {
    const isWrite = (right: string): boolean => /^dynamodb:(Put|Update|Delete|BatchWrite|PartiQL)/.test(right);
    const isWithin = ({ Condition }: Statement, partition: string): boolean =>
      isDeepStrictEqual(Condition, { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [partition] } });
    const isCount = (one: Statement): boolean =>
      ['COUNT#*', 'ANSWERS#*', 'TURNS#*'].some((partition) => isWithin(one, partition));
    const writes = (name: string): boolean =>
      rightsOf(
        name,
        statementsOf(name).filter((one) => !isCount(one)),
      ).some(isWrite);
    const rowsOf = Map.groupBy(routes, ({ handler }) => handler);
    for (const [name, rows] of rowsOf) {
      const changes = rows.some(({ method, table }) => method !== 'GET' && table === undefined);
      expect({ name, writes: writes(name) }).toEqual({ name, writes: changes });
    }
    const open = routes.filter(({ scope }) => scope === 'public');
    const ofStrangers = open.filter(({ handler }) => rightsOf(handler).some(isWrite));
    // Tries of a password are counted, and nothing else is written.
    expect(new Set(ofStrangers.map(({ handler, table }) => `${handler} ${table}`))).toEqual(
      new Set(['shared/open counts']),
    );
    expect(writes('shared/open')).toBe(false);
    // What takes events of strangers counts them, and asks for their landing.
    const ofCapture = statementsOf('capture').flatMap(({ Action, Condition }) =>
      [Action]
        .flat()
        .filter((one) => one.startsWith('dynamodb:'))
        .map((one) => [one.slice('dynamodb:'.length), JSON.stringify(Condition ?? null).replace(/^.*\["|"\].*$/g, '')]),
    );
    expect(ofCapture).toEqual([
      ['GetItem', 'T#*'],
      ['ConditionCheckItem', 'P#*'],
      ['BatchGetItem', 'W#*'],
      ['UpdateItem', 'W#*'],
      ['PutItem', 'J#landing#*'],
      ['UpdateItem', 'J#landing#*'],
    ]);
    // What is learned of queries is kept where somebody with a key asks, and by what they have ordered.
    const keeping = FUNCTIONS.filter(({ name }) => statementsOf(name).some((one) => isWithin(one, 'ANSWERS#*')));
    const reading = FUNCTIONS.filter(({ table, reads }) => reads === true && table === 'read');
    expect(keeping.map(({ name }) => name)).toEqual(reading.map(({ name }) => name));
    for (const { handler } of open) expect(keeping.map(({ name }) => name)).not.toContain(handler);
    // Turns are shared by those, and by those that test destinations.
    const sharing = FUNCTIONS.filter(({ name }) => statementsOf(name).some((one) => isWithin(one, 'TURNS#*')));
    const testing = FUNCTIONS.filter(({ needs }) => needs.includes('testTurns'));
    expect(testing.map(({ name }) => name)).toEqual(['batch-exports/run-test-step-new', 'batch-exports/run-test-step']);
    expect(new Set(sharing)).toEqual(new Set([...reading, ...testing]));
    expect(writes('method-not-allowed')).toBe(false);
    const touches = (name: string): boolean => services(name).includes('dynamodb');
    const idle = FUNCTIONS.filter(({ name }) => !touches(name)).map(({ name }) => name);
    expect(idle).toEqual([
      'lake-worker/waited',
      'lake-worker/background',
      'console/link',
      'console/page',
      'console/file',
      'reference/page',
      'reference/file',
      'schema',
    ]);
  });

  test('count the requests of a key wherever the API asks for one', () => {
    const ofKeys = new Set([
      ...routes.filter(({ scope }) => scope !== 'public').map(({ handler }) => handler),
      'method-not-allowed',
    ]);
    const counts = ({ Action, Condition }: Statement): boolean =>
      [Action].flat().includes('dynamodb:UpdateItem') &&
      (Condition === undefined || JSON.stringify(Condition).includes('"dynamodb:LeadingKeys":["COUNT#*"]'));
    expect([...ofKeys].filter((name) => !statementsOf(name).some(counts))).toEqual([]);
  });

  test('the authorizer reads and notes keys, and can touch no other item', () => {
    const statements = statementsOf('authorizer').filter(({ Action }) => JSON.stringify(Action).includes('dynamodb:'));
    expect(statements).toEqual([
      {
        Action: ['dynamodb:GetItem', 'dynamodb:UpdateItem'],
        Condition: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['KEY#*'] } },
        Effect: 'Allow',
        Resource: expect.anything(),
      },
    ]);
    const role = flat(functionNamed('authorizer').Properties['Role']);
    expect(FUNCTIONS.filter(({ name }) => flat(functionNamed(name).Properties['Role']) === role)).toHaveLength(1);
  });

  test('are set apart from senders where the account has room for it, so that these cannot starve the API and the tick', () => {
    const apart = (resources: Resources) =>
      Object.fromEntries(
        ofType(resources, 'AWS::Lambda::Function').flatMap(([, { Properties }]) =>
          Properties['ReservedConcurrentExecutions'] === undefined
            ? []
            : [[String(Properties['Description']).split(' ')[0], Properties['ReservedConcurrentExecutions']]],
        ),
      );
    const tests = { 'batch-exports/run-test-step-new': 10, 'batch-exports/run-test-step': 10 };
    expect(apart(prod.service)).toEqual({
      authorizer: 80,
      capture: 100,
      tick: 2,
      'steps/send-interval': 400,
      'lake-worker/waited': 50,
      'lake-worker/background': 25,
      'run-queries': 25,
      ...tests,
    });
    // A new account, which may run 10 at once, could not deploy what sets any apart.
    expect(apart(dev.service)).toEqual({});
  });

  test('answer queries of an organization in half of what is set apart at most, and in eight', () => {
    const turns = ({ service }: { readonly service: Resources }): unknown => {
      const found = ofType(service, 'AWS::Lambda::Function').map(([, { Properties }]) => {
        const { Variables } = Properties['Environment'] as { Variables: Record<string, unknown> };
        return JSON.stringify((JSON.parse(flat(Variables['SETTINGS'])) as { queryTurns?: unknown }).queryTurns);
      });
      const [one = 'null', ...others] = new Set(found);
      expect(others).toEqual([]);
      return JSON.parse(one);
    };
    const least = { authorizer: 1, capture: 1, senders: 1, queries: 1, tests: 1 };
    expect([dev, prod].map(turns)).toEqual([
      { waited: 8, background: 8 },
      { waited: 8, background: 8 },
    ]);
    expect(turns(synthesized('staging'))).toEqual({ waited: 5, background: 2 });
    expect(turns(synthesized('staging', { staging: { concurrency: least } }))).toEqual({ waited: 1, background: 1 });
  });

  test('nobody keeps all others from queries that somebody waits for, or from deliveries, by organizations of their own', () => {
    const { settings, concurrency } = stageNamed('prod');
    const { organizationsPerUser: many, organizationIntervals, queryTurns } = settings;
    expect(many * (queryTurns?.waited ?? 0)).toBeLessThan(concurrency?.queries ?? 0);
    expect(many * (organizationIntervals ?? 0)).toBeLessThan(concurrency?.senders ?? 0);
  });

  test('have no more memory in dev than a new account may give one, and elsewhere all that they are declared with', () => {
    const memories = (resources: Resources) =>
      ofType(resources, 'AWS::Lambda::Function').map(([, { Properties }]) => Properties['MemorySize']);
    expect(memories(prod.service)).toEqual(FUNCTIONS.map(({ memory }) => memory));
    expect(memories(dev.service)).toEqual(FUNCTIONS.map(({ memory }) => Math.min(memory, 3_008)));
  });

  test('have just the variables that their ports read', () => {
    for (const { name, needs } of FUNCTIONS) {
      const { Variables } = functionNamed(name).Properties['Environment'] as { Variables: Record<string, unknown> };
      const wanted = new Set([...ENVIRONMENT.always, ...needs.flatMap((need) => [...ENVIRONMENT[need]])]);
      expect({ name, has: Object.keys(Variables).toSorted() }).toEqual({ name, has: [...wanted].toSorted() });
    }
  });

  test('may do what they need, and nothing of any other kind', () => {
    const always = ['logs', 'xray'];
    const more = {
      workflow: 'states',
      vault: 'kms',
      runFiles: 's3',
      lake: 's3',
      outbound: null,
      compiler: null,
      reader: null,
      personRemoval: null,
      answers: null,
      imports: null,
      pictures: null,
      testTurns: null,
      events: 'events',
      // A stage without a sender sends none.
      mail: null,
      warehouse: null,
      compactor: null,
      personDeletions: null,
      inbox: 's3',
      landing: null,
      lakeWorker: null,
      queryRunner: null,
      converter: null,
    } as const;
    for (const { name, table, needs, reads } of FUNCTIONS) {
      const wanted = new Set([...always, ...needs.flatMap((need) => more[need] ?? [])]);
      if (table !== 'none') wanted.add('dynamodb');
      if (name === 'capture') wanted.add('firehose');
      if (reads === true || needs.includes('answers')) wanted.add('lambda');
      if (needs.includes('queryRunner')) for (const service of ['athena', 'glue', 's3']) wanted.add(service);
      // What could not be done is put into the queue by the function's own right.
      if (name === 'steps/execution-ended') wanted.add('sqs');
      expect({ name, may: services(name) }).toEqual({ name, may: [...wanted].toSorted((a, b) => (a < b ? -1 : 1)) });
    }
  });

  test('call other functions only where the lake is read: who waits the one for that, strangers the one that decides', () => {
    const calls = (name: string) =>
      rightsOf(name)
        .filter((right) => right.startsWith('lambda:'))
        .map((right) => right.replace(/^lambda:InvokeFunction <(\w+)\.Arn>$/, (_, id: string) => functionName(id)));
    expect(calls('query/create')).toEqual(['lake-worker/waited', 'run-queries']);
    expect(calls('events/list')).toEqual(['lake-worker/waited']);
    expect(calls('run-queries')).toEqual(['lake-worker/background']);
    for (const name of ['shared/page', 'shared/open']) expect(calls(name)).toEqual(['run-queries']);
    for (const name of ['steps/check-alert', 'steps/compose-subscription'])
      expect(calls(name)).toEqual(['lake-worker/background']);
    const calling = FUNCTIONS.filter(({ name }) => calls(name).length > 0);
    expect(calling).toEqual(FUNCTIONS.filter(({ reads, needs }) => reads === true || needs.includes('answers')));
    // The one that reads the lake may do that, and nothing else.
    for (const name of ['lake-worker/waited', 'lake-worker/background'])
      expect(rightsOf(name).map((right) => right.split(' ')[0])).toEqual([
        'logs:CreateLogStream',
        'logs:PutLogEvents',
        'xray:PutTelemetryRecords',
        'xray:PutTraceSegments',
        's3:GetObject',
        's3:ListBucket',
      ]);
  });

  test('ask Athena only where nobody waits, bounded in bytes, with results of their own', () => {
    const rights = rightsOf('run-queries').filter((right) => /^(athena|glue|s3):/.test(right));
    expect(
      rights.map((right) => right.replace(/arn:<AWS::Partition>:(\w+:<AWS::Region>:<AWS::AccountId>|s3::):/, '')),
    ).toMatchInlineSnapshot(`
[
  "athena:GetQueryExecution workgroup/workspaces-dev-queries",
  "athena:GetQueryResults workgroup/workspaces-dev-queries",
  "athena:StartQueryExecution workgroup/workspaces-dev-queries",
  "athena:StopQueryExecution workgroup/workspaces-dev-queries",
  "athena:GetDataCatalog datacatalog/AwsDataCatalog",
  "glue:CreateDatabase catalog",
  "glue:CreateDatabase database/default",
  "glue:GetDatabase catalog",
  "glue:GetDatabase database/default",
  "glue:GetDatabase catalog",
  "glue:GetDatabase database/workspaces_dev",
  "glue:GetDatabase table/workspaces_dev/events",
  "glue:GetDatabase table/workspaces_dev/persons",
  "glue:GetPartitions catalog",
  "glue:GetPartitions database/workspaces_dev",
  "glue:GetPartitions table/workspaces_dev/events",
  "glue:GetPartitions table/workspaces_dev/persons",
  "glue:GetTable catalog",
  "glue:GetTable database/workspaces_dev",
  "glue:GetTable table/workspaces_dev/events",
  "glue:GetTable table/workspaces_dev/persons",
  "s3:GetObject workspaces-dev-data-lake/events/*",
  "s3:GetObject workspaces-dev-data-lake/persons/*",
  "s3:AbortMultipartUpload workspaces-dev-data-runFiles/queries/*",
  "s3:GetObject workspaces-dev-data-runFiles/queries/*",
  "s3:ListMultipartUploadParts workspaces-dev-data-runFiles/queries/*",
  "s3:PutObject workspaces-dev-data-runFiles/queries/*",
  "s3:GetBucketLocation workspaces-dev-data-lake",
  "s3:GetBucketLocation workspaces-dev-data-runFiles",
  "s3:ListBucket workspaces-dev-data-lake",
  "s3:ListBucket workspaces-dev-data-runFiles",
  "s3:ListBucketMultipartUploads workspaces-dev-data-runFiles",
]
`);
    const groups = ofType(dev.service, 'AWS::Athena::WorkGroup').map(([, { Properties }]) => Properties);
    expect(groups).toMatchObject([
      { Name: 'workspaces-dev' },
      {
        Name: 'workspaces-dev-queries',
        WorkGroupConfiguration: { EnforceWorkGroupConfiguration: true, BytesScannedCutoffPerQuery: 100e9 },
      },
    ]);
  });

  test('begin executions only where something begins: a backfill by requests, whatever is due by the tick', () => {
    const begins = (name: string) =>
      rightsOf(name)
        .filter((right) => right.startsWith('states:StartExecution '))
        .map((right) => right.replace(/.*:workspaces-dev-/, ''));
    expect(begins('backfills/create')).toEqual(['backfill']);
    expect(begins('tick').toSorted()).toEqual(Object.keys(MACHINES).toSorted());
    for (const { name } of FUNCTIONS.filter((one) => one.name.startsWith('steps/'))) expect(begins(name)).toEqual([]);
  });

  test('touch files and executions only as they must', () => {
    const having = (right: string) =>
      FUNCTIONS.map(({ name }) => name).filter((name) => rightsOf(name).some((one) => one.startsWith(right)));
    expect(having('s3:PutObject ')).toEqual([
      // Athena, with its right: the rows of queries, where they lie for a day.
      'run-queries',
      'capture',
      'steps/begin-run',
      'steps/send-interval',
      'steps/compact-lake',
      'steps/delete-persons',
      'steps/land-inbox',
    ]);
    expect(having('s3:DeleteObject ').toSorted()).toEqual(
      [
        'begin-run',
        'compact-lake',
        'delete-persons',
        'execution-ended',
        'finish-run',
        'land-inbox',
        'purge',
        'send-interval',
      ].map((step) => `steps/${step}`),
    );
    expect(having('dynamodb:BatchWriteItem ').every((name) => name.startsWith('steps/'))).toBe(true);
    const looking = (name: string) =>
      rightsOf(name)
        .filter((right) => right.startsWith('states:DescribeExecution '))
        .map((right) => right.replace(/.*:workspaces-dev-([\w-]+):\*$/, '$1'));
    expect(looking('backfills/create')).toEqual(['backfill']);
    expect(looking('steps/begin-run')).toEqual(['backfill', 'export-run']);
    for (const name of ['tick', 'steps/finish-run', 'steps/purge']) expect(looking(name)).toEqual([]);
  });

  test('seal secrets only where requests bring some', () => {
    const seals = FUNCTIONS.filter(({ name }) => rightsOf(name).some((right) => right.startsWith('kms:Generate')));
    expect(seals.map(({ name }) => name)).toEqual([
      'alerts/create',
      'alerts/update',
      'subscriptions/create',
      'subscriptions/update',
      'batch-exports/create',
      'batch-exports/replace',
      'batch-exports/update',
    ]);
  });

  test('send mail only where messages are sent, from the sender of the stage alone, by whichever configuration set it has', () => {
    const mailing = ofType(prod.service, 'AWS::IAM::Policy').flatMap(([, { Properties }]) => {
      const { Statement } = Properties['PolicyDocument'] as { Statement: Statement[] };
      return rightsOf('', Statement).filter((right) => right.startsWith('ses:'));
    });
    expect(mailing.map((right) => right.replace(/ses:<AWS::Region>:<AWS::AccountId>:/, ''))).toEqual([
      'ses:SendEmail arn:<AWS::Partition>:configuration-set/*',
      'ses:SendEmail arn:<AWS::Partition>:identity/analytics@mail.example.com',
      'ses:SendEmail arn:<AWS::Partition>:identity/mail.example.com',
    ]);
    const settings = ofType(prod.service, 'AWS::Lambda::Function').map(([, { Properties }]) =>
      flat((Properties['Environment'] as { Variables: Record<string, unknown> }).Variables['SETTINGS']),
    );
    for (const text of settings) {
      expect(JSON.parse(text)).toMatchObject({ mailFrom: OWN.mailFrom, publicUrl: 'https://api.example.com' });
    }
  });

  test('that write messages know where the API is, also without an address of its own, so that these have links', () => {
    const api = ofType(dev.service, 'AWS::ApiGateway::RestApi')[0]?.[0] ?? '';
    for (const { name } of FUNCTIONS) {
      const { Variables } = functionNamed(name).Properties['Environment'] as { Variables: Record<string, unknown> };
      const { publicUrl } = JSON.parse(flat(Variables['SETTINGS']));
      const isWriting = ['steps/check-alert', 'steps/compose-subscription'].includes(name);
      const address = `https://<${api}>.execute-api.<AWS::Region>.<AWS::URLSuffix>/dev`;
      expect([name, publicUrl]).toEqual([name, isWriting ? address : null]);
    }
  });

  test('reach only this stage: its table, its buckets, its machines, its key', () => {
    const table = 'arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/workspaces-dev-data-table';
    for (const { name } of FUNCTIONS) {
      const far = rightsOf(name).filter((right) => {
        const [action = '', resource = ''] = right.split(' ');
        if (action.startsWith('xray:')) return resource !== '*';
        if (action.startsWith('events:')) return !resource.endsWith(':event-bus/default');
        if (action.startsWith('lambda:')) return !/^<Functions(lakeworker|runqueries)\w+\.Arn>$/.test(resource);
        if (action.startsWith('sqs:')) return !/^<WorkflowsUnsettled\w+\.Arn>$/.test(resource);
        // Athena asks for the database `default` whatever database a query names.
        if (resource.endsWith(':database/default')) return !/^glue:(Get|Create)Database$/.test(action);
        if (action === 'athena:GetDataCatalog') return !resource.endsWith(':datacatalog/AwsDataCatalog');
        if (action.startsWith('glue:')) return !/:(catalog|(database|table)\/workspaces_dev(\/\w+)?)$/.test(resource);
        if (action.startsWith('dynamodb:')) return ![table, `${table}/index/*`].includes(resource);
        return !/^(<Functions(Endpoints|Steps)Log\w+\.Arn>$|arn:.*workspaces-dev-|workspaces-dev-data-key$)/.test(
          resource,
        );
      });
      expect({ name, far }).toEqual({ name, far: [] });
    }
  });
});

describe('the state machines of a stage', () => {
  const machines = () =>
    ofType(dev.service, 'AWS::StepFunctions::StateMachine').map(([, { Properties }]) => ({
      name: String(Properties['StateMachineName']).replace('workspaces-dev-', ''),
      definition: flat(Properties['DefinitionString']),
      properties: Properties,
    }));

  test('are those of the program, with the names of functions and machines put in and nothing else changed', () => {
    expect(machines().map(({ name }) => name)).toEqual(Object.keys(MACHINES));
    for (const { name, definition } of machines()) {
      // What was put in, taken out again.
      const restored = definition
        .replace(/<(\w+)\.Arn>/g, (_, id: string) => `\${${functionName(id).replace('steps/', '')}}`)
        .replace(/arn:<AWS::Partition>:states:[^"]*:stateMachine:workspaces-dev-([\w-]+)/g, '${$1}');
      expect(JSON.parse(restored)).toEqual(MACHINES[name as keyof typeof MACHINES]);
      expect(definition).not.toContain('${');
    }
  });

  test('are traced, log what goes wrong and nothing of customers, and end in time', () => {
    for (const { properties, definition } of machines()) {
      expect(JSON.parse(definition)).toMatchObject({ TimeoutSeconds: expect.any(Number) });
      expect(properties).toMatchObject({
        StateMachineType: 'STANDARD',
        TracingConfiguration: { Enabled: true },
        LoggingConfiguration: { Level: 'ERROR', IncludeExecutionData: false },
      });
    }
  });

  // https://docs.aws.amazon.com/step-functions/latest/dg/bp-cwl.html
  test('log to a group whose name asks for no more of the policy that an account has for logs, which may be full', () => {
    const log = logGroupNamed('/aws/vendedlogs/states/workspaces-dev');
    expect(log).toBeDefined();
    expect(dev.service[log ?? '']).toMatchObject({ DeletionPolicy: 'Delete' });
    for (const { properties } of machines()) {
      const { Destinations } = properties['LoggingConfiguration'] as {
        Destinations: { CloudWatchLogsLogGroup: { LogGroupArn: unknown } }[];
      };
      expect(Destinations.map((one) => flat(one.CloudWatchLogsLogGroup.LogGroupArn))).toEqual([`<${log}.Arn>`]);
    }
  });

  test('tell of every execution that did not succeed', () => {
    const [, rule] = ofType(dev.service, 'AWS::Events::Rule')[0] ?? [];
    const pattern = rule?.Properties['EventPattern'] as { detail: { status: string[]; stateMachineArn: unknown[] } };
    expect(pattern.detail.status).toEqual(['FAILED', 'TIMED_OUT', 'ABORTED']);
    expect(pattern.detail.stateMachineArn.map((arn) => flat(arn).split(':').at(-1))).toEqual(
      Object.keys(MACHINES).map((name) => `workspaces-dev-${name}`),
    );
    const targets = rule?.Properties['Targets'] as { Arn: unknown }[];
    expect(targets.map(({ Arn }) => functionName(idIn(flat(Arn))))).toEqual(['steps/execution-ended']);
  });

  test('leave an end that nobody could settle in a queue, which an alarm watches', () => {
    const [[queue] = ['']] = ofType(dev.service, 'AWS::SQS::Queue');
    const arn = { 'Fn::GetAtt': [queue, 'Arn'] };
    const rules = ofType(dev.service, 'AWS::Events::Rule');
    for (const [, { Properties }] of rules) {
      for (const target of Properties['Targets'] as object[])
        expect(target).toMatchObject({ DeadLetterConfig: { Arn: arn } });
    }
    const invoked = ofType(dev.service, 'AWS::Lambda::EventInvokeConfig').map(([, { Properties }]) => ({
      of: functionName((Properties['FunctionName'] as { Ref: string }).Ref),
      ...Properties,
    }));
    expect(invoked).toMatchObject([
      { of: 'run-queries', MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 300 },
      { of: 'tick', MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 },
      { of: 'steps/execution-ended', DestinationConfig: { OnFailure: { Destination: arn } } },
    ]);
    const watched = ofType(dev.service, 'AWS::CloudWatch::Alarm').filter(([, { Properties }]) =>
      JSON.stringify(Properties['Dimensions'] ?? '').includes(queue),
    );
    expect(watched.map(([, { Properties }]) => Properties['MetricName'])).toEqual([
      'ApproximateNumberOfMessagesVisible',
    ]);
  });

  test('are started by a tick each minute', () => {
    const [, schedule] = ofType(dev.service, 'AWS::Scheduler::Schedule')[0] ?? [];
    const target = schedule?.Properties['Target'] as { Arn: unknown };
    expect(schedule?.Properties['ScheduleExpression']).toBe('rate(1 minute)');
    expect(functionName(idIn(flat(target.Arn)))).toBe('tick');
  });
});

describe('what must survive', () => {
  /** A new id here would be a new, empty resource: a stage would lose what it has. */
  const STATEFUL: Readonly<Record<string, string>> = {
    TableCD117FA1: 'AWS::DynamoDB::GlobalTable',
    Lake5F1B88EA: 'AWS::S3::Bucket',
    RunFiles1D83B63E: 'AWS::S3::Bucket',
    InboxA8E05DC3: 'AWS::S3::Bucket',
    AccessLogs8B620ECA: 'AWS::S3::Bucket',
    Key961B73FD: 'AWS::KMS::Key',
  };

  test('keeps its logical ids in every stage, and is kept when it is taken out', () => {
    for (const { data } of [dev, prod]) {
      const stateful = Object.entries(data).filter(([, { Type }]) => /::(GlobalTable|Bucket|Key)$/.test(Type));
      expect(Object.fromEntries(stateful.map(([id, { Type }]) => [id, Type]))).toEqual(STATEFUL);
      for (const [, resource] of stateful) {
        expect(resource).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
      }
    }
  });

  test('keeps the policies of its buckets as long as these: by TLS only, and logged', () => {
    const policies = ofType(dev.data, 'AWS::S3::BucketPolicy');
    expect(policies).toHaveLength(4);
    for (const [, policy] of policies) expect(policy).toMatchObject({ DeletionPolicy: 'Retain' });
  });

  test('has the table as the program reads it, with a way back, protected in production', () => {
    const [, table] = ofType(prod.data, 'AWS::DynamoDB::GlobalTable')[0] ?? [];
    expect(table?.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      GlobalSecondaryIndexes: [
        { IndexName: 'first', Projection: { ProjectionType: 'ALL' } },
        { IndexName: 'second', Projection: { ProjectionType: 'KEYS_ONLY' } },
      ],
      TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      Replicas: [
        { DeletionProtectionEnabled: true, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } },
      ],
    });
  });

  test('can be a table that was restored: the service uses it, and the one of the stack stays as it is', () => {
    const [, { Properties } = { Properties: {} }] = ofType(prod.data, 'AWS::DynamoDB::GlobalTable')[0] ?? [];
    expect(Properties).not.toHaveProperty('TableName');
    for (const [, lambda] of ofType(prod.service, 'AWS::Lambda::Function')) {
      expect(lambda.Properties['Environment']).toMatchObject({ Variables: { TABLE_NAME: OWN.restoredTable } });
    }
    const text = JSON.stringify(prod.service);
    expect(text).toContain(`:table/${OWN.restoredTable}`);
    expect(text).not.toContain('workspaces-prod-data-table');
  });

  test('is private, encrypted, and reached by TLS only', () => {
    const buckets = ofType(dev.data, 'AWS::S3::Bucket');
    expect(buckets).toHaveLength(4);
    for (const [id, { Properties }] of buckets) {
      expect(Properties['PublicAccessBlockConfiguration']).toEqual({
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      });
      expect(Properties).toHaveProperty('BucketEncryption');
      const policy = ofType(dev.data, 'AWS::S3::BucketPolicy').find(
        ([, one]) => (one.Properties['Bucket'] as { Ref: string }).Ref === id,
      );
      expect(JSON.stringify(policy)).toContain('"aws:SecureTransport":"false"');
    }
  });
});

describe('what is kept for a time', () => {
  const lifecycleOf = (name: string) => {
    const [, bucket] = ofType(dev.data, 'AWS::S3::Bucket').find(([id]) => id.startsWith(name)) ?? [];
    return (bucket as Resource).Properties['LifecycleConfiguration'];
  };

  test.each([
    ['RunFiles', { ExpirationInDays: 7 }, [{ Prefix: 'queries/', ExpirationInDays: 1, Status: 'Enabled' }]],
    ['AccessLogs', { ExpirationInDays: 90 }, []],
    [
      'Lake',
      { NoncurrentVersionExpiration: { NoncurrentDays: 7 }, ExpiredObjectDeleteMarker: true },
      [{ Prefix: 'incoming/', NoncurrentVersionExpiration: { NoncurrentDays: 1 }, Status: 'Enabled' }],
    ],
  ])('%s: %j, uploads that somebody died over for a day, and %j', (name, rule, more) => {
    expect(lifecycleOf(name)).toEqual({
      Rules: [{ ...rule, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: 'Enabled' }, ...more],
    });
  });
});

test('everything that can be marked carries the name of its stage', () => {
  const UNMARKED = new Set([
    'AWS::ApiGateway::Account',
    'AWS::ApiGateway::BasePathMapping',
    'AWS::ApiGateway::Deployment',
    'AWS::Glue::Database',
    'AWS::Glue::Table',
    'AWS::IAM::Policy',
    'AWS::KMS::Alias',
    'AWS::Lambda::EventInvokeConfig',
    'AWS::Lambda::Permission',
    'AWS::Logs::LogStream',
    'AWS::S3::BucketPolicy',
    'AWS::SNS::Subscription',
    'AWS::SNS::TopicPolicy',
    'AWS::SQS::QueuePolicy',
    'AWS::Scheduler::Schedule',
    'AWS::WAFv2::WebACLAssociation',
  ]);
  const unmarked = Object.entries({ ...prod.data, ...prod.service }).filter(([, { Type, Properties }]) => {
    const { Tags, ResourceTags, Replicas } = Properties as Record<string, { Tags?: object }[] | object | undefined>;
    const tags = JSON.stringify([Tags, ResourceTags, Replicas]);
    return !UNMARKED.has(Type) && !/"Key":"stage","Value":"prod"|"stage":"prod"/.test(tags);
  });
  expect(unmarked.map(([id]) => id)).toEqual([]);
  expect(prod.tags).toEqual(Array.from({ length: 2 }, () => ({ service: 'workspaces', stage: 'prod' })));
});

test('the CDK works as this version of it recommends', () => {
  const { context } = JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));
  expect(context).toEqual({ stage: 'dev', ...recommended });
});

describe('watching a stage', () => {
  const alarms = (resources: Resources) =>
    ofType(resources, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => ({
      heading: String(Properties['AlarmName']).replace(/^workspaces-\w+: /, ''),
      says: String(Properties['AlarmDescription']),
      properties: Properties,
    }));

  test('each alarm is a heading of the operations page, which each alarm names, and the page has no other', () => {
    const page = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
    const [, section = ''] = page.split('\n## Alarms\n');
    const headings = [...(section.split('\n## ')[0] ?? '').matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    expect(alarms(dev.service).map(({ heading }) => heading)).toEqual(headings);
    for (const { heading, says } of alarms(dev.service))
      expect(says).toContain(`See "${heading}" in docs/operations.md.`);
  });

  test('each alarm tells one topic when it goes off and when it is over; nobody hears of dev unless they asked to', () => {
    const topic = (resources: Resources) => ofType(resources, 'AWS::SNS::Topic').map(([id]) => ({ Ref: id }));
    for (const { properties } of alarms(dev.service)) {
      expect(properties).toMatchObject({ AlarmActions: topic(dev.service), OKActions: topic(dev.service) });
    }
    expect(topic(dev.service)).toHaveLength(1);
    // What a service of AWS says for another account is not passed on.
    const statements = ofType(dev.service, 'AWS::SNS::TopicPolicy').flatMap(
      ([, { Properties }]) =>
        (Properties['PolicyDocument'] as { Statement: (Statement & { Effect: string })[] }).Statement,
    );
    const allowing = statements.filter(({ Effect }) => Effect === 'Allow');
    expect(allowing).toHaveLength(1);
    const ofThis = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } };
    for (const { Condition } of allowing) expect(Condition).toEqual(ofThis);
    expect(ofType(dev.service, 'AWS::SNS::Subscription')).toEqual([]);
    expect(ofType(prod.service, 'AWS::SNS::Subscription').map(([, { Properties }]) => Properties)).toMatchObject([
      { Protocol: 'email', Endpoint: OWN.alertEmail, TopicArn: topic(prod.service)[0] },
    ]);
  });

  test('a tick that does not run is an alarm too, though it measures nothing', () => {
    const silent = alarms(dev.service).filter(({ properties }) => properties['TreatMissingData'] === 'breaching');
    expect(silent.map(({ properties }) => properties['MetricName'])).toEqual(['OldestDueJob']);
  });

  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/percentiles-with-low-samples.html
  test('a share of the requests is judged only where there are enough to have one', () => {
    const shares = alarms(dev.service).filter(({ properties }) => 'ExtendedStatistic' in properties);
    expect(shares.map(({ heading, properties }) => [heading, properties['EvaluateLowSampleCountPercentile']])).toEqual([
      ['Answers are slow', 'ignore'],
    ]);
  });

  test('alarms and dashboard read what the service writes, of this stage', () => {
    const own = alarms(dev.service).filter(({ properties }) => properties['Namespace'] === 'Workspaces');
    for (const { properties } of own) {
      expect(METRICS).toHaveProperty(String(properties['MetricName']));
      expect(properties['Dimensions']).toEqual([{ Name: 'stage', Value: 'dev' }]);
    }
    const [, board] = ofType(dev.service, 'AWS::CloudWatch::Dashboard')[0] ?? [];
    const text = JSON.stringify(board?.Properties['DashboardBody']);
    for (const name of Object.keys(METRICS)) expect(text).toContain(name);
    const [, api] = ofType(dev.service, 'AWS::ApiGateway::RestApi')[0] ?? [];
    expect(text).toContain(`\\"ApiName\\",\\"${String(api?.Properties['Name'])}\\"`);
  });

  test('an alarm over several numbers goes off though some of them are silent', () => {
    const expressions = alarms(dev.service).flatMap(({ properties }) =>
      ((properties['Metrics'] ?? []) as { Expression?: string }[]).flatMap(({ Expression }) => Expression ?? []),
    );
    expect(expressions.length).toBeGreaterThan(3);
    for (const expression of expressions) expect(expression).toMatch(/^SUM\(\[[^+]+\]\)$/);
  });

  // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-limits.html
  test('no alarm reads more than ten numbers, the most that CloudWatch takes', () => {
    for (const { heading, properties } of [dev, prod].flatMap(({ service }) => alarms(service))) {
      const read = ((properties['Metrics'] ?? []) as object[]).filter((one) => 'MetricStat' in one);
      expect({ heading, isTaken: read.length <= 10 }).toEqual({ heading, isTaken: true });
    }
  });

  test('functions that reach a number of their own are not held back by the account, which has an alarm for that', () => {
    const throttled = (wanted: string, { service } = prod) =>
      alarms(service)
        .filter(({ heading }) => heading === wanted)
        .flatMap(({ properties }) => (properties['Metrics'] ?? [{ MetricStat: { Metric: properties } }]) as Read[])
        .flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? [])
        .map(({ Value }) => functionName(Value.Ref));
    interface Read {
      readonly MetricStat?: { readonly Metric: Metric };
    }
    interface Metric {
      readonly Dimensions?: readonly { readonly Value: { readonly Ref: string } }[];
    }
    const queries = ['lake-worker/waited', 'lake-worker/background', 'run-queries'];
    expect(throttled('Queries are held back')).toEqual(queries);
    expect(throttled('Senders are held back')).toEqual(['steps/send-interval']);
    expect(throttled('Capture is held back')).toEqual(['capture']);
    // Of what the account throttles.
    const apart = ofType(prod.service, 'AWS::Lambda::Function')
      .filter(([, { Properties }]) => 'ReservedConcurrentExecutions' in Properties)
      .map(([id]) => functionName(id));
    expect(apart).toHaveLength(9);
    expect(throttled('Functions are held back').toSorted()).toEqual(apart.toSorted());
    // Where nothing is set apart for them, the account itself holds them back.
    expect(throttled('Functions are held back', dev)).toEqual([]);
  });

  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
  test('an alarm tells of what is throttled of each index, which the table alone does not count', () => {
    const { properties } = alarms(dev.service).find(({ heading }) => heading === 'The table refuses') ?? {};
    const read = (properties?.['Metrics'] ?? []) as { MetricStat?: { Metric: AlarmMetric } }[];
    interface AlarmMetric {
      readonly MetricName: string;
      readonly Dimensions: readonly { readonly Name: string; readonly Value: string }[];
    }
    const seen = read.flatMap(({ MetricStat }) => {
      if (MetricStat === undefined) return [];
      const { MetricName, Dimensions } = MetricStat.Metric;
      const index = Dimensions.find(({ Name }) => Name === 'GlobalSecondaryIndexName')?.Value ?? 'table';
      expect(Dimensions.map(({ Name }) => Name)).toContain('TableName');
      return [`${MetricName} of ${index}`];
    });
    expect(new Set(seen)).toEqual(
      new Set(
        ['table', ...Object.keys(TABLE_DEFINITION.indexes)].flatMap((part) => [
          `ReadThrottleEvents of ${part}`,
          `WriteThrottleEvents of ${part}`,
        ]),
      ),
    );
  });

  test('docs/deploy.md counts the alarms, and the numbers that they read, for which one pays', () => {
    const numbers = alarms(prod.service).map(({ properties }) =>
      ((properties['Metrics'] ?? [{ MetricStat: properties }]) as object[]).filter((one) => 'MetricStat' in one),
    );
    const page = readFileSync(join(ROOT, 'docs', 'deploy.md'), 'utf8');
    expect(page).toContain(`| ${numbers.length} alarms over ${numbers.flat().length} metrics x 0.10; `);
  });

  test('an alarm tells of acknowledged events that the delivery stream does not deliver, long before it drops them', () => {
    const [[, stream] = []] = ofType(dev.service, 'AWS::KinesisFirehose::DeliveryStream');
    const watching = alarms(dev.service).filter(({ properties }) => properties['Namespace'] === 'AWS/Firehose');
    expect(watching.map(({ properties }) => properties)).toMatchObject([
      {
        MetricName: 'DeliveryToS3.DataFreshness',
        Dimensions: [{ Name: 'DeliveryStreamName', Value: stream?.Properties['DeliveryStreamName'] }],
        Statistic: 'Maximum',
        Threshold: 900,
        EvaluationPeriods: 1,
      },
    ]);
  });

  test('the delivery stream says why it cannot write, in a log that ends as all others', () => {
    const [[, stream] = []] = ofType(prod.service, 'AWS::KinesisFirehose::DeliveryStream');
    const { CloudWatchLoggingOptions: said, RoleARN } = (stream as Resource).Properties[
      'ExtendedS3DestinationConfiguration'
    ] as {
      CloudWatchLoggingOptions?: { Enabled: boolean; LogGroupName: { Ref: string }; LogStreamName: { Ref: string } };
      RoleARN: unknown;
    };
    expect(said?.Enabled).toBe(true);
    const [group = '', file = ''] = [said?.LogGroupName.Ref, said?.LogStreamName.Ref];
    expect(prod.service[group]).toMatchObject({ DeletionPolicy: 'Delete', Properties: { RetentionInDays: 90 } });
    expect(prod.service[file]).toMatchObject({
      Type: 'AWS::Logs::LogStream',
      DeletionPolicy: 'Delete',
      Properties: { LogGroupName: { Ref: group } },
    });
    const rights = ofType(prod.service, 'AWS::IAM::Policy')
      .filter(([, { Properties }]) => JSON.stringify(Properties['Roles']).includes(`"${idIn(flat(RoleARN)) ?? ''}"`))
      .flatMap(([, { Properties }]) =>
        rightsOf('', (Properties['PolicyDocument'] as { Statement: Statement[] }).Statement),
      );
    expect(rights).toContain(`logs:PutLogEvents <${group}.Arn>`);
  });

  test('each stage has a budget, of its own costs', () => {
    expect(ofType(prod.service, 'AWS::Budgets::Budget').map(([, { Properties }]) => Properties)).toMatchObject([
      { Budget: { BudgetLimit: { Amount: 500, Unit: 'USD' }, CostFilters: { TagKeyValue: ['user:stage$prod'] } } },
    ]);
  });

  // Budgets and dashboards are the account's, whose Region each of them has:
  // https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-budgets-budget-budgetdata.html
  test('a stage of this name stands in several Regions of an account, each with a budget and a dashboard', () => {
    const [[, budget] = []] = ofType(prod.service, 'AWS::Budgets::Budget');
    const said = budget?.Properties['Budget'] as { CostFilters: { Region?: unknown[] } };
    expect(said).not.toHaveProperty('BudgetName');
    expect(said.CostFilters.Region?.map(flat)).toEqual(['<AWS::Region>']);
    const [[, board] = []] = ofType(prod.service, 'AWS::CloudWatch::Dashboard');
    expect(flat(board?.Properties['DashboardName'])).toBe('workspaces-prod-<AWS::Region>');
  });
});

describe('the firewall', () => {
  test('stands before production only', () => {
    expect(ofType(dev.service, 'AWS::WAFv2::WebACL')).toEqual([]);
    const [id] = ofType(prod.service, 'AWS::WAFv2::WebACL')[0] ?? [];
    expect(ofType(prod.service, 'AWS::WAFv2::WebACLAssociation').map(([, { Properties }]) => Properties)).toMatchObject(
      [{ WebACLArn: { 'Fn::GetAtt': [id, 'Arn'] } }],
    );
  });

  test('counts what an address sends apart from what it asks of the API, and tells an SDK in its own form', () => {
    const [, acl] = ofType(prod.service, 'AWS::WAFv2::WebACL')[0] ?? [];
    const { Rules, CustomResponseBodies } = (acl as Resource).Properties as {
      Rules: { Name: string; Action: object; Statement: { RateBasedStatement: { ScopeDownStatement: object } } }[];
      CustomResponseBodies: Record<string, object>;
    };
    const named = (name: string) => Rules.find(({ Name }) => Name === name);
    const events = named('events-of-an-address');
    const scope = events?.Statement.RateBasedStatement.ScopeDownStatement as {
      RegexMatchStatement: { RegexString: string; FieldToMatch: object };
    };
    // What is counted there is not counted here, and nothing is counted in neither. Nor is a token of SDKs a key.
    for (const rule of ['rate-of-an-address', 'rate-of-a-key'])
      expect(named(rule)?.Statement.RateBasedStatement.ScopeDownStatement).toEqual({
        NotStatement: { Statement: scope },
      });
    expect(scope.RegexMatchStatement.FieldToMatch).toEqual({ UriPath: {} });
    const isCounted = new RegExp(scope.RegexMatchStatement.RegexString);
    for (const template of SDK_TEMPLATES)
      for (const path of [template, `${template}/`].map((one) => one.replace('{token}', 'phc_1')))
        expect([isCounted.test(path), isCounted.test(`/prod${path}`), isSdkPath(path)]).toEqual([true, true, true]);
    for (const path of ['/', '/api/projects/1/query/', '/ee', '/batch/x', '/array/a/b/config', '/prod', '/dev/e/'])
      expect(isCounted.test(path)).toBe(false);
    expect(scope.RegexMatchStatement.RegexString.length).toBeLessThanOrEqual(512);
    expect(events?.Action).toEqual({
      Block: {
        CustomResponse: {
          ResponseCode: 503,
          CustomResponseBodyKey: 'sdk-throttled',
          ResponseHeaders: [
            { Name: 'Retry-After', Value: '30' },
            { Name: 'Access-Control-Allow-Origin', Value: '*' },
            { Name: 'Access-Control-Expose-Headers', Value: 'Retry-After' },
          ],
        },
      },
    });
    expect(CustomResponseBodies['sdk-throttled']).toEqual({
      ContentType: 'TEXT_PLAIN',
      Content: 'This address sends too many requests. Try again in 30 s.',
    });
  });

  test("looks at rate and reputation alone, and refuses in the API's own error shape", () => {
    const [, acl] = ofType(prod.service, 'AWS::WAFv2::WebACL')[0] ?? [];
    const { Rules, CustomResponseBodies, DefaultAction } = (acl as Resource).Properties as {
      Rules: { Name: string; Statement: object }[];
      CustomResponseBodies: Record<string, { Content: string }>;
      DefaultAction: object;
    };
    expect(DefaultAction).toEqual({ Allow: {} });
    expect(Rules.map(({ Statement: statement }) => Object.keys(statement))).toEqual([
      ['RateBasedStatement'],
      ['RateBasedStatement'],
      ['RateBasedStatement'],
      ['ManagedRuleGroupStatement'],
    ]);
    expect(Rules.map(({ Statement: statement }) => Object.values(statement)[0])).toMatchObject([
      {
        Limit: 2_400,
        AggregateKeyType: 'CUSTOM_KEYS',
        CustomKeys: [
          { Header: { Name: 'Authorization', TextTransformations: [{ Priority: 0, Type: 'COMPRESS_WHITE_SPACE' }] } },
        ],
      },
      { Limit: 24_000, EvaluationWindowSec: 300, AggregateKeyType: 'IP' },
      { Limit: 60_000, EvaluationWindowSec: 60, AggregateKeyType: 'IP' },
      {},
    ]);
    expect(JSON.parse(CustomResponseBodies['throttled']?.Content ?? '')).toEqual({
      type: 'throttled_error',
      code: 'throttled',
      detail: 'Request was throttled.',
      attr: null,
    });
    expect(JSON.parse(CustomResponseBodies['refused']?.Content ?? '')).toMatchObject({
      code: 'permission_denied',
      attr: null,
    });
  });
});

describe('an address of its own', () => {
  test('serves the API at its root; without one there is none', () => {
    expect(ofType(dev.service, 'AWS::ApiGateway::DomainName')).toEqual([]);
    expect(ofType(prod.service, 'AWS::ApiGateway::DomainName').map(([, { Properties }]) => Properties)).toMatchObject([
      { DomainName: 'api.example.com', RegionalCertificateArn: OWN.domain.certificateArn, SecurityPolicy: 'TLS_1_2' },
    ]);
    const [, mapping] = ofType(prod.service, 'AWS::ApiGateway::BasePathMapping')[0] ?? [];
    expect(mapping?.Properties).not.toHaveProperty('BasePath');
  });

  test('closes the other one, which is open where there is none', () => {
    const [dead, open] = [prod, dev].map(({ service }) => {
      const api = ofType(service, 'AWS::ApiGateway::RestApi')[0]?.[1].Properties ?? {};
      return { property: api['DisableExecuteApiEndpoint'], servers: (api['Body'] as { servers?: unknown }).servers };
    });
    expect(open).toEqual({ property: false, servers: undefined });
    expect(dead).toEqual({
      property: true,
      servers: [{ 'x-amazon-apigateway-endpoint-configuration': { disableExecuteApiEndpoint: true } }],
    });
  });

  test('stands beside the other one where that is to stay open, behind the same limits and the same firewall', () => {
    const domain = { ...OWN.domain, defaultAddress: 'open' };
    const { service } = synthesized('prod', { prod: { ...OWN, domain } });
    const [api, made] = ofType(service, 'AWS::ApiGateway::RestApi')[0] ?? [];
    expect(made?.Properties).toMatchObject({ DisableExecuteApiEndpoint: false });
    expect(made?.Properties['Body']).not.toHaveProperty('servers');
    for (const type of ['DomainName', 'BasePathMapping', 'Stage']) {
      const [one, other] = [service, prod.service].map((made) => ofType(made, `AWS::ApiGateway::${type}`));
      const settings = (found: typeof one) => found?.map(([, made]) => ({ ...made.Properties, DeploymentId: null }));
      expect([type, settings(one)]).toEqual([type, settings(other)]);
    }
    const guarded = ofType(service, 'AWS::WAFv2::WebACLAssociation').map(([, made]) =>
      flat(made.Properties['ResourceArn']),
    );
    expect(guarded).toEqual([expect.stringContaining(`/restapis/<${api ?? ''}>/stages/prod`)]);
  });

  test('the options that docs/deploy.md shows are understood', () => {
    const page = readFileSync(join(ROOT, 'docs', 'deploy.md'), 'utf8');
    const { context } = JSON.parse(/```json\n(.*?)```/s.exec(page)?.[1] ?? '');
    expect(optionsOf(context.stages, stageNamed('prod'))).toEqual(context.stages.prod);
  });

  test.each([
    [{ alertEmail: 'nobody' }, /^context\.stages\.dev\.alertEmail in cdk\.json cannot be used: /],
    [{ domain: { name: 'api.example.com' } }, /^context\.stages\.dev\.domain\.certificateArn in cdk\.json /],
    [
      { domain: { ...OWN.domain, defaultAddress: 'ajar' } },
      /^context\.stages\.dev\.domain\.defaultAddress in cdk\.json cannot be used: must be "open" or "closed"\.$/,
    ],
    [{ restoredTable: 'a table' }, /^context\.stages\.dev\.restoredTable in cdk\.json /],
    [{ colour: 'red' }, /^context\.stages\.dev in cdk\.json .*colour/],
    [
      { concurrency: { authorizer: 1, senders: 0, tests: 1 } },
      /^context\.stages\.dev\.concurrency\.senders in cdk\.json /,
    ],
    ['everything', /^context\.stages\.dev in cdk\.json /],
    [
      { domain: { name: 'api.example.com', certificateArn: 'arn:aws:s3:::x' } },
      /must be the ARN of a certificate in ACM\.$/,
    ],
  ])('options that are not understood are refused in one sentence: %j', (options, sentence) => {
    expect(() => optionsOf({ dev: options }, stageNamed('dev'))).toThrow(sentence);
  });

  test('options of a stage that does not exist are refused too', () => {
    expect(() => optionsOf({ production: {} }, stageNamed('prod'))).toThrow(
      'context.stages in cdk.json cannot be used: Unrecognized key: "production".',
    );
  });
});

test('a stage stays well below 500 resources in a stack, the most that CloudFormation takes', () => {
  for (const resources of [dev.data, dev.service, prod.data, prod.service]) {
    expect(Object.keys(resources).length).toBeLessThan(450);
  }
});

// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
test('a template stays well below 1 MB as it is uploaded, the most that CloudFormation takes: its blanks count', () => {
  for (const size of [...dev.sizes, ...prod.sizes]) expect(size).toBeLessThan(800_000);
});

test.each([undefined, 'live', 'constructor'])(
  'the stage %j does not exist, and one sentence says what to do',
  (name) => {
    expect(() => stageNamed(name)).toThrow(/^There is no stage .*: choose one of dev, staging, prod\.$/);
  },
);
