import * as z from 'zod';

/** An object of the lake, as it was sent. */
const properties = z.unknown().meta({ type: 'object', additionalProperties: true });

/** An event, as PostHog shows one. */
export const LakeEvent = z
  .object({
    id: z.guid().describe("The event's uuid."),
    distinct_id: z.string(),
    properties,
    event: z.string(),
    timestamp: z.iso.datetime().describe('When it happened, to the microsecond, always in six digits.'),
    person: z
      .object({ is_identified: z.boolean(), distinct_ids: z.array(z.string()), properties })
      .nullable()
      .describe(
        'Whose distinct_id it is now: of the properties `email`, `name` and `username`. Null: nobody is known.',
      ),
    elements_chain: z.string(),
  })
  .meta({ id: 'Event' });

/** An event as the reader gives it. */
export interface EventRow {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  /** JSON text of an object. */
  readonly properties: string | null;
  /** Microseconds since 1970, as text. */
  readonly at: string;
  readonly elements_chain: string | null;
}
