import { sayWaiting } from '../../lib/exports/runs/waiting.ts';
import type { Context } from '../../lib/ports/context.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { MACHINES } from '../../lib/workflow/definitions/index.ts';
import { type Engine, type EngineOptions, startEngine } from '../../lib/workflow/engine.ts';
import type { BeginInput, NotifierInput, ProjectInput, PurgeInput, SendInput } from '../../lib/workflow/messages.ts';
import { STEPS, type StepName } from '../../lib/workflow/steps.ts';
import type { Json } from '../../lib/workflow/workflow.ts';
import { type NamedSteps, stepRunners } from './functions.ts';

interface RuntimeOptions extends Partial<Pick<EngineOptions, 'table' | 'timer' | 'random'>> {
  /** Returns what the engine runs in the place of the steps below `functions/steps`, which it is given. */
  readonly steps?: (own: NamedSteps, context: Context) => NamedSteps;
}

interface Runtime {
  readonly context: Context;
  readonly engine: Engine;
}

/** What inputs of steps say of whom they are for. */
type Named = Partial<NotifierInput & BeginInput & ProjectInput & PurgeInput>;

/** Returns what tells the organization of a step by its input; '' where it names none, or what is gone. */
const organizationOf =
  ({ table }: Pick<Context, 'table'>) =>
  async (input: Json): Promise<string> => {
    const { organization, export: batchExport, project, kind, id } = input as Named;
    if (organization !== undefined) return organization;
    if (batchExport !== undefined) return (await table.get(keys.batchExport(batchExport)))?.organization_id ?? '';
    if (kind === 'organization') return String(id);
    const number = kind === 'project' ? Number(id) : project;
    return number === undefined ? '' : ((await table.get(keys.project(number)))?.organization_id ?? '');
  };

/** Returns what tells who made an organization; undefined where nobody has, or it is gone. */
const makerOf =
  ({ table }: Pick<Context, 'table'>) =>
  async (organization: string): Promise<string | undefined> =>
    organization === '' ? undefined : (await table.get(keys.organization(organization)))?.created_by;

/** A step that may take longer, in seconds, stands in a line of its own: nothing short waits for it. */
const LONG_SECONDS = 300;

const lineNameOf = (name: string): string => (STEPS[name as StepName].timeout > LONG_SECONDS ? name : '');

/** Deliveries of an export leave half of their organization's places to its others: a receiver may be silent for long. */
const partOf = (name: string, input: Json): string | undefined =>
  lineNameOf(name) === '' ? undefined : (input as Named).export;

/**
 * Returns the context of one machine, which is the ports and the engine, and the engine, which runs the state machines
 * with the steps over that context. The engine keeps executions in the table of the ports unless `table` is another
 * one; those of an earlier process wait for `engine.resume()`.
 */
export function runtimeOf(
  ports: Omit<Context, 'workflow'>,
  { steps = (own) => own, ...options }: RuntimeOptions = {},
): Runtime {
  const engine = startEngine({
    table: ports.table,
    clock: ports.clock,
    log: ports.log,
    machines: MACHINES,
    tasks: (name) => stepNamed(name),
    ownerOf: organizationOf(ports),
    userOf: makerOf(ports),
    lineNameOf,
    partOf,
    onWaiting: async (name, input) => {
      if (name === ('send-interval' satisfies StepName)) await sayWaiting(context, input as unknown as SendInput);
    },
    onEnded: (input, signal) => stepNamed('execution-ended')(input, signal),
    ...options,
  });
  const context: Context = { ...ports, workflow: engine };
  const stepNamed = steps(stepRunners(context), context);
  return { context, engine };
}
