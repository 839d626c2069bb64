import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/** Composes what a subscription sends. Input: NotifierInput. What is sent is left to jobs of their own. */
export const subscriptionMachine = {
  Comment: 'Composes what a subscription sends.',
  QueryLanguage: 'JSONata',
  // Three hours: 12 tries of 330 s and waits of at most 1,830 s are 97 minutes. Its job starts another one.
  TimeoutSeconds: 10_800,
  StartAt: 'Compose',
  States: {
    Compose: {
      ...calls('compose-subscription', {
        ...fields('organization', 'project', 'id'),
        execution: EXECUTION,
      }),
      Output: {},
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
