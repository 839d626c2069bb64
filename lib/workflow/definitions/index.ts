import type { Definition } from '../states-language.ts';
import type { MachineName } from '../workflow.ts';
import { backfillMachine } from './backfill.ts';
import { exportRunMachine } from './export-run.ts';
import { once, walks } from './task.ts';

/** A day: 144 walks of 10 minutes. */
const DAY_OF_WALKS = 86_400;

/** An hour: 14 tries of 90 s and waits of at most 1,830 s are 52 minutes. */
const HOUR_OF_TRIES = 3600;

/** Every state machine, by the name under which others start it; its input is in messages.ts. */
export const MACHINES: Readonly<Record<MachineName, Definition>> = {
  'export-run': exportRunMachine,
  backfill: backfillMachine,
  // Indexes lag, and requests that were under way may still write, so the walk is repeated after 15 minutes.
  purge: walks({
    comment: 'Walks and removes what a deleted organization or project left, until nothing is found.',
    // A week: 1,008 walks of 10 minutes without a rest, 7 history events each, are 7,056 of the 25,000 that one execution
    // may have.
    timeout: 604_800,
    step: 'purge',
    input: ['kind', 'id'],
    rest: 900,
  }),
  // What a webhook refuses is left to the job, which starts another execution.
  notice: once({
    comment: 'Tells of a failure, once.',
    timeout: HOUR_OF_TRIES,
    step: 'send-notice',
    input: ['export', 'notice', 'attempt'],
  }),
  compaction: walks({
    comment: 'Joins small files of the lake until there are none.',
    timeout: DAY_OF_WALKS,
    step: 'compact-lake',
    input: ['project'],
  }),
  landing: walks({
    comment: 'Brings captured events into the lake.',
    timeout: DAY_OF_WALKS,
    step: 'land-inbox',
    input: [],
  }),
  deletion: walks({
    comment: 'Deletes the persons of a project who were asked to be.',
    timeout: DAY_OF_WALKS,
    step: 'delete-persons',
    input: ['project'],
  }),
  alert: once({
    comment: 'Checks one alert. What it tells is left to jobs of their own.',
    // Three hours: 14 tries of 390 s and waits of at most 1,830 s are 122 minutes. Its job starts another one.
    timeout: 10_800,
    step: 'check-alert',
    input: ['organization', 'project', 'id'],
  }),
  subscription: once({
    comment: 'Composes what a subscription sends. What is sent is left to jobs of their own.',
    // Five hours: 14 tries of 930 s and waits of at most 1,830 s are 248 minutes. Its job starts another one.
    timeout: 18_000,
    step: 'compose-subscription',
    input: ['organization', 'project', 'id'],
  }),
  message: once({
    comment: 'Sends one message. What is not taken is left to the job, which starts another execution.',
    timeout: HOUR_OF_TRIES,
    step: 'send-message',
    input: ['organization', 'message', 'attempt'],
  }),
};
