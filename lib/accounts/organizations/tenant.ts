import type { Credentials } from '../../http/credentials.ts';
import type { ActivityOps } from '../activity/model.ts';
import type { UserItem } from '../users/model.ts';
import type { MembershipItem, OrganizationItem, ProjectItem } from './model.ts';

/** Who calls: the key, its user and the user's memberships (read with each request, so a removal acts at once). */
export interface Caller extends Credentials {
  readonly user: UserItem;
  readonly memberships: readonly MembershipItem[];
}

/** The organization that the path names (directly, or through its project), proved to be the caller's. */
export interface Tenant {
  readonly organization: OrganizationItem;
  /** The caller's membership in it. */
  readonly membership: MembershipItem;
  /** Present when the path names a project. */
  readonly project?: ProjectItem;
}

/** Who writes, where, and what tells the activity log of it. */
export interface Writing {
  readonly tenant: Tenant;
  readonly activityOps: ActivityOps;
}
