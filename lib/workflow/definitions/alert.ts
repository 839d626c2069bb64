import { once } from './task.ts';

/** Checks one alert. Input: NotifierInput. What it tells is left to jobs of their own. */
export const alertMachine = once({
  comment: 'Checks one alert.',
  // Three hours: 14 tries of 390 s and waits of at most 1,830 s are 122 minutes. Its job starts another one.
  timeout: 10_800,
  step: 'check-alert',
  input: ['organization', 'project', 'id'],
});
