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

/** What became of persons who were to be deleted together, in PostHog's words. */
export const PersonsDeleted = z.object({
  persons_found: z.int(),
  persons_deleted: z.int().describe('Who are gone.'),
  persons_queued_for_deletion: z.int().describe('Who will be, minutes later.'),
  events_queued_for_deletion: z.boolean().describe('Events are gone, or will be.'),
  recordings_queued_for_deletion: z.boolean().describe('There are none: it was asked for.'),
  deletion_errors: z.array(z.unknown()).describe('Empty: what fails is an error of the whole request.'),
});

/** Somebody who is to be deleted, as the reader finds them. */
export interface FoundRow {
  readonly person_id: string;
  /** One of theirs. */
  readonly distinct_id: string;
  /** The newest one, microseconds since 1970, as text. */
  readonly version: string;
  /** Of the distinct_ids that were asked for, theirs. */
  readonly asked: readonly string[];
}

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
