import type { MachineName } from '../../lib/workflow/workflow.ts';

/** The name of a state machine in its account, where every stage has one. */
export const machineName = (stage: string, name: MachineName): string => `workspaces-${stage}-${name}`;
