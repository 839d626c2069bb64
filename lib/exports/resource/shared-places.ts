/** Exports of one project that would write the same files: each interval could be delivered by one of them only. */
import { alignDown } from '../../lake/intervals.ts';
import type { Context } from '../../ports/context.ts';
import { fromJsonText } from '../../ports/table/json-text.ts';
import { ranges } from '../../ports/table/keys.ts';
import { picked } from '../../ports/table/list-all.ts';
import type { Config, Destination } from '../destinations/destination.ts';
import { destinationOf } from '../destinations/index.ts';
import type { BatchExportItem } from '../records/model.ts';

/** What decides where an export writes, as it is stored or would be. */
type Writer = Pick<BatchExportItem, 'organization_id' | 'team_id' | 'model' | 'interval'> & {
  /** Undefined: it is not made yet. */
  readonly id: string | undefined;
  readonly destination: Destination;
  readonly config: Config;
};

/** How many exports a warning names. */
const MAX_NAMED = 3;

/** Returns a warning that names other exports of the project that write the same files; undefined when there are none. */
export async function sharedPlacesWarning(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  writer: Writer,
): Promise<string | undefined> {
  const mine = new Set(placesOf(writer, clock()));
  if (mine.size === 0) return undefined;
  const others = await picked(table, ranges.exportsOf(writer.organization_id), (item) => {
    const isNear = item.id !== writer.id && item.team_id === writer.team_id && item.deleted_at === null;
    const isAlike = item.destination_type === writer.destination.type;
    const isShared = isNear && isAlike && placesOf(stored(item), clock()).some((one) => mine.has(one));
    return isShared ? `'${item.name}' (${item.id})` : undefined;
  });
  if (others.length === 0) return undefined;
  const named = others.slice(0, MAX_NAMED);
  const more = others.length > MAX_NAMED ? ` and ${others.length - MAX_NAMED} more` : '';
  return (
    `Other batch exports write files of the same names: ${named.join(', ')}${more}. None replaces what another has ` +
    'written, so of each interval one is delivered and the run of every other one fails. Give each a prefix of its own, ' +
    'for example with {table} in it.'
  );
}

/** Returns what of a stored export decides where it writes. No secret does. */
export const stored = (item: BatchExportItem): Writer => ({
  ...item,
  destination: destinationOf(item.destination_type) as Destination,
  config: fromJsonText(item.destination_config),
});

/** Returns the places of the last interval that has ended. */
function placesOf({ destination, config, model, interval: frequency }: Writer, now: number): readonly string[] {
  const end = alignDown(now, frequency);
  return destination.places?.(config, { model, interval: { start: alignDown(end - 1, frequency), end } }) ?? [];
}
