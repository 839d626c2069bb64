import type { QueryOrder } from '../lib/insights/answering/query-orders.ts';
import type { Context } from '../lib/ports/context.ts';

/** Carries out an order of queries that nobody waits for. Only the service's own functions may call it. */
export const handler =
  ({ queryRunner }: Pick<Context, 'queryRunner'>) =>
  (order: QueryOrder): Promise<void> => {
    if (queryRunner === null) throw new Error('nobody runs queries here');
    return queryRunner(order);
  };
