import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/** Sends one message. Input: MessageInput. What is not taken is left to the job, which starts another execution. */
export const messageMachine = {
  Comment: 'Sends one message.',
  QueryLanguage: 'JSONata',
  // An hour: 14 tries of 90 s and waits of at most 1,830 s are 52 minutes. Its job starts another one.
  TimeoutSeconds: 3600,
  StartAt: 'Send',
  States: {
    Send: {
      ...calls('send-message', {
        ...fields('organization', 'message'),
        execution: EXECUTION,
      }),
      Output: {},
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
