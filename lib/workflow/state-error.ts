import type { ErrorOutput } from './messages.ts';

/** The longest cause of an error in characters, as on AWS. */
export const MAX_CAUSE = 32_768;

/**
 * A state failed under a name that Retry and Catch match, for a cause that is cut to MAX_CAUSE and may be missing, as that of
 * a time-out is on AWS.
 */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly output: ErrorOutput;

  constructor(error: string, cause?: string) {
    super(cause === undefined ? error : `${error}: ${cause}`);
    this.output = { Error: error, ...(cause === undefined ? {} : { Cause: cause.slice(0, MAX_CAUSE) }) };
  }
}

/** Names that no `States.ALL` catches: the execution fails. */
const TERMINAL: readonly string[] = ['States.DataLimitExceeded', 'States.Runtime'];

/** Returns whether a retrier or catcher with these names takes it. `States.TaskFailed` is all but a time-out. */
export function takes(names: readonly string[], { output: { Error: error } }: StateError): boolean {
  if (TERMINAL.includes(error)) return names.includes(error);
  return (
    names.includes(error) ||
    names.includes('States.ALL') ||
    (names.includes('States.TaskFailed') && error !== 'States.Timeout')
  );
}
