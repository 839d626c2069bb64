import { walks } from './task.ts';

/** Deletes the persons of a project who were asked to be. Input: DeletionInput. */
export const deletionMachine = walks({
  comment: 'Deletes persons of a project.',
  // A day: 144 walks of 10 minutes.
  timeout: 86_400,
  step: 'delete-persons',
  input: ['project'],
});
