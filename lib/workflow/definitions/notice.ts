import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/** Sends one notice. Input: NoticeInput. What a webhook refuses is left to the job, which starts another execution. */
export const noticeMachine = {
  Comment: 'Tells of a failure, once.',
  QueryLanguage: 'JSONata',
  // An hour: 14 tries of 90 s and waits of at most 1,830 s are 52 minutes. Its job starts another one.
  TimeoutSeconds: 3600,
  StartAt: 'Send',
  States: {
    Send: {
      ...calls('send-notice', {
        ...fields('notice'),
        execution: EXECUTION,
      }),
      Output: {},
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
