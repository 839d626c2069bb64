import { endpoint } from '../../lib/http/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { projectObject } from '../../lib/projects/model.ts';
import { listProjects } from '../../lib/projects/routes.ts';
import { briefsOf, findProjects } from '../../lib/projects/store.ts';

export const handler = endpoint(listProjects, async ({ tenant, paging }, { table }) => {
  const { organization, membership } = tenant;
  const briefs = briefsOf(organization);
  const items = await findProjects(table, briefs.slice(paging.offset, paging.offset + paging.limit));
  return page(paging, { items, count: briefs.length }, (item) => projectObject(item, membership.level));
});
