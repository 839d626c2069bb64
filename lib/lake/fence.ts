/** The fence that readers of the lake close behind them, and the start of what arrives live. */
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';
import { type Item, type Op, Refused, type Table } from '../ports/table/table.ts';
import { finishPending } from './pending.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    fence: FenceItem;
  }
}

/** What readers of a project's lake may rely on, as stored. Instants are milliseconds since 1970. */
interface FenceItem extends Item {
  /** What arrives as live cannot appear before this instant any more. */
  readonly at?: number;
  /** Where live arrivals begin; absent while the project has no export. */
  readonly live?: number;
}

/**
 * Closes the project's lake up to `upTo` (milliseconds): finishes what was committed, and from then on nothing that
 * arrives as live can appear before `upTo`. History may still be added. The fence never goes back.
 */
export async function fence(context: Pick<Context, 'table' | 'lake'>, projectId: number, upTo: number): Promise<void> {
  const lift: Op = { change: keys.fence(projectId), set: { at: upTo }, if: { notAbove: { at: upTo } } };
  await context.table.write([lift]).catch((error) => {
    if (!(error instanceof Refused)) throw error;
  });
  await finishPending(context, projectId);
}

/** The reason of a refusal when another export lowered `live` at the same moment. */
export const LIVE_LOWERED = 'live_lowered';

/**
 * What the transaction that creates an export, or moves its start, must hold, so that no import takes rows of its
 * intervals for history: at most one op, that lowers `live` to the start (milliseconds) of its first interval. `live` never
 * rises. It is refused for `LIVE_LOWERED`: then ask again.
 */
export async function lowerLiveOps(table: Table, projectId: number, firstIntervalStart: number): Promise<Op[]> {
  const live = liveOf(await table.get(keys.fence(projectId)));
  if (live !== null && live <= firstIntervalStart) return [];
  return [
    { change: keys.fence(projectId), set: { live: firstIntervalStart }, if: { is: { live } }, else: LIVE_LOWERED },
  ];
}

/** Where live arrivals begin, as the fence's item says (milliseconds); null while the project has no export. */
export const liveOf = (item: FenceItem | undefined): number | null => item?.live ?? null;
