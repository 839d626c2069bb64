/** Orders of queries that nobody waits for: what a function of a stage is told to answer. */
import { MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import type { SharedTurn } from '../../workers/function-pool.ts';
import type { AskedQuery } from './computations.ts';
import { BACKGROUND_MS } from './pooled-answerer.ts';

/** A query of an order, after overrides. */
type OrderedQuery = Omit<AskedQuery, 'project'>;

/** What nobody waits for: one query under the name of its run, or some that are computed if they are not true. Plain JSON. */
export interface QueryOrder {
  readonly project: number;
  readonly queries: readonly OrderedQuery[];
  /** Null: they are computed if it has to be, and have no run. */
  readonly run: { readonly id: string; readonly startedAt: number; readonly turn: SharedTurn } | null;
}

/** Carries out an order. Throws what is nobody's query's fault. */
export type QueryRunner = (order: QueryOrder) => Promise<void>;

/** An order waits so long until one of the functions that carry orders out is free, and is dropped then. */
export const ORDER_WAITS_MS = 5 * MINUTE_MS;
/** A query that nobody waits for has ended so long after it was begun ... */
export const BEGUN_MS = BACKGROUND_MS + 30 * SECOND_MS;
/** ... and after it was ordered. */
export const ORDER_MS = ORDER_WAITS_MS + BEGUN_MS;
/** An order travels in the event of an invocation, which has 256 KB. */
const MAX_ORDER_BYTES = 240_000;

export function ordered(asked: AskedQuery): OrderedQuery {
  const { project: _, ...query } = asked;
  return query;
}

export const fits = (order: QueryOrder): boolean => Buffer.byteLength(JSON.stringify(order)) <= MAX_ORDER_BYTES;

/** Queries of one project as few orders that can be sent; a query that is too long for one is left out. */
export function ordersOf(asked: readonly AskedQuery[]): QueryOrder[] {
  const orders: QueryOrder[] = [];
  for (const one of asked) {
    const last = orders.at(-1);
    const alone: QueryOrder = { project: one.project.id, queries: [ordered(one)], run: null };
    const joined = { ...alone, queries: [...(last?.queries ?? []), ...alone.queries] };
    if (last !== undefined && fits(joined)) orders.splice(-1, 1, joined);
    else if (fits(alone)) orders.push(alone);
  }
  return orders;
}
