import type { Definition } from '../states-language.ts';
import type { MachineName } from '../workflow.ts';
import { alertMachine } from './alert.ts';
import { backfillMachine } from './backfill.ts';
import { compactionMachine } from './compaction.ts';
import { deletionMachine } from './deletion.ts';
import { exportRunMachine } from './export-run.ts';
import { landingMachine } from './landing.ts';
import { messageMachine } from './message.ts';
import { noticeMachine } from './notice.ts';
import { purgeMachine } from './purge.ts';
import { subscriptionMachine } from './subscription.ts';

/** Every state machine, by the name under which others start it. */
export const MACHINES: Readonly<Record<MachineName, Definition>> = {
  'export-run': exportRunMachine,
  backfill: backfillMachine,
  purge: purgeMachine,
  notice: noticeMachine,
  compaction: compactionMachine,
  landing: landingMachine,
  deletion: deletionMachine,
  alert: alertMachine,
  subscription: subscriptionMachine,
  message: messageMachine,
};
