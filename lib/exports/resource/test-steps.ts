/** The test of a destination: its connection checks, run one at a time before an export is made or changed. */
import type * as z from 'zod';
import { messageOf } from '../../basics/text.ts';
import { SECOND_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid, Permanent, Transient } from '../../ports/errors.ts';
import type { Settings } from '../../ports/settings.ts';
import type { Column } from '../../warehouse/columns.ts';
import { deliveredColumns } from '../../warehouse/query-columns.ts';
import { failFull, LineFull } from '../../workers/turns.ts';
import type { CheckStep, Config, Destination, Reach } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import type { StoredQuery } from '../query/compile.ts';
import { personWarning } from '../query/person-warning.ts';
import type { BatchExportItem } from '../records/model.ts';
import type { DestinationTestStep } from './model.ts';

type TestStep = z.input<typeof DestinationTestStep>;

/** How long a step may take: API Gateway waits 29 s for an answer, and an export may be read first. */
const STEP_TIMEOUT_MS = 20 * SECOND_MS;

/** Returns the steps of a type, in order. Fails with 404 when the deployment does not offer it, or it has no test. */
export function stepsOf(type: string, settings: Settings): TestStep[] {
  const destination = settings.destinations.includes(type) ? destinationOf(type) : undefined;
  if (destination === undefined || destination.steps.length === 0) fail('not_found');
  return allSteps(destination).map(({ name, description }) => ({ name, description, result: null }));
}

/** Returns a warning about other exports that write the same files; undefined when there is nothing to warn of. */
type SharedWarning = () => Promise<string | undefined>;

/** Returns the steps of a destination, and for places that others may have too the one that looks for these. */
function allSteps(destination: Destination, shared: SharedWarning = async () => undefined): readonly CheckStep[] {
  if (destination.places === undefined) return destination.steps;
  const alone: CheckStep = {
    name: 'Check that no other batch export writes the same files',
    description: 'Compares the names of files with those of the other batch exports of the project.',
    async run() {
      const warning = await shared();
      if (warning !== undefined) throw new Permanent(warning);
    },
  };
  return [...destination.steps, alone];
}

/** An export whose config was checked, its destination, what that may reach, and who else writes there. */
interface Tested {
  readonly planned: StoredQuery & Pick<BatchExportItem, 'model'>;
  readonly destination: Destination;
  readonly config: Config;
  readonly reach: Reach;
  readonly shared?: SharedWarning;
}

/** Who has a step run, each by their id: an organization may have many members, and a user make many organizations. */
interface Tester {
  readonly organization: string;
  readonly user: string;
}

/** Runs one step, from 0. Fails with 400 when there is no such step, and with 429 when too many of organization or user run. */
export async function runStep(
  context: Pick<Context, 'testTurns' | 'outbound' | 'log' | 'compiler'>,
  tested: Tested,
  { organization, user }: Tester,
  number = 0,
  timeoutMs = STEP_TIMEOUT_MS,
): Promise<TestStep> {
  const steps = allSteps(tested.destination, tested.shared);
  const step = steps[number];
  if (steps.length === 0)
    invalid('step', `${tested.destination.type} has no connection checks: there is nothing to test.`);
  if (step === undefined) invalid('step', `There is no step ${number}: there are ${steps.length}, from 0.`);
  const { name, description } = step;
  try {
    const isLast = number === steps.length - 1;
    const run = () => resultOf(context, step, tested, { organization, user, timeoutMs, isLast });
    const result = await context.testTurns.run(organization, () => context.testTurns.run(user, run));
    return { name, description, result };
  } catch (error) {
    if (error instanceof LineFull) failFull('Many destinations are being tested.');
    throw error;
  }
}

async function resultOf(
  { outbound, log, compiler }: Pick<Context, 'outbound' | 'log' | 'compiler'>,
  step: CheckStep,
  { planned, config, reach }: Tested,
  { organization, user, timeoutMs, isLast }: Tester & { readonly timeoutMs: number; readonly isLast: boolean },
): Promise<TestStep['result']> {
  const skipped = step.skipped?.(config);
  if (skipped !== undefined) return { status: 'Skipped', message: skipped };
  const late = AbortSignal.timeout(timeoutMs);
  const isLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(late.reason), { once: true });
  });
  const selection = () => compiler.selection(planned, { organization, user });
  const plan = async () => {
    const { select } = await selection();
    return { model: planned.model, columns: (defaults: readonly Column[]) => deliveredColumns(select, defaults) };
  };
  // What there is to say of the export itself comes with the last step, when all of them have passed.
  const checked = async () => {
    const told = [
      await step.run(config, outbound, reach, late, plan),
      isLast ? personWarning(await selection()) : undefined,
    ];
    return told.filter((one) => one !== undefined).join(' ');
  };
  try {
    return { status: 'Passed', message: (await Promise.race([checked(), isLate])) || null };
  } catch (error) {
    if (late.aborted) return { status: 'Failed', message: lateText(timeoutMs) };
    if (error instanceof Permanent || error instanceof Transient) return { status: 'Failed', message: error.message };
    // What a library says may hold what nobody may read.
    log.error('a test step broke', { step: step.name, reason: messageOf(error) });
    const name = error instanceof Error ? error.name : typeof error;
    return { status: 'Failed', message: `The test step failed with an unknown error: ${name}` };
  }
}

const lateText = (timeoutMs: number): string =>
  `There was no answer within ${timeoutMs / SECOND_MS} seconds. Check the address, and whether a firewall lets connections through.`;
