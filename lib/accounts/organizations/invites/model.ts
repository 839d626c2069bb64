import * as z from 'zod';
import { oneOf, text } from '../../../http/fields.ts';
import { wireInstant } from '../../../http/instant.ts';
import { LEVELS, type MembershipLevel } from '../../../http/levels.ts';
import type { Item } from '../../../ports/table/table.ts';
import { User, type UserItem } from '../../users/model.ts';
import { levelField } from '../members/model.ts';
import type { OrganizationItem } from '../model.ts';

declare module '../../../ports/table/keys.ts' {
  interface Items {
    invitation: InviteItem;
  }
}

/** An invitation as it is stored. Instants are milliseconds since 1970; it is gone from `expires_at` on (`ttl`). */
export interface InviteItem extends Item {
  readonly id: string;
  readonly organization_id: string;
  /** Lower case. */
  readonly target_email: string;
  readonly level: MembershipLevel;
  /** The uuid of the member who invites. */
  readonly created_by: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** An organization has at most so many open invitations. */
export const MAX_OPEN_INVITES = 500;

const address = text({ max: 254 }).pipe(z.email()).optional();

/** The body that invites somebody. `email` is another name of `target_email`. */
export const InviteInput = z
  .object({ target_email: address, email: address, level: levelField().optional() })
  .meta(oneOf('target_email', 'email'))
  .transform(({ target_email, email, level = LEVELS.member }, context) => {
    const found = target_email ?? email;
    if (found !== undefined) return { target_email: found.toLowerCase(), level };
    context.addIssue({
      code: 'custom',
      path: ['target_email'],
      message: 'This field is required.',
      params: { code: 'required' },
    });
    return z.NEVER;
  });

/** An invitation, as members of the organization see it. */
export const Invite = z
  .object({
    id: z.uuid(),
    target_email: z.string(),
    level: z.literal(Object.values(LEVELS)).describe('1 member, 8 admin, 15 owner.'),
    created_by: User.nullable(),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime(),
    link: z.url().describe('The page of the console on which the invited user accepts. No mail is sent.'),
  })
  .meta({ id: 'Invite' });

/** An invitation, as whoever has its link sees it. */
export const InvitePreview = Invite.pick({ id: true, level: true, expires_at: true })
  .extend({
    target_email: z.string().describe('Masked: `b*a@example.com`.'),
    first_name: z.string().describe('Empty: invitations name nobody.'),
    organization_name: z.string(),
    invited_by: z.string().describe('The name of the member who invites; without one, their masked e-mail address.'),
  })
  .meta({ id: 'InvitePreview' });

/** Returns an e-mail address with the first letter of its name and the last one only, if that hides any. */
function masked(email: string): string {
  const at = email.lastIndexOf('@');
  return at < 3 ? `${'*'.repeat(at)}${email.slice(at)}` : `${email[0]}${'*'.repeat(at - 2)}${email.slice(at - 1)}`;
}

/** Returns what whoever has the link of an invitation may know. */
export function invitePreviewObject(
  { id, target_email, level, expires_at }: InviteItem,
  organization: Pick<OrganizationItem, 'name'>,
  inviter: Pick<UserItem, 'first_name' | 'last_name' | 'email'>,
): z.output<typeof InvitePreview> {
  return {
    id,
    target_email: masked(target_email),
    first_name: '',
    organization_name: organization.name,
    invited_by: `${inviter.first_name} ${inviter.last_name}`.trim() || masked(inviter.email),
    level,
    expires_at: wireInstant(expires_at),
  };
}

/** Returns the public object of a stored invitation; `base` is the address of the service. */
export function inviteObject(
  item: InviteItem,
  created_by: z.output<typeof User> | null,
  base: string,
): z.output<typeof Invite> {
  const { id, target_email, level, created_at, expires_at } = item;
  return {
    id,
    target_email,
    level,
    created_by,
    created_at: wireInstant(created_at),
    expires_at: wireInstant(expires_at),
    link: new URL(`#/invites/${id}`, `${base}/`).href,
  };
}
