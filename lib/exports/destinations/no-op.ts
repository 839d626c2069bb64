import * as z from 'zod';
import type { Destination } from './destination.ts';
import { FILE_COLUMNS } from './files/config.ts';

/** PostHog's config has `arg`, which says nothing. */
const NoOpConfig = z.object({ arg: z.string().default('') });

/** Reads the rows of an interval as lines of JSON and keeps none of them: for trying exports out. */
export const noOp: Destination<z.infer<typeof NoOpConfig>> = {
  type: 'NoOp',
  config: NoOpConfig,
  secrets: [],
  addresses: [],
  check() {},
  steps: [],

  async deliver(delivery) {
    const columns = delivery.columns(FILE_COLUMNS[delivery.model]);
    let bytes = 0;
    for await (const piece of delivery.rows({ format: 'JSONLines', columns })) bytes += piece.length;
    delivery.say('INFO', `Read ${bytes} bytes of JSON lines, and kept none of them.`);
    return { receipt: { bytes } };
  },

  commit: async () => {},
  discard: async () => {},
};
