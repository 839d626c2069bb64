import { fail } from '../../../ports/errors.ts';
import type { Caller } from '../tenant.ts';
import type { InviteItem } from './model.ts';

/** Throws a 404 for whoever was not invited, as if there were none, a 403 for a key limited to other organizations. */
export function refuseOthers(
  invite: Pick<InviteItem, 'target_email' | 'organization_id'>,
  { user, scopedOrganizations }: Pick<Caller, 'scopedOrganizations'> & { readonly user: { readonly email: string } },
): void {
  if (user.email.toLowerCase() !== invite.target_email) fail('not_found');
  if (scopedOrganizations.length > 0 && !scopedOrganizations.includes(invite.organization_id)) {
    fail('permission_denied', 'API keys with scoped organizations cannot join other organizations.');
  }
}
