import { endpoint } from '../../lib/api/endpoint.ts';
import { createFromTemplate } from '../../lib/dashboards/create.ts';
import { createFromTemplate as row } from '../../lib/dashboards/routes.ts';
import { madeAgain, madeAnswer } from '../../lib/dashboards/shown.ts';

export const handler = endpoint(row, {
  async run({ params, body, tenant, caller, once, activity: tell }, context) {
    const maker = { tenant, project: Number(params.project_id), uid: caller.userId, tell };
    return madeAnswer(context, await createFromTemplate(context, maker, body.template, once), tenant, caller);
  },
  replay: (id, { params, tenant, caller }, context) =>
    madeAgain(context, { project: Number(params.project_id), id: Number(id) }, tenant, caller),
});
