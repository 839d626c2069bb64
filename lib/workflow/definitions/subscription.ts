import { once } from './task.ts';

/** Composes what a subscription sends. Input: NotifierInput. What is sent is left to jobs of their own. */
export const subscriptionMachine = once({
  comment: 'Composes what a subscription sends.',
  // Five hours: 14 tries of 930 s and waits of at most 1,830 s are 248 minutes. Its job starts another one.
  timeout: 18_000,
  step: 'compose-subscription',
  input: ['organization', 'project', 'id'],
});
