import type { Item } from '../table/table.ts';

/** An insight as stored: a saved question about events. Nothing here asks it; tiles show it. */
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
  /** Set: gone from lists and reads, and its tiles are hidden. */
  readonly deleted_at: number | null;
  /** The dashboard with which it was deleted, and comes back. */
  readonly deleted_with: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}
