import { organizationObject } from '../../lib/accounts/organizations/model.ts';
import { createOrganization as row } from '../../lib/accounts/organizations/routes.ts';
import { createOrganization, findMembership, findOrganization } from '../../lib/accounts/organizations/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { LEVELS } from '../../lib/http/levels.ts';
import { fail } from '../../lib/ports/errors.ts';

export const handler = endpoint(row, {
  async read({ caller }) {
    if (caller.scopedOrganizations.length > 0) {
      fail('permission_denied', 'API keys with scoped organizations cannot create organizations.');
    }
  },
  async run({ body, caller, idempotencyOps, activityOps }, context) {
    const input = { ...body, owner: caller.user };
    const { organization } = await createOrganization(context, input, idempotencyOps, activityOps);
    return new Answer(organizationObject(organization, LEVELS.owner), { version: organization.ver });
  },
  async replay(id, { caller }, { table }) {
    const [organization, membership] = await Promise.all([
      findOrganization(table, id),
      findMembership(table, caller.userId, id),
    ]);
    if (organization === undefined || membership === undefined) fail('not_found');
    return new Answer(organizationObject(organization, membership.level), { version: organization.ver });
  },
});
