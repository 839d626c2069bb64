/** What exports leave alone after the service was restored from an earlier state, such as a backup. */
import { wireInstant } from '../../http/instant.ts';
import type { Interval } from '../../lake/intervals.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Table } from '../../ports/table/table.ts';
import { destinationOf } from '../destinations/index.ts';
import type { BatchExportItem } from '../records/model.ts';

/**
 * Returns what tells why the schedule does not run an interval (undefined: it does): the one in which the state was kept, if
 * it had ended by the restore and what is delivered of it replaces files. The lake has only its first rows, and a file of all
 * of them may be there.
 */
export async function leftAfterRestore(
  table: Table,
  { destination_type }: BatchExportItem,
): Promise<(interval: Interval) => string | undefined> {
  const restored = destinationOf(destination_type)?.places && (await table.get(keys.restored()));
  if (!restored) return () => undefined;
  const { state_of, restored_at } = restored;
  return ({ start, end }) =>
    start < state_of && state_of < end && end <= restored_at
      ? `The service was restored from its state of ${wireInstant(state_of)}, and has only the rows of this interval that ` +
        'came before. What was delivered of it may have them all, so that nothing was replaced. Retry this run to deliver ' +
        'what there is.'
      : undefined;
}
