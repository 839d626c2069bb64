import { endpoint } from '../../lib/api/endpoint.ts';
import { answersIn, foundRun } from '../../lib/insights/answering/answers.ts';
import { destroyQuery } from '../../lib/insights/queries/routes.ts';

export const handler = endpoint(destroyQuery, async ({ params }, context) => {
  const answers = answersIn(context);
  const run = await foundRun(answers, params.project_id, params.id);
  if (run.endedAt !== null) return { message: 'The query has ended already.' };
  await answers.cancel(run);
  return { message: 'The query was cancelled.' };
});
