import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { parseField } from '../../lib/http/parse.ts';
import { answersIn } from '../../lib/insights/answering/answers.ts';
import { sourceOf } from '../../lib/insights/kinds/source.ts';
import { FiltersOverride, overridden } from '../../lib/insights/overrides.ts';
import { createQuery } from '../../lib/insights/queries/routes.ts';
import { queryAnswer } from '../../lib/insights/queries/told.ts';

export const handler = endpoint(createQuery, async ({ tenant, body }, context) => {
  const { project } = placeIn(tenant);
  const { query, refresh, async: isAsync, client_query_id, filters_override, variables_override } = body;
  const filters = filters_override && parseField(FiltersOverride, 'filters_override', filters_override);
  const variables = variables_override == null ? [] : [variables_override];
  const asked = { project, query: overridden(sourceOf(query), { filters, variables }) };
  const told = await answersIn(context).ask(asked, refresh ?? (isAsync === true ? 'async' : 'blocking'), {
    callerLeft: context.callerLeft,
    user: tenant.membership.user_uuid,
    runId: client_query_id ?? undefined,
  });
  return new Answer(queryAnswer(project, told), { isAccepted: told.kept === null && told.run !== null });
});
