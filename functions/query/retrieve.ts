import { endpoint } from '../../lib/api/endpoint.ts';
import { Answer } from '../../lib/http/answer.ts';
import { answersIn, foundRun } from '../../lib/insights/answering/answers.ts';
import { queryStatus } from '../../lib/insights/answering/runs.ts';
import { retrieveQuery } from '../../lib/insights/queries/routes.ts';

export const handler = endpoint(retrieveQuery, async ({ params }, context) => {
  const run = await foundRun(answersIn(context), params.project_id, params.id);
  if (run.failure !== null) throw run.failure;
  return new Answer({ query_status: queryStatus(run, run.answer) }, { isAccepted: run.endedAt === null });
});
