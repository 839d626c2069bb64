let hasFailed = false;

/** Notes what becomes of tests: called by the environment for each of jest's events. */
export function noteEvent(name: string): void {
  if (name === 'test_start') hasFailed = false;
  if (name === 'test_fn_failure') hasFailed = true;
}

/** Returns whether the test that an `afterEach` follows has failed. One that ran out of time may still be under way. */
export const hasTestFailed = (): boolean => hasFailed;
