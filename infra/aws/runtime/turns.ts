import type { Context } from '../../../lib/ports/context.ts';
import { tableTurns } from '../../../lib/workers/table-turns.ts';

/**
 * What an organization has done at once beside the queries of its stage's `queryTurns`: pages of rows; queries by Athena;
 * numbers that its alerts and subscriptions look at; tests of destinations, which a user has as many of, too.
 */
const TURNS = { read: 4, athena: 2, notifier: 2, test: 4 };

/** What turns are taken with. */
export type Turning = Pick<Context, 'table' | 'clock' | 'newId' | 'settings'>;

/** Returns the turns of a kind of work, which all functions of a stage take together. */
export const turnsOf = (
  { settings: { queryTurns }, ...context }: Turning,
  kind: keyof typeof TURNS | keyof NonNullable<typeof queryTurns>,
  waitMs?: number,
) => {
  // Where few functions are set apart, those of alerts are no more than what else runs behind.
  const notifier = Math.min(TURNS.notifier, queryTurns?.background ?? 1);
  const each = { ...TURNS, notifier, ...queryTurns }[kind] ?? 1;
  return tableTurns({ ...context, kind, each, ...(waitMs === undefined ? {} : { waitMs }) });
};

/** What runs behind has a turn, or is refused at once. */
export const backgroundTurns = (context: Turning) => turnsOf(context, 'background', 0);
