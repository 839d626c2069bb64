/** A property test that fails prints its seed; `TEST_SEED=<seed> npm test -- <file>` tries the same values again. */

const seed = process.env['TEST_SEED'];

// Loaded only for this, for it takes its time; it is there before the first test runs.
if (seed !== undefined)
  void import('fast-check').then(({ configureGlobal }) => configureGlobal({ seed: Number(seed) }));
