import { projectObject } from '../../lib/accounts/organizations/projects/model.ts';
import { listProjects } from '../../lib/accounts/organizations/projects/routes.ts';
import { findProjects } from '../../lib/accounts/organizations/projects/store.ts';
import { openPlaces } from '../../lib/accounts/organizations/rules.ts';
import { endpoint } from '../../lib/api/endpoint.ts';
import { page } from '../../lib/http/page.ts';
import { fromJsonText } from '../../lib/ports/table/json-text.ts';

export const handler = endpoint(listProjects, async ({ tenant, caller, paging }, { table }) => {
  const { membership } = tenant;
  const briefs = openPlaces([tenant], caller).flatMap(({ organization }) => fromJsonText(organization.projects));
  const items = await findProjects(table, briefs.slice(paging.offset, paging.offset + paging.limit));
  return page(paging, { items, count: briefs.length }, (item) => projectObject(item, membership.level));
});
