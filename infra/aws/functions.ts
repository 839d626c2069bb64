import { routes } from '../../lib/api/routes.ts';
import { STEPS, type StepName, type StepNeed, type StepRow } from '../../lib/workflow/steps.ts';

/** A Lambda function, as it is bundled and deployed: any function is described as a step is. */
export interface LambdaSpec extends StepRow {
  /** The file below `functions/`, without its ending. */
  readonly name: string;
}

/** What the template gives each function, and what it gives for each port beyond that. */
export const ENVIRONMENT = {
  always: ['STAGE', 'TABLE_NAME', 'SETTINGS', 'LOG_LEVEL'],
  workflow: ['MACHINES'],
  vault: ['KEY_ARN'],
  runFiles: ['RUN_FILES_BUCKET'],
  lake: ['LAKE_BUCKET'],
  outbound: [],
  compiler: [],
  events: ['EVENT_BUS'],
  warehouse: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'RUN_FILES_BUCKET'],
  converter: ['LAKE_DATABASE', 'WORK_GROUP', 'LAKE_BUCKET', 'RUN_FILES_BUCKET'],
} as const satisfies Readonly<Record<StepNeed | 'always', readonly string[]>>;

export type Variable = (typeof ENVIRONMENT)[keyof typeof ENVIRONMENT][number];

/** API Gateway gives up after 29 s; the function ends a second before, so that its log tells why. */
const ENDPOINT = { timeout: 28, memory: 512 } as const;

/** One function for each handler, with all that its rows need. */
function endpoints(): LambdaSpec[] {
  const needs = new Map<string, Set<StepNeed>>();
  for (const row of routes) {
    const known = needs.get(row.handler) ?? new Set();
    for (const need of row.needs ?? []) known.add(need);
    needs.set(row.handler, known);
  }
  return [...needs].map(([name, ports]) => ({ name, needs: [...ports], ...ENDPOINT }));
}

/** Every function of the service. */
export const FUNCTIONS: readonly LambdaSpec[] = [
  { name: 'authorizer', needs: [], timeout: 10, memory: 512 },
  { name: 'method-not-allowed', needs: [], ...ENDPOINT },
  ...endpoints(),
  // It ends before the next one begins.
  { name: 'tick', needs: ['workflow'], timeout: 55, memory: 512 },
  ...(Object.keys(STEPS) as StepName[]).map((name) => ({ name: `steps/${name}`, ...STEPS[name] })),
];

/** A name without `/`, for logical ids and folders. */
export const flat = (name: string): string => name.replaceAll('/', '-');
