import * as z from 'zod';
import { choice } from '../../../http/fields.ts';
import { wireInstant } from '../../../http/instant.ts';
import { LEVELS } from '../../../http/levels.ts';
import { User } from '../../users/model.ts';
import type { MembershipItem } from '../model.ts';

/** Returns the field of a level of membership, as callers write it. */
export const levelField = () => choice(Object.values(LEVELS)).describe('1 member, 8 admin, 15 owner.');

/** The body that changes a membership. */
export const MemberPatch = z.object({ level: levelField().optional() });

/** A member of an organization. */
export const Member = z
  .object({
    id: z.uuid().describe("The user's uuid: nobody is a member twice."),
    user: User,
    level: z.literal(Object.values(LEVELS)).describe('1 member, 8 admin, 15 owner.'),
    joined_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Member' });

/** Returns the public object of a stored membership. */
export function memberObject(item: MembershipItem, user: z.output<typeof User>): z.output<typeof Member> {
  return {
    id: item.user_uuid,
    user,
    level: item.level,
    joined_at: wireInstant(item.joined_at),
    updated_at: wireInstant(item.updated_at),
  };
}
