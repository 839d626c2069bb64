import * as z from 'zod';
import type { UserLookup } from '../accounts/users/lookup.ts';
import { User } from '../accounts/users/model.ts';
import { boolean, freeObject, integer, text } from '../http/fields.ts';
import { wireInstant } from '../http/instant.ts';
import { parseJson } from '../http/json.ts';
import type { Item } from '../ports/table/table.ts';

declare module '../ports/table/keys.ts' {
  interface Items {
    insight: InsightItem;
  }
}

/** An insight as it is stored: a saved question about events. It is kept and shown in tiles, and not yet answered. */
export interface InsightItem extends Item {
  readonly id: number;
  readonly project_id: number;
  readonly name: string | null;
  readonly description: string;
  /** JSON of an object, or null. */
  readonly query: string | null;
  /** JSON of an object. */
  readonly filters: string;
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

/** The body that makes an insight. */
export const InsightInput = z.object({
  name: text({ max: 400, blank: true }).nullable().optional(),
  description: text({ max: 400, blank: true }).optional(),
  query: freeObject().nullable().optional(),
  filters: freeObject().optional(),
  dashboards: z.array(integer()).max(MAX_DASHBOARDS).optional().describe('The dashboards that show it.'),
  deleted: boolean().optional(),
});

/** The body that changes an insight. */
export const InsightPatch = InsightInput;

/** An insight inside a tile. */
export const TileInsight = z
  .object({
    id: z.int(),
    name: z.string().nullable(),
    description: z.string(),
    query: freeObject().nullable(),
    filters: freeObject(),
    deleted: z.boolean(),
    created_at: z.iso.datetime(),
    created_by: User.nullable(),
    last_modified_at: z.iso.datetime(),
    last_modified_by: User.nullable(),
  })
  .meta({ id: 'TileInsight' });

/** An insight, with the numbers of the dashboards that show it and that the caller may see. */
export const Insight = TileInsight.extend({ dashboards: z.array(z.int()) }).meta({ id: 'Insight' });

/** Returns the public object of a stored insight. */
export function insightObject(item: InsightItem, userOf: UserLookup): z.input<typeof TileInsight> {
  return {
    id: item.id,
    name: item.name,
    description: item.description,
    query: item.query === null ? null : parseJson(item.query),
    filters: parseJson(item.filters),
    deleted: item.deleted_at !== null,
    created_at: wireInstant(item.created_at),
    created_by: userOf(item.created_by),
    last_modified_at: wireInstant(item.last_modified_at),
    last_modified_by: userOf(item.last_modified_by),
  };
}
