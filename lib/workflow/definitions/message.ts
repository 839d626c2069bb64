import { once } from './task.ts';

/** Sends one message. Input: MessageInput. What is not taken is left to the job, which starts another execution. */
export const messageMachine = once({
  comment: 'Sends one message.',
  // An hour: 14 tries of 90 s and waits of at most 1,830 s are 52 minutes. Its job starts another one.
  timeout: 3600,
  step: 'send-message',
  input: ['organization', 'message'],
});
