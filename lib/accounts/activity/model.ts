import * as z from 'zod';
import { wireInstant } from '../../http/instant.ts';
import { parseJson } from '../../http/json.ts';
import type { Item, Op } from '../../ports/table/table.ts';
import type { UserLookup } from '../users/lookup.ts';
import { User } from '../users/model.ts';

declare module '../../ports/table/keys.ts' {
  interface Items {
    activity: ActivityItem;
  }
}

/** The kinds of object that an entry can be about, in PostHog's words. */
export const ACTIVITY_SCOPES = [
  'Organization',
  'OrganizationMembership',
  'OrganizationInvite',
  'Project',
  'PersonalAPIKey',
  'Dashboard',
  'Insight',
  'Person',
  'AlertConfiguration',
  'Subscription',
  'BatchExport',
  'BatchExportBackfill',
  'BatchExportRun',
  'Import',
] as const;
type ActivityScope = (typeof ACTIVITY_SCOPES)[number];

/** What somebody did to an object. */
export type ActivityVerb =
  | 'created'
  | 'updated'
  | 'deleted'
  | 'restored'
  | 'cancelled'
  | 'retried'
  | 'started'
  | 'sharing enabled'
  | 'sharing disabled'
  | 'access token refreshed';

/** One field that changed. The values of a secret are null: the log shows only that it changed. */
export interface Change {
  readonly action: 'created' | 'changed' | 'deleted';
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What an operation says of a change that it makes. */
export interface NewActivity {
  readonly scope: ActivityScope;
  readonly id: string | number;
  readonly activity: ActivityVerb;
  /** The name that people give the object. */
  readonly name: string | null;
  /** The changes of an `updated`; without any there is no entry. */
  readonly changes?: readonly Change[];
  /** The project of the object. Default: that of the request's path, if it names one. */
  readonly project?: number;
  /** The organization whose log it is. Default: that of the request's path. */
  readonly organization?: string;
}

/**
 * Returns the ops that write an entry. They belong into the transaction of the change itself, in every attempt of it,
 * so that there is one entry when the change is made and none when it is not.
 */
export type ActivityOps = (entry: NewActivity) => Op[];

/** An entry as it is stored. Instants are milliseconds since 1970; `ttl` ends it. */
export interface ActivityItem extends Item {
  readonly id: string;
  readonly organization_id: string;
  readonly team_id: number | null;
  /** Null: the system, or an operator on the command line. */
  readonly user_uuid: string | null;
  readonly key_mask: string | null;
  readonly request_id: string | null;
  readonly activity: string;
  readonly scope: string;
  readonly item_id: string;
  readonly name: string | null;
  /** JSON of `Change[]`. */
  readonly changes: string;
  readonly created_at: number;
}

const ActivityChange = z.object({
  type: z.string().describe('As `scope`.'),
  action: z.enum(['created', 'changed', 'deleted']),
  field: z.string(),
  before: z.unknown().describe('Null for secrets. Long values are cut off, as text.'),
  after: z.unknown(),
});

/** One entry of the activity log. */
export const ActivityEntry = z
  .object({
    id: z.uuid(),
    organization_id: z.uuid(),
    team_id: z.int().nullable().describe('The project; null: it is about the organization or its people.'),
    user: User.nullable(),
    is_system: z.boolean().describe('Done by the service itself, or by whoever runs it.'),
    activity: z.string().describe('`created`, `updated`, `deleted` ...'),
    scope: z.enum(ACTIVITY_SCOPES).describe('What kind of object.'),
    item_id: z.string().describe("The object's id; of a membership the user's uuid."),
    detail: z.object({ name: z.string().nullable(), changes: z.array(ActivityChange) }),
    key_mask: z.string().nullable().describe('The personal API key with which it was done.'),
    request_id: z.string().nullable().describe('X-Request-Id of the request that did it.'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'ActivityEntry' });

/** Returns the public object of a stored entry. */
export function activityObject(item: ActivityItem, userOf: UserLookup): z.input<typeof ActivityEntry> {
  const changes = parseJson(item.changes) as Change[];
  return {
    id: item.id,
    organization_id: item.organization_id,
    team_id: item.team_id,
    user: userOf(item.user_uuid),
    is_system: item.user_uuid === null,
    activity: item.activity,
    scope: item.scope as ActivityScope,
    item_id: item.item_id,
    detail: { name: item.name, changes: changes.map((change) => ({ type: item.scope, ...change })) },
    key_mask: item.key_mask,
    request_id: item.request_id,
    created_at: wireInstant(item.created_at),
  };
}
