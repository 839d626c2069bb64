import * as z from 'zod';
import { isScope } from '../auth/scopes.ts';
import type { Item } from '../table/table.ts';

/** A personal API key as stored, under the SHA-256 of its value; the value itself is never stored. */
export interface PersonalApiKeyItem extends Item {
  readonly id: string;
  readonly user_uuid: string;
  readonly label: string;
  /** `phx_...abcd`: the first and the last four characters. */
  readonly mask: string;
  /** JSON of `string[]`. An empty list may do nothing. */
  readonly scopes: string;
  /** JSON of `number[]`: the projects that the key is limited to; empty: no limit. */
  readonly scoped_teams: string;
  /** JSON of `string[]`: the organizations that the key is limited to; empty: no limit. */
  readonly scoped_organizations: string;
  readonly created_at: number;
  /** Moves at most once an hour. */
  readonly last_used_at: number | null;
  /** From then on the key is no key; null: never. */
  readonly expires_at: number | null;
}

/** What a key is made of. */
export const PersonalApiKeyInput = z.object({
  label: z.string().trim().min(1, 'This field may not be blank.').max(40),
  scopes: z.array(z.string().refine(isScope, { error: ({ input }) => `Invalid scope: ${String(input)}` })),
  scoped_teams: z.array(z.int()).default([]),
  scoped_organizations: z.array(z.uuid('Invalid organization UUID')).default([]),
  expires_at: z.int().nullable().default(null),
});
