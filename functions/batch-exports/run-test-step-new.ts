import { endpoint } from '../../lib/api/endpoint.ts';
import { newConfig } from '../../lib/exports/resource/create.ts';
import { runNewTestStep } from '../../lib/exports/resource/routes.ts';
import { sharedPlacesWarning } from '../../lib/exports/resource/shared-places.ts';
import { runStep } from '../../lib/exports/resource/test-steps.ts';

export const handler = endpoint(runNewTestStep, async ({ body: { step, ...input }, tenant, caller }, context) => {
  const { team, fields, ...tested } = await newConfig(context, tenant, input);
  const writer = { ...fields, ...tested, id: undefined, organization_id: tenant.organization.id, team_id: team.id };
  return runStep(
    context,
    { ...tested, planned: fields, shared: () => sharedPlacesWarning(context, writer) },
    { organization: tenant.organization.id, user: caller.userId },
    step,
  );
});
