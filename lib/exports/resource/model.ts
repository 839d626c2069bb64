import * as z from 'zod';

/** One step of the test of a destination, and what it found; null: it was not run. */
export const DestinationTestStep = z
  .object({
    name: z.string(),
    description: z.string(),
    result: z.object({ status: z.enum(['Passed', 'Failed', 'Skipped']), message: z.string().nullable() }).nullable(),
  })
  .meta({ id: 'DestinationTestStep' });
