import * as z from 'zod';
import { text } from '../../http/fields.ts';
import type { JsonText } from '../../ports/table/json-text.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    user: UserItem;
    email: EmailItem;
  }
}

/** The user who has an e-mail address, as it is stored. */
interface EmailItem extends Item {
  readonly user_uuid: string;
}

/** A user as it is stored. `id` is the public integer, `uuid` the key. */
export interface UserItem extends Item {
  readonly id: number;
  readonly uuid: string;
  readonly distinct_id: string;
  readonly first_name: string;
  readonly last_name: string;
  readonly email: string;
  readonly created_at: number;
  /** JSON of `KeyRef[]`: the user's personal API keys; changes with them, in their transaction. */
  readonly keys: JsonText<readonly KeyRef[]>;
  /** Counts the organizations that the user has made and that are not deleted; changes in their transactions. */
  readonly organizations?: number;
}

/** Where a personal API key is stored: under the SHA-256 of its value. */
export interface KeyRef {
  readonly id: string;
  readonly sha256: string;
}

/** The fields of a new user. */
export const UserInput = z.object({
  email: text({ max: 254 }).pipe(z.email()),
  first_name: text({ max: 150, blank: true }).optional(),
  last_name: text({ max: 150, blank: true }).optional(),
});

/** A user inside answers. */
export const User = z
  .object({
    id: z.int(),
    uuid: z.uuid(),
    distinct_id: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    email: z.string(),
    is_email_verified: z.boolean(),
    hedgehog_config: z.record(z.string(), z.unknown()),
    role_at_organization: z.string(),
  })
  .meta({ id: 'User' });

/** Returns the public object of a stored user. */
export function userObject({ id, uuid, distinct_id, first_name, last_name, email }: UserItem): z.output<typeof User> {
  const stored = { id, uuid, distinct_id, first_name, last_name, email };
  return { ...stored, is_email_verified: false, hedgehog_config: {}, role_at_organization: '' };
}
