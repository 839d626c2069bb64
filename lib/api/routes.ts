import * as activity from '../accounts/activity/routes.ts';
import * as users from '../accounts/me/routes.ts';
import * as invites from '../accounts/organizations/invites/routes.ts';
import * as members from '../accounts/organizations/members/routes.ts';
import * as projects from '../accounts/organizations/projects/routes.ts';
import * as organizations from '../accounts/organizations/routes.ts';
import * as personalApiKeys from '../accounts/personal-api-keys/routes.ts';
import * as accessControls from '../dashboards/access-controls/routes.ts';
import * as collaborators from '../dashboards/collaborators/routes.ts';
import * as publicPage from '../dashboards/public-page/routes.ts';
import * as dashboards from '../dashboards/routes.ts';
import * as sharing from '../dashboards/sharing/routes.ts';
import * as batchExports from '../exports/resource/routes.ts';
import type { Route } from '../http/route.ts';
import * as imports from '../imports/routes.ts';
import * as queries from '../insights/queries/routes.ts';
import * as insights from '../insights/routes.ts';
import * as alerts from '../notifications/alerts/routes.ts';
import * as subscriptions from '../notifications/subscriptions/routes.ts';
import * as definitions from '../reading/definitions/routes.ts';
import * as events from '../reading/events/routes.ts';
import * as ingestion from '../reading/ingestion/routes.ts';
import * as persons from '../reading/persons/routes.ts';
import * as consoleRows from './console/routes.ts';
import * as http from './reference/routes.ts';

/** Paths of projects begin so, and a second time as PostHog's newer clients write them. */
const PROJECTS = '/api/projects';
const TWIN = '/api/environments';

/** Returns the row on its own paths and on their twins. */
function withTwins(row: Route): Route {
  const [first, ...others] = row.paths;
  const twins = row.paths.filter((path) => path.startsWith(PROJECTS)).map((path) => path.replace(PROJECTS, TWIN));
  return { ...row, paths: [first, ...others, ...twins] };
}

/** Every row of the API, on every path of it. */
export const routes: readonly Route[] = [
  users,
  organizations,
  members,
  invites,
  projects,
  personalApiKeys,
  dashboards,
  collaborators,
  sharing,
  publicPage,
  accessControls,
  insights,
  queries,
  alerts,
  subscriptions,
  events,
  persons,
  definitions,
  ingestion,
  imports,
  batchExports,
  activity,
  consoleRows,
  http,
].flatMap((rows): Route[] => Object.values(rows).map(withTwins));

const byTemplate = new Map<string, Map<string, Route>>();
for (const row of routes) {
  for (const path of row.paths) {
    const rows = byTemplate.get(path) ?? new Map<string, Route>();
    if (rows.has(row.method)) throw new Error(`two rows for ${row.method} ${path}`);
    byTemplate.set(path, rows.set(row.method, row));
  }
}

/** Every path template, each once. */
export const templates: readonly string[] = [...byTemplate.keys()];

/** Returns the row that serves a method of a path template; HEAD follows GET. */
export function rowFor(method: string, template: string): Route | undefined {
  return byTemplate.get(template)?.get(method === 'HEAD' ? 'GET' : method);
}
