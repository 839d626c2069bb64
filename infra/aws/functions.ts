import { routes } from '../../lib/api/routes.ts';
import type { Route } from '../../lib/http/route.ts';
import type { Settings } from '../../lib/ports/settings.ts';
import { STEPS, type StepName, type StepNeed, type StepRow } from '../../lib/workflow/steps.ts';
import type { Concurrency } from './stages.ts';

/** A Lambda function, as it is bundled and deployed: any function is described as a step is. */
export interface LambdaSpec extends StepRow {
  /** The file below `functions/`, without its ending. */
  readonly name: string;
  readonly table: TableUse;
  /** It counts the requests of each key. */
  readonly countsKeys?: true;
  /** It has the lake read for who waits, and keeps what it learns of queries. */
  readonly reads?: true;
  /** It seals secrets, which a request brings; others with the vault only open them. */
  readonly seals?: true;
}

/**
 * What a function does with the table. `keys`: it reads personal API keys, and notes their use. `capture`: it looks up
 * tokens of projects, counts what it takes, and asks for the landing. `write` includes `read`; `write-many`: also items
 * that do not belong together.
 */
export type TableUse = 'none' | 'keys' | 'capture' | 'read' | 'write' | 'write-many';

/** What the template gives each function, and what it gives for each port beyond that. */
export const ENVIRONMENT = {
  always: ['STAGE', 'TABLE_NAME', 'SETTINGS', 'LOG_LEVEL'],
  workflow: ['MACHINES'],
  vault: ['KEY_ARN'],
  runFiles: ['RUN_FILES_BUCKET'],
  lake: ['LAKE_BUCKET'],
  outbound: [],
  compiler: [],
  reader: ['LAKE_WORKER'],
  personRemoval: [],
  imports: [],
  answers: ['LAKE_WORKER', 'QUERY_RUNNER'],
  lakeWorker: [],
  queryRunner: ['LAKE_WORKER', 'LAKE_BUCKET', 'LAKE_DATABASE', 'QUERY_WORK_GROUP'],
  pictures: [],
  testTurns: [],
  events: ['EVENT_BUS'],
  mail: [],
  warehouse: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'RUN_FILES_BUCKET'],
  compactor: [],
  personDeletions: [],
  inbox: ['INBOX_BUCKET', 'INBOX_STREAM'],
  landing: [],
  converter: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'RUN_FILES_BUCKET'],
} as const satisfies Readonly<Record<StepNeed | 'always', readonly string[]>>;

export type Variable = (typeof ENVIRONMENT)[keyof typeof ENVIRONMENT][number];

/** API Gateway gives up after 29 s; the function ends a second before, so that its log tells why. */
const ENDPOINT = { timeout: 28, memory: 512 } as const;

/** One function for each handler, with all that its rows need. */
function endpoints(): LambdaSpec[] {
  return [...Map.groupBy(routes, ({ handler }) => handler)].map(([name, rows]) => ({
    name,
    table: tableUseOf(rows),
    ...(rows.every(({ scope, table }) => scope === 'public' && table !== 'counts')
      ? {}
      : { countsKeys: true as const }),
    ...(rows.some(isReading) ? { reads: true as const } : {}),
    ...(rows.some(({ seals }) => seals) ? { seals: true as const } : {}),
    needs: [...new Set(rows.flatMap((row) => row.needs ?? []))],
    ...ENDPOINT,
  }));
}

/** What a page shows to strangers others compute. */
const isReading = ({ scope, needs = [] }: Route): boolean =>
  scope !== 'public' && (needs.includes('answers') || needs.includes('reader'));

function tableUseOf(rows: readonly Route[]): TableUse {
  if (rows.every(({ table }) => table === 'none')) return 'none';
  return rows.every(({ method, table }) => method === 'GET' || table !== undefined) ? 'read' : 'write';
}

const LAKE_WORKER = {
  table: 'none',
  needs: ['lakeWorker', 'lake'],
  uses: { lake: ['read'] },
  memory: 4096,
} as const;

/** Every function of the service. */
export const FUNCTIONS: readonly LambdaSpec[] = [
  // Those that others call come first. Most of the memory is DuckDB's, and more than two cores come with it.
  { name: 'lake-worker/waited', ...LAKE_WORKER, timeout: 29 },
  { name: 'lake-worker/background', ...LAKE_WORKER, timeout: 310 },
  // It waits for the one before or for Athena, whose rows a worker beside it folds, and renews answers for 9 minutes.
  { name: 'run-queries', table: 'read', reads: true, needs: ['queryRunner'], timeout: 900, memory: 1024 },
  { name: 'authorizer', table: 'keys', needs: [], timeout: 10, memory: 512 },
  { name: 'method-not-allowed', table: 'read', countsKeys: true, needs: [], ...ENDPOINT },
  // A body may be 5 MB and unpack to 100 MB, and 1,769 MB are a whole core.
  { name: 'capture', table: 'capture', needs: ['inbox'], timeout: 28, memory: 1769 },
  ...endpoints(),
  // It takes jobs for 40 s, and what it takes last ends before the next one begins.
  { name: 'tick', table: 'write', needs: ['workflow'], timeout: 55, memory: 512 },
  ...(Object.keys(STEPS) as StepName[]).map((name) => {
    const row: StepRow = STEPS[name];
    const reads = row.needs.includes('answers') ? { reads: true as const } : {};
    return { name: `steps/${name}`, table: 'write-many' as const, ...reads, ...row };
  }),
];

/** One that runs, and one that begins while that one ends. */
const TICKS_AT_ONCE = 2;

const inBackground = ({ queries }: Concurrency): number => Math.ceil(queries / 2);

const halfOf = (functions: number): number => Math.max(1, Math.floor(functions / 2));

/** Returns the turns of an organization where so many functions are set apart: of those for its queries half at most. */
export function queryTurnsOf(most: QueryTurns, reserved: Concurrency | null): QueryTurns {
  if (most === null || reserved === null) return most;
  return {
    waited: Math.min(most.waited, halfOf(reserved.queries)),
    background: Math.min(most.background, halfOf(inBackground(reserved))),
  };
}

type QueryTurns = Settings['queryTurns'];

/** Returns how many of a function are set apart from the others of the account; undefined: it shares the rest. */
export function reservedOf({ name, needs }: LambdaSpec, reserved: Concurrency | null): number | undefined {
  if (reserved === null) return undefined;
  if (name === 'authorizer') return reserved.authorizer;
  if (name === 'capture') return reserved.capture;
  if (name === 'tick') return TICKS_AT_ONCE;
  if (name === 'steps/send-interval') return reserved.senders;
  if (name === 'lake-worker/waited') return reserved.queries;
  // As many as there are places for what they begin: what is ordered beyond that waits.
  if (name === 'lake-worker/background' || name === 'run-queries') return inBackground(reserved);
  return needs.includes('outbound') && !name.startsWith('steps/') ? reserved.tests : undefined;
}

/** A name without `/`, for logical ids and folders. */
export const flat = (name: string): string => name.replaceAll('/', '-');
