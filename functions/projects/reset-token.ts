import { projectObject } from '../../lib/accounts/organizations/projects/model.ts';
import { resetProjectToken } from '../../lib/accounts/organizations/projects/routes.ts';
import { placeIn, resetToken } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';

export const handler = endpoint(resetProjectToken, async ({ tenant, body, ifMatch, activityOps }, context) => {
  const keepOld = body.keep_old_for_a_day ?? false;
  const changed = await resetToken(context, placeIn(tenant), keepOld, activityOps, ifMatch);
  return new Answer(projectObject(changed, tenant.membership.level), { version: changed.ver });
});
