import * as z from 'zod';
import type { Destination } from '../../lib/exports/destinations/destination.ts';
import { invalid } from '../../lib/ports/errors.ts';

/** A destination with one key of every kind. */
export const sampleDestination: Destination = {
  type: 'Warehouse',
  config: z.object({
    host: z.string(),
    dataset_id: z.string(),
    password: z.string(),
    token: z.string().nullable().default(null),
    port: z.int().default(5432),
    has_self_signed_cert: z.boolean().default(false),
    role: z.string().nullable().default(null),
    mode: z.enum(['INSERT', 'COPY']).default('INSERT'),
    copy_inputs: z
      .object({ bucket: z.string(), credentials: z.object({ secret: z.string() }) })
      .nullable()
      .default(null),
  }),
  secrets: ['password', 'token', 'secret'],
  addresses: ['host', 'port'],
  unproved: ['has_self_signed_cert'],
  check(config) {
    if (config['role'] === '') invalid('destination', 'A role may not be empty');
  },
  steps: [],
  deliver: () => Promise.reject(new Error('not in this test')),
  commit: () => Promise.reject(new Error('not in this test')),
  discard: () => Promise.reject(new Error('not in this test')),
};
