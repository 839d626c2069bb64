import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Bundles, builtBundles, isNative } from '../../../infra/aws/bundle.ts';
import { ENVIRONMENT, FUNCTIONS, flat } from '../../../infra/aws/functions.ts';
import { document } from '../../../lib/api/computed/document.ts';
import { routes } from '../../../lib/api/routes.ts';
import { messageOf } from '../../../lib/basics/text.ts';
import { CLOUD_SETTINGS } from '../../../lib/ports/settings.ts';
import { workerPool } from '../../../lib/workers/pool.ts';
import { temporaryFolder } from '../../support/context.ts';

let bundles: Bundles;
beforeAll(async () => {
  bundles = await builtBundles();
});

/** Files whose code is in the function's bundle, from the root of the repository. */
function filesIn(name: string): string[] {
  const output = Object.entries(bundles.metafile.outputs).find(([path]) => path.endsWith(join(flat(name), 'index.js')));
  return Object.entries(output?.[1].inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path);
}

/** All that any function is told by its environment. */
const VARIABLES = {
  ...Object.fromEntries(
    Object.values(ENVIRONMENT)
      .flat()
      .map((name) => [name, 'x']),
  ),
  MACHINES: '{}',
  SETTINGS: '{}',
  AWS_REGION: 'eu-central-1',
};

/** What stands for one machine, and what only the function that forms bytes may hold. */
const EMBEDDED =
  /^lib\/(ports\/(table\/sqlite|files\/folder|vault\/keyfile)|workflow\/(call-step|definition-store|engine|execution-items|in-lanes|interpreter))\.ts$|^infra\/local\//;
const CONVERTER = /^lib\/(duckdb\/database|warehouse\/(duckdb|converter|line-database))\.ts$|@duckdb/;

const ADAPTERS = {
  workflow: 'lib/workflow/stepfunctions.ts',
  vault: 'lib/ports/vault/kms.ts',
  warehouse: 'lib/warehouse/athena.ts',
} as const;

describe('a bundle', () => {
  test('is there for every function, and holds its handler', () => {
    for (const { name } of FUNCTIONS) expect(filesIn(name)).toContain(`functions/${name}.ts`);
  });

  test('holds no adapter of one machine', () => {
    const found = FUNCTIONS.flatMap(({ name }) =>
      filesIn(name).flatMap((path) => (EMBEDDED.test(path) ? [`${name}: ${path}`] : [])),
    );
    expect(found).toEqual([]);
  });

  test('holds DuckDB where bytes are formed and files joined, and nowhere else', () => {
    const having = FUNCTIONS.filter(({ name }) => filesIn(name).some((path) => CONVERTER.test(path)));
    expect(having.map(({ name }) => name)).toEqual([
      'steps/send-interval',
      'steps/compact-lake',
      'steps/delete-persons',
      'steps/land-inbox',
    ]);
  });

  test('notes the layout of the data in the tick, which every stage has, and nowhere else', () => {
    const noting = FUNCTIONS.filter(({ name }) => filesIn(name).includes('infra/aws/runtime/layout-note.ts'));
    expect(noting.map(({ name }) => name)).toEqual(['tick']);
  });

  test('holds the adapters that the function needs, and no other', () => {
    for (const { name, needs } of FUNCTIONS) {
      const files = filesIn(name);
      const held = Object.entries(ADAPTERS).flatMap(([port, path]) => (files.includes(path) ? [port] : []));
      const wanted = Object.keys(ADAPTERS).filter(
        (port) => needs.some((need) => need === port) || (port === 'warehouse' && needs.includes('converter')),
      );
      expect({ name, held }).toEqual({ name, held: wanted });
    }
  });

  test('has who answers queries, where it would ask', () => {
    const ASKING = /^lib\/insights\/(results|answering\/(answers|query-runner))\.ts$/;
    const asking = FUNCTIONS.filter(({ name }) => filesIn(name).some((path) => ASKING.test(path)));
    const answering = FUNCTIONS.filter(({ needs }) => needs.includes('answers') || needs.includes('queryRunner'));
    expect(answering).toEqual(asking);
  });

  test('answers no query itself, and so carries no kind of query', () => {
    const carrying = FUNCTIONS.flatMap(({ name }) =>
      filesIn(name).flatMap((path) =>
        /^lib\/insights\/kinds\/(?!(?:source|traits)\.ts|parts\/)/.test(path) ? [`${name}: ${path}`] : [],
      ),
    );
    expect(carrying).toEqual([]);
  });

  test('knows the clocks of all zones where a time to come is told by them, and nowhere else', () => {
    const having = FUNCTIONS.filter(({ name }) => filesIn(name).some((path) => path.includes('temporal-polyfill')));
    expect(having.map(({ name }) => name)).toEqual([
      // An alert says that its next look is late.
      'alerts/create',
      'alerts/list',
      'alerts/retrieve',
      'alerts/update',
      'subscriptions/create',
      'subscriptions/update',
      'steps/check-alert',
      'steps/compose-subscription',
    ]);
  });

  test('finds credentials in the environment, and brings no other way to come by some', () => {
    const found = FUNCTIONS.flatMap(({ name }) => filesIn(name)).filter((path) =>
      /credential-provider-(?!env\/|node\/)|nested-clients|token-providers/.test(path),
    );
    expect(found).toEqual([]);
  });

  test('holds no code for streams of events, which only a client of S3 asks for', () => {
    const having = FUNCTIONS.filter(({ name }) => filesIn(name).some((path) => path.includes('/event-streams/')));
    const s3 = FUNCTIONS.filter(({ name }) => filesIn(name).some((path) => path.includes('@aws-sdk/client-s3/')));
    expect(having).toEqual(s3);
  });

  test('looks for no profiles, and writes no JSON Schema', () => {
    const code = readFileSync(join(bundles.folder('organizations/retrieve'), 'index.js'), 'utf8');
    expect(code).toContain('.aws');
    expect(code).not.toMatch(/fs\/promises|draft-2020-12/);
  });

  test('checks templates without a compiler of schemas', () => {
    const files = FUNCTIONS.flatMap(({ name }) => filesIn(name));
    expect(files).toContain('lib/dashboards/templates/template.ts');
    expect(files.filter((path) => path.includes('node_modules/ajv/'))).toEqual([]);
  });

  test('has the client for buckets beside it where one may be reached, and nowhere else', () => {
    for (const { name } of FUNCTIONS) {
      const reaches = filesIn(name).includes('lib/exports/destinations/files/bucket.ts');
      expect({ name, has: existsSync(join(bundles.folder(name), 'client-s3.js')) }).toEqual({ name, has: reaches });
    }
    const client = join(bundles.folder('batch-exports/create'), 'client-s3.js');
    const script = 'import(process.argv[1]).then(({ S3 }) => process.stdout.write(typeof S3))';
    expect(execFileSync(process.execPath, ['-e', script, client]).toString()).toBe('function');
  });

  test('has the client for functions beside it where one may be called', () => {
    const calls = (name: string): boolean => filesIn(name).includes('lib/ports/functions/lambda.ts');
    const has = (name: string): boolean => existsSync(join(bundles.folder(name), 'client-lambda.js'));
    expect(FUNCTIONS.filter(({ name }) => calls(name) !== has(name))).toEqual([]);
    const client = join(bundles.folder('query/create'), 'client-lambda.js');
    const script = `const sdk = require(process.argv[1]);
      new sdk.LambdaClient({ region: 'eu-central-1' });
      new sdk.InvokeCommand({ FunctionName: 'any' });
      process.stdout.write(new sdk.TooManyRequestsException({ message: 'busy' }).name);`;
    expect(execFileSync(process.execPath, ['-e', script, client]).toString()).toBe('TooManyRequestsException');
  });

  test('has the program of its worker beside it, which finds what it needs', async () => {
    const workers = [
      {
        name: 'batch-exports/create',
        program: 'query-worker.js',
        task: 'fields',
        input: { hogql_query: 'SELECT 1 +' },
      },
      {
        name: 'steps/send-interval',
        program: 'convert-worker.js',
        task: 'count',
        input: { files: ['/no/such.parquet'] },
      },
      {
        name: 'run-queries',
        program: 'athena-worker.js',
        task: 'answer-of-athena',
        input: {
          query: { kind: 'HogQLQuery', query: 'SELECT 40 + 2' },
          moment: { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
          files: { events: [], persons: [] },
          lake: { database: 'lake', address: 's3://lake/' },
          mostBytes: 1,
          given: [],
        },
      },
      {
        name: 'lake-worker/waited',
        program: 'answer-worker.js',
        task: 'answer',
        input: {
          query: { kind: 'HogQLQuery', query: 'SELECT 40 + 2' },
          moment: { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
          files: { events: [], persons: [] },
        },
      },
      {
        name: 'lake-worker/waited',
        program: 'row-worker.js',
        task: 'look',
        input: { files: [{ path: 'no/such.parquet' }], sql: 'SELECT 1', parameters: {} },
      },
    ];
    const said: string[] = [];
    for (const { name, program, task, input } of workers) {
      const pool = workerPool({
        program: join(bundles.folder(name), program),
        options: { memoryLimit: '100MB', place: '/no', lake: '/no', parsed: '/no' },
        what: 'The work',
        turns: { atOnce: 1, each: 1 },
        memory: { each: 1_000, all: 1_000 },
        silenceMs: 60_000,
        log: { warning: () => {} },
      });
      said.push(await pool.run({ name: task, input, owner: '' }).then((result) => JSON.stringify(result), messageOf));
      await pool.close();
    }
    expect(said).toEqual([
      expect.stringContaining('Failed to parse query'),
      expect.stringContaining('No files found'),
      expect.stringContaining('"wanted":"SELECT TRY('),
      expect.stringContaining('"results":[[42]]'),
      expect.stringContaining("no/such.parquet' is damaged"),
    ]);
    // What is not beside it would be found here, above the folder.
    expect(readFileSync(join(bundles.folder('run-queries'), 'athena-worker.js'), 'utf8')).not.toContain('@duckdb');
    const having = FUNCTIONS.filter(({ name }) => existsSync(join(bundles.folder(name), 'query-worker.js')));
    expect(having).toEqual(FUNCTIONS.filter(({ needs }) => needs.includes('compiler')));
  });

  test('holds the row of its own function, and no other', () => {
    // The reference has all of them, as text.
    for (const { name } of FUNCTIONS.filter((one) => one.name !== 'schema')) {
      const code = readFileSync(join(bundles.folder(name), 'index.js'), 'utf8');
      const held = routes.filter(({ summary }) => code.includes(`summary:${JSON.stringify(summary)}`));
      expect({ name, held: held.map(({ handler }) => handler) }).toEqual({
        name,
        held: routes.filter(({ handler }) => handler === name).map(({ handler }) => handler),
      });
    }
  });

  test('is under 450 KB, unless it is the reference, or the function parses texts, draws, opens connections or moves files', () => {
    const PARSER = /node_modules\/@posthog\/hogql-parser\//;
    // The client of S3 and what only it needs are 230 KB, what draws charts 120 KB.
    const LARGE = [
      'lib/charts/figure.ts',
      'lib/exports/destinations/index.ts',
      'lib/ports/files/s3.ts',
      'lib/api/computed/document.ts',
    ];
    const large = FUNCTIONS.flatMap(({ name }) => {
      const files = filesIn(name);
      if (files.some((path) => PARSER.test(path) || LARGE.includes(path))) return [];
      const { size } = statSync(join(bundles.folder(name), 'index.js'));
      return size < 450 * 1024 ? [] : [`${name}: ${Math.round(size / 1024)} KB`];
    });
    expect(large).toEqual([]);
  });

  test('starts as Lambda starts it, with nothing but its folder and its environment', () => {
    const script = `
      for (const folder of JSON.parse(process.argv[1])) {
        const { handler } = require(folder);
        if (typeof handler !== 'function' || handler.length !== 1) throw new Error(folder + ' has no handler');
      }`;
    const folders = FUNCTIONS.map(({ name }) => bundles.folder(name));
    const env = { ...VARIABLES, TMPDIR: temporaryFolder() };
    expect(() => execFileSync(process.execPath, ['-e', script, JSON.stringify(folders)], { env })).not.toThrow();
  });

  test('begins on an empty disk where files are made, whatever a process that was killed has left on it', () => {
    const script = `
      require(process.argv[1]);
      const [fs, folder] = [require('node:fs'), require('node:os').tmpdir()];
      process.stdout.write(fs.readdirSync(folder).join());
      fs.mkdirSync(folder + '/left/behind', { recursive: true });`;
    const env = { ...VARIABLES, TMPDIR: temporaryFolder() };
    for (const { name } of FUNCTIONS.filter(isNative)) {
      const begun = () => execFileSync(process.execPath, ['-e', script, bundles.folder(name)], { env }).toString();
      begun();
      expect({ name, left: begun() }).toEqual({ name, left: expect.not.stringContaining('left') });
    }
  });

  test('of a shared page has what makes markup and CSV beside it, and not in it', () => {
    const script = `
      const { markdownMarkup } = require(process.argv[1] + '/markdown.js');
      const { csvOf } = require(process.argv[1] + '/csv.js');
      process.stdout.write(JSON.stringify([markdownMarkup('*a*'), typeof csvOf]));`;
    for (const { name } of FUNCTIONS.filter((one) => one.name.startsWith('shared/'))) {
      const folder = bundles.folder(name);
      expect(filesIn(name).filter((path) => /markdown-it|csv-stringify/.test(path))).toEqual([]);
      expect(execFileSync(process.execPath, ['-e', script, folder]).toString()).toBe(
        JSON.stringify(['<p><em>a</em></p>\n', 'function']),
      );
    }
  });

  test('of the reference answers what the rows say', () => {
    const script = `
      const { handler } = require(process.argv[1]);
      const event = { httpMethod: 'GET', path: '/', headers: {}, multiValueHeaders: {}, resource: '/api/schema',
        pathParameters: {}, requestContext: { requestId: 'r', identity: { sourceIp: '127.0.0.1' }, path: '/dev/api/schema' } };
      handler(event).then(({ body }) => process.stdout.write(body));`;
    // The reference is so long that it is held against what an answer may have.
    const SETTINGS = JSON.stringify(CLOUD_SETTINGS);
    const env = { STAGE: 'dev', TABLE_NAME: 't', SETTINGS, LOG_LEVEL: 'ERROR', AWS_REGION: 'eu-central-1' };
    const answer = execFileSync(process.execPath, ['-e', script, bundles.folder('schema')], { env }).toString();
    expect(JSON.parse(answer)).toEqual({ ...JSON.parse(JSON.stringify(document)), servers: [{ url: '/dev' }] });
  });

  test('of the reference page answers with the files that it carries', () => {
    const script = `
      const { handler } = require(process.argv[1]);
      const event = { httpMethod: 'GET', path: '/', headers: {}, multiValueHeaders: {}, resource: '/api/schema/docs/{file}',
        pathParameters: { file: 'swagger-ui.css' }, requestContext: { requestId: 'r', identity: { sourceIp: '127.0.0.1' }, path: '/dev/api/schema/docs/swagger-ui.css' } };
      handler(event).then(({ statusCode, body }) => process.stdout.write(statusCode + ' ' + body.length));`;
    const env = {
      STAGE: 'dev',
      TABLE_NAME: 't',
      SETTINGS: '{}',
      LOG_LEVEL: 'ERROR',
      AWS_REGION: 'eu-central-1',
    };
    const folder = bundles.folder('reference/file');
    const answer = execFileSync(process.execPath, ['-e', script, folder], { env, cwd: '/' }).toString();
    expect(answer).toMatch(/^200 \d{5,}$/);
  });
});
