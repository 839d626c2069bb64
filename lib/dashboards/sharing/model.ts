import * as z from 'zod';
import { boolean } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    sharing: SharingItem;
    sharingToken: SharingTokenItem;
  }
}

/** The sharing of a dashboard as it is stored, from the dashboard's creation on: its public link. */
export interface SharingItem extends Item {
  readonly enabled: boolean;
  readonly access_token: string;
  /** Whether this token's page was ever open. Then sharing again needs a new token, so that no old link revives. */
  readonly was_open: boolean;
  /** The dashboard's own creation. */
  readonly created_at: number;
  /** Counts its changes (ETag). */
  readonly ver: number;
}

/** The dashboard that a token opens, if its sharing is enabled and has this token. */
export interface SharingTokenItem extends Item {
  readonly organization_id: string;
  readonly project_id: number;
  readonly dashboard_id: number;
}

/** The body that opens or closes a dashboard's public page. */
export const SharingPatch = z.object({ enabled: boolean().optional() });

/** A dashboard's public link. */
export const Sharing = z
  .object({
    created_at: z.iso.datetime().describe("The dashboard's."),
    enabled: z.boolean(),
    access_token: z.string().describe('Opens `/shared/<token>` while sharing is enabled.'),
  })
  .meta({ id: 'DashboardSharing' });

/** Returns the public object of a dashboard's sharing. */
export function sharingObject({ created_at, enabled, access_token }: SharingItem): z.input<typeof Sharing> {
  return { created_at: wireInstant(created_at), enabled, access_token };
}
