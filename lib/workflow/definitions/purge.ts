import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/**
 * Removes all that a deleted organization or project left. Input: PurgeInput. Indexes lag, and requests that were under
 * way may still write, so the walk is repeated after 15 minutes until one finds nothing. A walk that fails for good
 * fails the execution; its job starts another.
 */
export const purgeMachine = {
  Comment: 'Walks and removes until nothing is found.',
  QueryLanguage: 'JSONata',
  // A week: 1,008 walks of 10 minutes without a rest, 7 history events each, are 7,056 of the 25,000 that one execution
  // may have. Its job starts another one, which goes on with what is left.
  TimeoutSeconds: 604_800,
  StartAt: 'Walk',
  States: {
    Walk: {
      ...calls('purge', {
        ...fields('kind', 'id'),
        execution: EXECUTION,
      }),
      Output: {
        ...fields('kind', 'id'),
        do: '{% $states.result.Payload.do %}',
      },
      Next: 'More',
    },
    More: {
      Type: 'Choice',
      Choices: [
        { Condition: "{% $states.input.do = 'more' %}", Next: 'Walk' },
        { Condition: "{% $states.input.do = 'rest' %}", Next: 'Rest' },
      ],
      Default: 'Done',
    },
    Rest: { Type: 'Wait', Seconds: 900, Next: 'Walk' },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
