import { placeIn } from '../../lib/accounts/organizations/projects/store.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { answersIn, foundRun } from '../../lib/insights/answering/answers.ts';
import { retrieveQuery } from '../../lib/insights/queries/routes.ts';
import { toldRun } from '../../lib/insights/queries/told.ts';

export const handler = endpoint(retrieveQuery, async ({ tenant, params }, context) => {
  const run = await foundRun(answersIn(context), params.project_id, params.id);
  if (run.failure !== null) throw run.failure;
  return new Answer(toldRun(placeIn(tenant).project, run), { isAccepted: run.endedAt === null });
});
