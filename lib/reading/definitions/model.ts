import * as z from 'zod';

const shared = {
  id: z.uuid().describe('Made of the project and the name: always the same.'),
  name: z.string(),
};

/** A name of events, as PostHog shows one. */
export const EventDefinition = z
  .object({
    ...shared,
    volume_30_day: z.int().describe('How many events with the name happened in the last 30 days.'),
    last_seen_at: z.iso.datetime().describe('When the last one of them happened.'),
  })
  .meta({ id: 'EventDefinition' });

/** A name of properties of events. */
export const PropertyDefinition = z
  .object({
    ...shared,
    volume_30_day: z.int().describe('How many events of the last 30 days have the property.'),
    last_seen_at: z.iso.datetime().describe('When the last one of them happened.'),
  })
  .meta({ id: 'PropertyDefinition' });

/** What names are of. */
export type NamesOf = 'event' | 'property';

/** A name that was seen, as the reader gives it. */
export interface NameRow {
  readonly name: string;
  readonly volume: number;
  /** Microseconds since 1970, as text. */
  readonly last: string;
}
