import { walks } from './task.ts';

/**
 * Removes all that a deleted organization or project left. Input: PurgeInput. Indexes lag, and requests that were under
 * way may still write, so the walk is repeated after 15 minutes until one finds nothing.
 */
export const purgeMachine = walks({
  comment: 'Walks and removes until nothing is found.',
  // A week: 1,008 walks of 10 minutes without a rest, 7 history events each, are 7,056 of the 25,000 that one execution
  // may have.
  timeout: 604_800,
  step: 'purge',
  input: ['kind', 'id'],
  rest: 900,
});
