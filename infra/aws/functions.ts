import { routes } from '../../lib/api/routes.ts';
import type { Need } from '../../lib/http/route.ts';
import { STEPS, type StepName } from '../../lib/workflow/task.ts';

/**
 * What else than the table a function touches. `converter` is the warehouse that also forms bytes; `warehouse` only
 * writes the query.
 */
export type Port = Need | 'warehouse' | 'converter' | 'events';

/** A Lambda function, as it is bundled and deployed. */
export interface FunctionSpec {
  /** The file below `functions/`, without its ending. */
  readonly name: string;
  readonly needs: readonly Port[];
  /** In seconds. */
  readonly timeout: number;
  /** In MB; processor time is in proportion, a whole core at 1,769. */
  readonly memory: number;
}

/** What the template gives each function, and what it gives for each port beyond that. */
export const ENVIRONMENT = {
  always: ['STAGE', 'TABLE_NAME', 'SETTINGS', 'LOG_LEVEL'],
  workflow: ['MACHINES'],
  vault: ['KEY_ARN'],
  spool: ['SPOOL_BUCKET'],
  lake: ['LAKE_BUCKET'],
  outbound: [],
  parser: [],
  events: ['EVENT_BUS'],
  warehouse: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'SPOOL_BUCKET'],
  converter: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'SPOOL_BUCKET'],
} as const satisfies Readonly<Record<Port | 'always', readonly string[]>>;

export type Variable = (typeof ENVIRONMENT)[keyof typeof ENVIRONMENT][number];

/** API Gateway gives up after 29 s; the function ends a second before, so that its log tells why. */
const ENDPOINT = { timeout: 28, memory: 512 } as const;

/** What settling a run needs: it may have to finish a commit, or to remove what was prepared. */
const SETTLES: readonly Port[] = ['warehouse', 'spool', 'vault', 'outbound'];

const STEP_NEEDS: Readonly<Record<StepName, readonly Port[]>> = {
  'begin-run': [...SETTLES, 'workflow', 'lake', 'parser'],
  'send-slot': ['converter', 'spool', 'vault', 'outbound'],
  'finish-run': SETTLES,
  'prepare-backfill': [],
  'close-backfill': [],
  purge: ['workflow', 'spool', 'lake'],
  'send-notice': ['vault', 'outbound', 'events'],
};

/** DuckDB's 400 MB of rows and Node's share, at more than two cores. */
const SEND_MEMORY = 4096;

/** One function for each handler, with all that its rows need. */
function endpoints(): FunctionSpec[] {
  const needs = new Map<string, Set<Port>>();
  for (const row of routes) {
    const known = needs.get(row.handler) ?? new Set();
    for (const need of row.needs ?? []) known.add(need);
    needs.set(row.handler, known);
  }
  return [...needs].map(([name, ports]) => ({ name, needs: [...ports], ...ENDPOINT }));
}

/** Every function of the service. */
export const FUNCTIONS: readonly FunctionSpec[] = [
  { name: 'authorizer', needs: [], timeout: 10, memory: 512 },
  { name: 'method-not-allowed', needs: [], ...ENDPOINT },
  ...endpoints(),
  // It ends before the next one begins.
  { name: 'tick', needs: ['workflow'], timeout: 55, memory: 512 },
  ...(Object.keys(STEPS) as StepName[]).map((name) => ({
    name: `steps/${name}`,
    needs: STEP_NEEDS[name],
    timeout: STEPS[name],
    memory: name === 'send-slot' ? SEND_MEMORY : 512,
  })),
  { name: 'steps/execution-ended', needs: SETTLES, timeout: 300, memory: 512 },
];

/** A name without `/`, for logical ids and folders. */
export const flat = (name: string): string => name.replaceAll('/', '-');
