import { walks } from './task.ts';

/** Lands what waits in the inbox. Input: LandingInput. */
export const landingMachine = walks({
  comment: 'Brings captured events into the lake.',
  // A day: 144 walks of 10 minutes.
  timeout: 86_400,
  step: 'land-inbox',
  input: [],
});
