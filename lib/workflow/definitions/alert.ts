import type { Definition } from '../states-language.ts';
import { calls, EXECUTION, fields } from './task.ts';

/** Checks one alert. Input: NotifierInput. What it tells is left to jobs of their own. */
export const alertMachine = {
  Comment: 'Checks one alert.',
  QueryLanguage: 'JSONata',
  // Three hours: 12 tries of 330 s and waits of at most 1,830 s are 97 minutes. Its job starts another one.
  TimeoutSeconds: 10_800,
  StartAt: 'Check',
  States: {
    Check: {
      ...calls('check-alert', {
        ...fields('organization', 'project', 'id'),
        execution: EXECUTION,
      }),
      Output: {},
      Next: 'Done',
    },
    Done: { Type: 'Succeed' },
  },
} satisfies Definition;
