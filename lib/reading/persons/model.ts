import * as z from 'zod';

/** A person, as PostHog shows one. */
export const Person = z
  .object({
    id: z.guid().describe('The same as `uuid`: a person has no number here.'),
    name: z.string().describe('Its e-mail address, name or username; else a distinct_id.'),
    distinct_ids: z.array(z.string()).describe('The first thousand, in their order as texts.'),
    properties: z.unknown().meta({ type: 'object', additionalProperties: true }),
    is_identified: z.boolean(),
    created_at: z.iso.datetime(),
    uuid: z.guid(),
  })
  .meta({ id: 'Person' });

/** The newest state of a distinct_id whose person is there, as the reader gives it. */
export interface StateRow {
  readonly distinct_id: string;
  readonly is_identified: boolean;
  /** JSON text of an object: of the properties those that an event shows. */
  readonly shown: string;
}

/** A person as the reader gives them. */
export interface PersonRow {
  readonly person_id: string;
  readonly distinct_ids: readonly string[];
  /** JSON text of an object. */
  readonly properties: string;
  readonly is_identified: boolean;
  /** Microseconds since 1970, as text. */
  readonly created: string;
  /** The newest one, microseconds since 1970, as text. */
  readonly version: string;
}
