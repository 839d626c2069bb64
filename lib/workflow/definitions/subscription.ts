import { once } from './task.ts';

/** Composes what a subscription sends. Input: NotifierInput. What is sent is left to jobs of their own. */
export const subscriptionMachine = once({
  comment: 'Composes what a subscription sends.',
  // Three hours: 12 tries of 330 s and waits of at most 1,830 s are 97 minutes. Its job starts another one.
  timeout: 10_800,
  step: 'compose-subscription',
  input: ['organization', 'project', 'id'],
});
