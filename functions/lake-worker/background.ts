import type { Context } from '../../lib/ports/context.ts';
import { handler as waited } from './waited.ts';

/** The same for what nobody waits for, so that it never stands in the way of those who do. */
export const handler = (context: Pick<Context, 'lakeWorker'>) => waited(context);
