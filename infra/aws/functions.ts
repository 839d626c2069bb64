import { routes } from '../../lib/api/routes.ts';
import type { Route } from '../../lib/http/route.ts';
import { STEPS, type StepName, type StepNeed, type StepRow } from '../../lib/workflow/steps.ts';
import type { Concurrency } from './stages.ts';

/** A Lambda function, as it is bundled and deployed: any function is described as a step is. */
export interface LambdaSpec extends StepRow {
  /** The file below `functions/`, without its ending. */
  readonly name: string;
  readonly table: TableUse;
  /** It counts the requests of each key. */
  readonly countsKeys?: true;
}

/**
 * What a function does with the table. `keys`: it reads personal API keys, and notes their use. `write` includes
 * `read`; `write-many`: also items that do not belong together.
 */
export type TableUse = 'none' | 'keys' | 'read' | 'write' | 'write-many';

/** What the template gives each function, and what it gives for each port beyond that. */
export const ENVIRONMENT = {
  always: ['STAGE', 'TABLE_NAME', 'SETTINGS', 'LOG_LEVEL'],
  workflow: ['MACHINES'],
  vault: ['KEY_ARN'],
  runFiles: ['RUN_FILES_BUCKET'],
  lake: ['LAKE_BUCKET'],
  outbound: [],
  compiler: [],
  reader: [],
  personRemoval: [],
  answers: [],
  imports: [],
  pictures: [],
  events: ['EVENT_BUS'],
  warehouse: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'RUN_FILES_BUCKET'],
  compactor: [],
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
    needs: [...new Set(rows.flatMap((row) => row.needs ?? []))],
    ...ENDPOINT,
  }));
}

function tableUseOf(rows: readonly Route[]): TableUse {
  if (rows.every(({ table }) => table === 'none')) return 'none';
  return rows.every(({ method, table }) => method === 'GET' || table !== undefined) ? 'read' : 'write';
}

/** Every function of the service. */
export const FUNCTIONS: readonly LambdaSpec[] = [
  { name: 'authorizer', table: 'keys', needs: [], timeout: 10, memory: 512 },
  { name: 'method-not-allowed', table: 'read', needs: [], ...ENDPOINT },
  // A body may be 5 MB and unpack to 100 MB, and 1,769 MB are a whole core.
  { name: 'capture', table: 'write', needs: ['inbox'], timeout: 28, memory: 1769 },
  ...endpoints(),
  // It takes jobs for 40 s, and what it takes last ends before the next one begins.
  { name: 'tick', table: 'write', needs: ['workflow'], timeout: 55, memory: 512 },
  ...(Object.keys(STEPS) as StepName[]).map(
    (name) => ({ name: `steps/${name}`, table: 'write-many', ...STEPS[name] }) as const,
  ),
];

/** One that runs, and one that begins while that one ends. */
const TICKS_AT_ONCE = 2;

/** Returns how many of a function are set apart from the others of the account; undefined: it shares the rest. */
export function reservedOf({ name, needs }: LambdaSpec, reserved: Concurrency | null): number | undefined {
  if (reserved === null) return undefined;
  if (name === 'authorizer') return reserved.authorizer;
  if (name === 'capture') return reserved.capture;
  if (name === 'tick') return TICKS_AT_ONCE;
  if (name === 'steps/send-interval') return reserved.senders;
  return needs.includes('outbound') && !name.startsWith('steps/') ? reserved.tests : undefined;
}

/** A name without `/`, for logical ids and folders. */
export const flat = (name: string): string => name.replaceAll('/', '-');
