import { askedPersonRemoval } from '../../../../lib/lake/import/person-removal.ts';
import type { Context } from '../../../../lib/ports/context.ts';

/** A function beside the lake does it: it may take minutes. */
export const personRemoval = (context: Pick<Context, 'table' | 'clock' | 'newId'>) => askedPersonRemoval(context);
