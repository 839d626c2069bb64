import * as z from 'zod';
import { isScope } from '../auth/scopes.ts';
import { integer, text, uuidOf } from '../http/fields.ts';
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

/** What a key is made of. `expires_at` is in milliseconds since 1970. */
export const PersonalApiKeyInput = z.object({
  label: text({ max: 40 }),
  scopes: z.array(text()).check(({ value, issues }) => {
    const wrong = value.find((scope) => !isScope(scope));
    if (wrong !== undefined) issues.push({ code: 'custom', input: value, message: `Invalid scope: ${wrong}` });
  }),
  scoped_teams: z.array(integer()).optional(),
  scoped_organizations: z
    .array(text())
    .check(({ value, issues }) => {
      if (value.some((id) => uuidOf(id) !== id)) {
        issues.push({ code: 'custom', input: value, message: 'Invalid organization UUID' });
      }
    })
    .optional(),
  expires_at: integer().nullable().optional(),
});
