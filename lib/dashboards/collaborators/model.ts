import * as z from 'zod';
import { User } from '../../accounts/users/model.ts';
import { choice, uuid } from '../../http/fields.ts';
import { wireInstant } from '../../http/instant.ts';
import type { Item } from '../../ports/table/table.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    collaborator: CollaboratorItem;
  }
}

/** What somebody may do with one dashboard, as far as its restriction goes: 21 view, 37 edit. */
export const PRIVILEGE = { view: 21, edit: 37 } as const;
export type PrivilegeLevel = (typeof PRIVILEGE)[keyof typeof PRIVILEGE];

/** A collaborator as they are stored: somebody whom an editor of the dashboard named. */
export interface CollaboratorItem extends Item {
  readonly id: string;
  readonly dashboard_id: number;
  readonly user_uuid: string;
  readonly level: PrivilegeLevel;
  readonly added_at: number;
  readonly updated_at: number;
}

/** The summary's field for a collaborator: their level (21 or 37). It is written with the `CollaboratorItem`. */
export const collaboratorField = (uid: string): `with:${string}` => `with:${uid}`;

const PRIVILEGES = Object.values(PRIVILEGE);

/** The body that names a collaborator. */
export const CollaboratorInput = z.object({
  level: choice(PRIVILEGES).describe('What they may do while the dashboard is restricted: 21 view, 37 edit.'),
  user_uuid: uuid().describe('A member of the organization.'),
});

/** A collaborator of a dashboard. */
export const Collaborator = z
  .object({
    id: z.uuid(),
    dashboard_id: z.int(),
    user: User,
    level: z.literal(PRIVILEGES),
    added_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    user_uuid: z.uuid(),
  })
  .meta({ id: 'DashboardCollaborator' });

/** Returns the public object of a stored collaborator. */
export function collaboratorObject(item: CollaboratorItem, user: z.input<typeof User>): z.input<typeof Collaborator> {
  return {
    id: item.id,
    dashboard_id: item.dashboard_id,
    user,
    level: item.level,
    added_at: wireInstant(item.added_at),
    updated_at: wireInstant(item.updated_at),
    user_uuid: item.user_uuid,
  };
}
