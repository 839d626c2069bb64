import type { Context } from '../../ports/context.ts';
import { keys } from '../../ports/table/keys.ts';
import type { SendInput } from '../../workflow/messages.ts';
import { writeLines } from '../records/logs.ts';
import { isHeldBy } from './run.ts';
import { inputOf } from './run-files.ts';

const WAITS =
  'Batch export waits for a place: as many deliveries as may run at once, of the batch export, of its organization or of ' +
  'all, are under way.';

/** Says in the log of a run that its delivery waits for its turn, unless the run has ended or is another attempt's. */
export async function sayWaiting(
  context: Context,
  { export: exportId, attempt, interval: n }: SendInput,
): Promise<void> {
  const input = await inputOf(context, attempt);
  const run = await context.table.get(keys.run(exportId, input?.runs[n] ?? ''));
  if (!isHeldBy(attempt, run)) return;
  const line = { at: context.clock(), level: 'INFO', message: WAITS, instance: run.id } as const;
  await writeLines(context, exportId, run.execution, `waiting-${run.id}`, [line]);
}
