import { walks } from './task.ts';

/** Joins the small files of a project's lake. Input: CompactionInput. */
export const compactionMachine = walks({
  comment: 'Joins small files of the lake until there are none.',
  // A day: 144 walks of 10 minutes.
  timeout: 86_400,
  step: 'compact-lake',
  input: ['project'],
});
