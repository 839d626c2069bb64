import * as z from 'zod';
import type { UserLookup } from '../accounts/users/lookup.ts';
import { User } from '../accounts/users/model.ts';
import { boolean, choice, freeObject, integer, text } from '../http/fields.ts';
import { wireInstant } from '../http/instant.ts';
import { parseJson } from '../http/json.ts';
import { tagList } from '../http/tags.ts';
import { fromJsonText, type JsonText } from '../ports/table/json-text.ts';
import type { Item } from '../ports/table/table.ts';
import { ANSWER_FIELDS, refreshField } from './queries/model.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    insight: InsightItem;
  }
}

/** An insight as it is stored: a saved question about events, which tiles show. */
export interface InsightItem extends Item {
  readonly id: number;
  readonly project_id: number;
  readonly name: string | null;
  /** What clients call it where it has no name. */
  readonly derived_name?: string | null;
  readonly description: string | null;
  /** JSON of an object, or null. */
  readonly query: string | null;
  /** JSON of an object. */
  readonly filters: string;
  /** Absent, as the two beside it: made before they were kept. */
  readonly tags?: JsonText<readonly string[]>;
  readonly favorited?: boolean;
  readonly created_at: number;
  /** The creator's uuid; null: made from a template's JSON. */
  readonly created_by: string | null;
  readonly last_modified_at: number;
  readonly last_modified_by: string | null;
  /** When it is set, the insight is gone from lists and reads, and its tiles are hidden. */
  readonly deleted_at: number | null;
  /** The dashboard with which it was deleted, and comes back. */
  readonly deleted_with: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** One request puts an insight on so many dashboards, or takes it from them: each is two ops of one transaction. */
export const MAX_DASHBOARDS = 40;

/** A name has at most so many code points. */
export const MAX_NAME_LENGTH = 400;

/** The body that makes an insight. */
export const InsightInput = z.object({
  name: text({ max: MAX_NAME_LENGTH, blank: true }).nullable().optional(),
  derived_name: text({ max: MAX_NAME_LENGTH, blank: true }).nullable().optional(),
  description: text({ max: 400, blank: true }).nullable().optional(),
  query: freeObject().nullable().optional(),
  filters: freeObject().optional(),
  tags: tagList().optional(),
  favorited: boolean().optional(),
  dashboards: z.array(integer()).max(MAX_DASHBOARDS).optional().describe('The dashboards that show it.'),
  dashboard: integer().nullable().optional().describe('One more dashboard that shows it, beside the others.'),
  deleted: boolean().optional(),
});

/** The body that changes an insight. */
export const InsightPatch = InsightInput;

const ORDERS = ['created_at', '-created_at', 'last_modified_at', '-last_modified_at', 'name', '-name'] as const;

/** Which insights of a list are asked for. */
export const InsightQuery = z.object({
  search: text({ blank: true }).optional().describe('Part of the name, the derived name, the description or a tag.'),
  short_id: text({ blank: true }).optional().describe('The one insight of this short id.'),
  favorited: boolean().optional(),
  order: choice(ORDERS).optional().describe('Default: the newest first.'),
  deleted: boolean().optional().describe('True: those that were deleted and can be brought back, the last one first.'),
});
export type InsightFilter = z.output<typeof InsightQuery>;

/** How the answer of an insight, or of those of a dashboard, is asked for. */
export const ResultQuery = z.object({
  refresh: refreshField('force_cache'),
  filters_override: text({ blank: true }).optional().describe('JSON of filters: `{"date_from": "-7d"}`.'),
  variables_override: text({ blank: true }).optional().describe('JSON of values of variables, by their ids or names.'),
});

/** The digits of a short id behind its letter, in base 36: enough for every number that JavaScript holds exactly. */
const SHORT_ID_DIGITS = 7;

/** Returns PostHog's second name of an insight: eight letters and digits, never digits alone, made of its number. */
export const shortIdOf = (id: number): string => `i${id.toString(36).padStart(SHORT_ID_DIGITS, '0')}`;

/** Returns the number of an insight whose short id this is; undefined: it is none. */
export function numberOfShortId(sent: string): number | undefined {
  const digits = /^i([0-9a-z]{7,10})$/.exec(sent)?.[1];
  return digits === undefined ? undefined : Number.parseInt(digits, 36);
}

/** Returns a field of the number of an insight, or its short id. */
export function insightId() {
  return z.preprocess((sent) => (typeof sent === 'string' ? (numberOfShortId(sent) ?? sent) : sent), integer());
}

/** An insight inside a tile. What tells its answer is not in lists. */
export const TileInsight = z
  .object({
    id: z.int(),
    short_id: z.string().describe('Names the insight in a path, as `id` does.'),
    name: z.string().nullable(),
    derived_name: z.string().nullable(),
    description: z.string().nullable(),
    query: freeObject().nullable(),
    filters: freeObject(),
    tags: z.array(z.string()),
    favorited: z.boolean(),
    deleted: z.boolean(),
    created_at: z.iso.datetime(),
    created_by: User.nullable(),
    updated_at: z.iso.datetime().describe('The same as `last_modified_at`, under the name that agents read.'),
    last_modified_at: z.iso.datetime(),
    last_modified_by: User.nullable(),
    result: z.unknown().optional(),
    ...ANSWER_FIELDS,
    filters_hash: z.string().optional(),
    error: z.string().nullable().optional().describe('Why it has no answer.'),
  })
  .meta({ id: 'TileInsight' });

/** An insight, with the numbers of the dashboards that show it and that the caller may see. */
export const Insight = TileInsight.extend({ dashboards: z.array(z.int()) }).meta({ id: 'Insight' });

/** Returns the name of an insight, or else the one that a client derived of its query; null: both are empty. */
export const givenName = ({ name, derived_name }: Pick<InsightItem, 'name' | 'derived_name'>): string | null =>
  name || derived_name || null;

/** Returns what an insight is called where something has to be said. */
export const insightName = (item: Pick<InsightItem, 'id' | 'name' | 'derived_name'>): string =>
  givenName(item) ?? `Insight ${item.id}`;

/** Returns the public object of a stored insight. */
export function insightObject(item: InsightItem, userOf: UserLookup): z.input<typeof TileInsight> {
  return {
    id: item.id,
    short_id: shortIdOf(item.id),
    name: item.name,
    derived_name: item.derived_name ?? null,
    description: item.description,
    query: item.query === null ? null : parseJson(item.query),
    filters: parseJson(item.filters),
    tags: item.tags === undefined ? [] : [...fromJsonText(item.tags)],
    favorited: item.favorited ?? false,
    deleted: item.deleted_at !== null,
    created_at: wireInstant(item.created_at),
    created_by: userOf(item.created_by),
    updated_at: wireInstant(item.last_modified_at),
    last_modified_at: wireInstant(item.last_modified_at),
    last_modified_by: userOf(item.last_modified_by),
  };
}
