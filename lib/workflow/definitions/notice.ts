import { once } from './task.ts';

/** Sends one notice. Input: NoticeInput. What a webhook refuses is left to the job, which starts another execution. */
export const noticeMachine = once({
  comment: 'Tells of a failure, once.',
  // An hour: 14 tries of 90 s and waits of at most 1,830 s are 52 minutes. Its job starts another one.
  timeout: 3600,
  step: 'send-notice',
  input: ['notice'],
});
