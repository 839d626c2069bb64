import { configureGlobal } from 'fast-check';

/**
 * All property tests of a run begin with one seed, which is told before them: one that fails tells it too, but not one that
 * its limit of time ends while it looks for a smaller example.
 */
configureGlobal({ seed: Number(process.env['TEST_SEED']) });
