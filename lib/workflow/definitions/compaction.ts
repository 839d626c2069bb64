import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/**
 * Joins the small files of a project's lake. Input: CompactionInput. Where a walk ran out of time, another one goes on. A
 * walk that fails for good fails the execution; its job starts another.
 */
export const compactionMachine = {
  Comment: 'Joins small files of the lake until there are none.',
  QueryLanguage: 'JSONata',
  // A day: 144 walks of 10 minutes. Its job starts another one, which goes on with what is left.
  TimeoutSeconds: 86_400,
  StartAt: 'Walk',
  States: {
    Walk: {
      ...calls('compact-lake', {
        ...fields('project'),
        execution: EXECUTION,
      }),
      Output: {
        ...fields('project'),
        do: '{% $states.result.Payload.do %}',
      },
      Next: 'More',
    },
    More: {
      Type: 'Choice',
      Choices: [{ Condition: "{% $states.input.do = 'more' %}", Next: 'Walk' }],
      Default: 'Done',
    },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
