import * as z from 'zod';
import { datetime, integer, text, uuidOf } from '../../http/fields.ts';
import { wireInstant, wireInstantOrNull } from '../../http/instant.ts';
import { isScope } from '../../http/scopes.ts';
import { fromJsonText, type JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    personalApiKey: PersonalApiKeyItem;
  }
}

/** A personal API key as it is stored, under the SHA-256 of its value; the value itself is never stored. */
export interface PersonalApiKeyItem extends Item {
  readonly id: string;
  readonly user_uuid: string;
  /** The user's public integer. */
  readonly user_id: number;
  readonly label: string;
  /** `phx_...abcd`: the first and the last four characters. */
  readonly mask: string;
  /** A key with an empty list may do nothing. */
  readonly scopes: JsonText<readonly string[]>;
  /** The projects that the key is limited to; empty: no limit. */
  readonly scoped_teams: JsonText<readonly number[]>;
  /** The organizations that the key is limited to; empty: no limit. */
  readonly scoped_organizations: JsonText<readonly string[]>;
  /** The organization of each of `scoped_teams`, by its number. */
  readonly team_organizations: JsonText<Readonly<Record<string, string>>>;
  readonly created_at: number;
  /** When the key last got another value. */
  readonly last_rolled_at: number | null;
  /** Moves at most once an hour. */
  readonly last_used_at: number | null;
  /** The key is void from then on; null: never. */
  readonly expires_at: number | null;
  /** Counts changes of the writable fields (ETag). */
  readonly ver: number;
}

/** Limits above what anybody needs: there are fewer scopes, and nobody names so many projects or organizations. */
const MAX = { scopes: 200, places: 100 } as const;

/** Null limits nothing, as PostHog takes it. */
const distinct = <T>(values: readonly T[] | null | undefined): T[] => [...new Set(values)];

/** The fields of a new key. `expires_at` is in milliseconds since 1970. */
export const NewPersonalApiKey = z.object({
  label: text({ max: 40 }),
  scopes: z
    .array(text())
    .max(MAX.scopes)
    .check(({ value, issues }) => {
      const wrong = value.find((scope) => !isScope(scope));
      if (wrong !== undefined) issues.push({ code: 'custom', input: value, message: `Invalid scope: ${wrong}` });
    }),
  scoped_teams: z
    .array(integer({ min: 1 }))
    .max(MAX.places)
    .nullable()
    .transform(distinct)
    .optional(),
  scoped_organizations: z
    .array(text())
    .max(MAX.places)
    .check(({ value, issues }) => {
      if (value.some((id) => uuidOf(id) === undefined)) {
        issues.push({ code: 'custom', input: value, message: 'Invalid organization UUID' });
      }
    })
    .nullable()
    .transform((ids) => distinct(ids?.map((id) => uuidOf(id) ?? id)))
    .optional(),
  expires_at: integer().nullable().optional(),
});

/** The body that makes a key. */
export const PersonalApiKeyInput = NewPersonalApiKey.extend({ expires_at: datetime().nullable().optional() });

/** The body that changes a key. */
export const PersonalApiKeyPatch = PersonalApiKeyInput.partial();

/** A key as its user sees it. */
export const PersonalApiKey = z
  .object({
    id: z.uuid(),
    label: z.string(),
    value: z.string().nullable().describe('Only when the key is made or rolled; null ever after.'),
    mask_value: z.string().describe('The first and the last four characters of the value.'),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable().describe('Moves at most once an hour.'),
    last_rolled_at: z.iso.datetime().nullable(),
    expires_at: z.iso.datetime().nullable(),
    user_id: z.int(),
    scopes: z.array(z.string()).describe('A key without scopes may do nothing.'),
    scoped_teams: z.array(z.int()).describe('The projects that the key is limited to; empty: no limit.'),
    scoped_organizations: z.array(z.uuid()).describe('The organizations that the key is limited to; empty: no limit.'),
  })
  .meta({ id: 'PersonalApiKey' });

/** Returns the public object of a stored key, with its value only where that was just made. */
export function personalApiKeyObject(
  item: PersonalApiKeyItem,
  value: string | null = null,
): z.output<typeof PersonalApiKey> {
  const { scopes, scoped_teams, scoped_organizations, expires_at } = grantOf(item);
  return {
    id: item.id,
    label: item.label,
    value,
    mask_value: item.mask,
    created_at: wireInstant(item.created_at),
    last_used_at: wireInstantOrNull(item.last_used_at),
    last_rolled_at: wireInstantOrNull(item.last_rolled_at),
    expires_at: wireInstantOrNull(expires_at),
    user_id: item.user_id,
    scopes: [...scopes],
    scoped_teams: [...scoped_teams],
    scoped_organizations: [...scoped_organizations],
  };
}

/** All that a key allows, and until when (milliseconds since 1970; null: for ever). */
export interface Grant {
  readonly scopes: readonly string[];
  readonly scoped_teams: readonly number[];
  readonly scoped_organizations: readonly string[];
  readonly expires_at: number | null;
}

/** Returns what a stored key allows. */
export function grantOf(item: PersonalApiKeyItem): Grant {
  return {
    scopes: fromJsonText(item.scopes),
    scoped_teams: fromJsonText(item.scoped_teams),
    scoped_organizations: fromJsonText(item.scoped_organizations),
    expires_at: item.expires_at,
  };
}
