import * as z from 'zod';

const shared = {
  id: z.uuid().describe('Made of the project and the name: always the same.'),
  name: z.string(),
};

/** A name of events, as PostHog shows one. */
export const EventDefinition = z
  .object({
    ...shared,
    volume_30_day: z.int().describe('How many events with the name happened in these 30 days.'),
    last_seen_at: z.iso.datetime().describe('When the last one of them happened.'),
  })
  .meta({ id: 'EventDefinition' });

/** A name of properties of events or of persons. */
export const PropertyDefinition = z
  .object({
    ...shared,
    volume_30_day: z.int().describe('How many events of these 30 days have the property; or how many persons now.'),
    last_seen_at: z.iso.datetime().describe('When the last of these events happened, or of these persons changed.'),
  })
  .meta({ id: 'PropertyDefinition' });

/** What names are of. */
export type NamesOf = 'event' | 'property' | 'person';

/** Which names are asked for; absent: any. */
export interface NamesAsked {
  /** A part of the name, in any case. */
  readonly search?: string | undefined;
  /** Of properties of events: those that events of these names have. */
  readonly events?: readonly string[] | undefined;
  /** Whether they begin with `$`, as those that PostHog's SDKs set. */
  readonly isCore?: boolean | undefined;
  /** Those of feature flags alone, or none of them. */
  readonly isFlag?: boolean | undefined;
  /** These alone, and not these. */
  readonly among?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
  /** Default: `name`. */
  readonly order?: NameOrder | undefined;
}

/** What names are listed by; with `-` the last first. */
export const NAME_ORDERS = ['name', '-name', 'last_seen_at', '-last_seen_at'] as const;
export type NameOrder = (typeof NAME_ORDERS)[number];

/** A name that was seen, as the reader gives it. */
export interface NameRow {
  readonly name: string;
  readonly volume: number;
  /** Microseconds since 1970, as text. */
  readonly last: string;
}
