import type { Definition } from '../states-language.ts';
import { calls, EXECUTION } from './task.ts';

/**
 * Lands what waits in the inbox. Input: LandingInput. Where a walk ran out of time, another one goes on. A walk that fails
 * for good fails the execution; its job starts another.
 */
export const landingMachine = {
  Comment: 'Brings captured events into the lake.',
  QueryLanguage: 'JSONata',
  // A day: 144 walks of 10 minutes. Its job starts another one, which goes on with what is left.
  TimeoutSeconds: 86_400,
  StartAt: 'Walk',
  States: {
    Walk: {
      ...calls('land-inbox', { execution: EXECUTION }),
      Output: { do: '{% $states.result.Payload.do %}' },
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
