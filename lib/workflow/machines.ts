import { backfill } from './backfill.ts';
import type { Definition } from './definition.ts';
import { exportRun } from './export-run.ts';
import { notice } from './notice.ts';
import { purge } from './purge.ts';
import type { MachineName } from './workflow.ts';

/** Every state machine, by the name under which others start it. */
export const MACHINES: Readonly<Record<MachineName, Definition>> = { 'export-run': exportRun, backfill, purge, notice };
