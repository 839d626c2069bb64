import * as z from 'zod';
import { wireInstant } from '../../http/instant.ts';

/** What was refused for one reason in the last 30 days, in the form in which PostHog tells of its warnings. */
export const IngestionWarning = z
  .object({
    type: z.string().describe('The reason: `missing_distinct_id`, `cannot_merge_already_identified` …'),
    lastSeen: z.iso.datetime().describe('When the last such event came.'),
    count: z.int().describe('How many such events came.'),
    sparkline: z
      .array(z.array(z.union([z.int(), z.iso.date()])))
      .describe('How many came on each day, the latest last.'),
    warnings: z
      .array(
        z.object({
          type: z.string(),
          timestamp: z.iso.datetime(),
          details: z.object({
            event: z.string().nullable().describe('Its name, if it has one.'),
            distinctId: z.string().nullable(),
            message: z.string().describe('What is wrong with it, in words.'),
          }),
        }),
      )
      .describe('The last such event of each day, the latest first.'),
  })
  .meta({ id: 'IngestionWarning' });

/** What became of captured events in one minute. */
const IngestionMinute = z
  .object({
    minute: z.iso.datetime(),
    accepted: z.int().describe('Events that were acknowledged.'),
    refused: z.int(),
    landed: z.int().describe('Events that came into the lake.'),
    known: z.int().describe('Events that landed before: sent again.'),
    late: z.int().describe('Of the events that landed: those that had happened over an hour before they came.'),
    delay_seconds: z.number().nullable().describe('From the arrival of a request to its landing, the longest.'),
  })
  .meta({ id: 'IngestionMinute' });

/** The minutes of an hour, or of as many as were asked for. */
export const IngestionNumbers = z
  .object({ results: z.array(IngestionMinute).describe('The latest minute first.') })
  .meta({ id: 'IngestionNumbers' });

/** A minute that begins at an instant, with what was counted of it. */
export const minuteObject = (
  start: number,
  counts: Readonly<Record<'accepted' | 'refused' | 'landed' | 'known' | 'late', number>>,
  delayMs: number | null,
): z.input<typeof IngestionMinute> => ({
  minute: wireInstant(start),
  ...counts,
  delay_seconds: delayMs === null ? null : delayMs / 1000,
});
