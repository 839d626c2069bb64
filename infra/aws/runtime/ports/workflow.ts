import { SFNClient } from '@aws-sdk/client-sfn';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { stepFunctionsWorkflow } from '../../../../lib/workflow/stepfunctions.ts';
import type { Workflow } from '../../../../lib/workflow/workflow.ts';
import { variable } from '../environment.ts';
import { answersWithin } from '../timeouts.ts';

/** How long an answer may take. Three attempts and their waits fit into the 15 s that a tick has after its last start. */
const STEP_FUNCTIONS_TIMEOUT_MS = 2.5 * SECOND_MS;

/** `MACHINES` is JSON: the ARN of each machine by its name. */
export const workflow = (): Workflow => {
  const client = new SFNClient({ requestHandler: answersWithin(STEP_FUNCTIONS_TIMEOUT_MS) });
  return stepFunctionsWorkflow({ client, machines: JSON.parse(variable('MACHINES')) });
};
