import { purge } from '../../lib/purge/purge.ts';
import type { PurgeInput } from '../../lib/workflow/messages.ts';
import { step } from '../../lib/workflow/step.ts';

/** Removes what a deleted organization or project left, a walk at a time. */
export const handler = step('purge', (input: PurgeInput, context) => purge(context, input));
