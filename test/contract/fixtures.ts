/** One valid request for every row. A new row needs a line here: the suite fails until it has one. */
import { builtConsole } from '../../infra/build/console.ts';
import { createOrganization } from '../../lib/accounts/organizations/store.ts';
import { keysOfUser, revokeKey } from '../../lib/accounts/personal-api-keys/store.ts';
import { HOUR_MS } from '../../lib/basics/units.ts';
import type { RunItem } from '../../lib/exports/records/runs/model.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { LEVELS } from '../../lib/http/levels.ts';
import { keys, places } from '../../lib/ports/table/keys.ts';
import type { TestContext } from '../support/context.ts';
import { importRecords } from '../support/imports.ts';
import type { Service } from '../support/service.ts';

export interface World {
  readonly context: TestContext<object>;
  readonly service: Service;
  /** Where exports may deliver to. Default: a folder. */
  readonly destination?: object;
}

/** The parts of a request beside its row. `params` may name more than a path has. */
export interface Example {
  readonly params: Readonly<Record<string, string>>;
  /** With its question mark. */
  readonly query?: string;
  readonly body?: object;
}

/** Makes what the request is about, anew each time, as the seeded owner. */
type Fixture = (world: World) => Promise<Example>;

const place = ({ service }: World) => ({
  organization_id: service.organization.id,
  project_id: String(service.project.id),
});

async function inPlace(world: World): Promise<Example> {
  return { params: place(world) };
}

const exportBody = ({ context, destination }: World) => ({
  name: 'Hourly',
  interval: 'hour',
  destination: destination ?? { type: 'Folder', config: { path: context.folder } },
});

async function ofExport(world: World, fields: object = {}): Promise<Example> {
  const { organization_id } = place(world);
  const path = `/api/organizations/${organization_id}/batch_exports/`;
  const { body } = await world.service.call('POST', path, { body: { ...exportBody(world), ...fields } });
  return { params: { ...place(world), id: String(body?.['id']) } };
}

const NO_OP = { type: 'NoOp', config: {} };

const RANGE = { start_at: '2025-12-30T00:00:00Z', end_at: '2025-12-31T00:00:00Z' };

/** No machine runs it: what a request sees of it stays as it is, on a stage too. */
async function ofBackfill(world: World): Promise<Example> {
  const { params } = await ofExport(world);
  const asked = { start_at: Date.parse(RANGE.start_at), end_at: Date.parse(RANGE.end_at) };
  const { id } = await startBackfill(world.context, { id: params['id'] ?? '' }, asked);
  return { params: { ...params, backfill_id: id } };
}

/** Runs are made by the machines, not over HTTP. */
async function ofRun(world: World, fields: Partial<RunItem> = {}): Promise<Example> {
  const { params } = await ofExport(world);
  const { table, newId, clock } = world.context;
  const { id: eid = '' } = params;
  const id = newId();
  const intervalStart = clock() - HOUR_MS;
  const run: RunItem = {
    ...keys.run(eid, id),
    ...places.runOf(eid, clock(), intervalStart, id),
    id,
    batch_export: eid,
    status: 'Completed',
    phase: null,
    attempt: `${eid}-1`,
    execution: 'schedule',
    by: 'schedule',
    backfill: null,
    data_interval_start: intervalStart,
    data_interval_end: clock(),
    records_total_count: 0,
    records_completed: 0,
    bytes_exported: 0,
    latest_error: null,
    first_tried_at: clock(),
    created_at: clock(),
    finished_at: clock(),
    last_updated_at: clock(),
    ...fields,
  };
  await table.write([{ put: run }]);
  return { params: { ...params, run_id: id } };
}

async function ofOrganization({ service }: World): Promise<Example> {
  const { body } = await service.call('POST', '/api/organizations/', { body: { name: 'Another' } });
  return { params: { organization_id: String(body?.['id']) } };
}

async function ofMember(world: World): Promise<Example> {
  const { uuid } = await world.service.newUser(LEVELS.member);
  return { params: { ...place(world), user__uuid: uuid } };
}

async function ofInvite(world: World): Promise<Example> {
  const { organization_id } = place(world);
  const { body } = await world.service.call('POST', `/api/organizations/${organization_id}/invites/`, {
    body: { target_email: 'new@example.com' },
  });
  return { params: { organization_id, id: String(body?.['id']) } };
}

/** The seeded owner is invited by somebody else. */
async function invited({ context, service }: World): Promise<Example> {
  const host = await service.newUser();
  const { organization } = await createOrganization(context, { name: 'Host', owner: host });
  const { body } = await service.call('POST', `/api/organizations/${organization.id}/invites/`, {
    key: await service.newKey(host),
    body: { target_email: service.owner.email },
  });
  return { params: { id: String(body?.['id']) } };
}

async function ofProject(world: World): Promise<Example> {
  const { organization_id } = place(world);
  const { body } = await world.service.call('POST', `/api/organizations/${organization_id}/projects/`, { body: {} });
  return { params: { organization_id, project_id: String(body?.['id']) } };
}

/** A user has ten keys at most: the older ones of earlier requests make room. */
async function roomForKey({ context, service: { owner } }: World): Promise<void> {
  const held = await keysOfUser(context.table, owner.uuid);
  const made = held.filter(({ label }) => !['Everything', 'A key'].includes(label));
  for (const item of made.slice(2)) await revokeKey(context, item, { ifMatch: undefined });
}

const KEY = { label: 'Reader', scopes: ['personal_api_key:read'] };

async function newKey(world: World): Promise<Example> {
  await roomForKey(world);
  return { params: {}, body: KEY };
}

async function ofKey(world: World): Promise<Example> {
  await roomForKey(world);
  const { body } = await world.service.call('POST', '/api/personal_api_keys/', { body: KEY });
  return { params: { id: String(body?.['id']) } };
}

/** Makes a dashboard with a text tile. */
async function ofDashboard(world: World): Promise<Example & { tile: unknown }> {
  const params = place(world);
  const sent = { name: 'Weekly', tiles: [{ text: { body: 'Hello' } }] };
  const { body } = await world.service.call('POST', `/api/projects/${params.project_id}/dashboards/`, { body: sent });
  const [tile] = (body?.['tiles'] ?? []) as unknown[];
  return { params: { ...params, id: String(body?.['id']) }, tile };
}

async function tileMove(world: World): Promise<Example> {
  const [{ params, tile }, goal] = [await ofDashboard(world), await ofDashboard(world)];
  return { params, body: { tile, toDashboard: Number(goal.params['id']) } };
}

const pathOf = (params: Readonly<Record<string, string>>): string =>
  `/api/projects/${params['project_id']}/dashboards/${params['id']}`;

async function toCollaborator(world: World): Promise<Example> {
  const { params } = await ofDashboard(world);
  const { uuid } = await world.service.newUser(LEVELS.member);
  return { params, body: { level: 37, user_uuid: uuid } };
}

async function ofCollaborator(world: World): Promise<Example> {
  const { params, body } = await toCollaborator(world);
  const added = await world.service.call('POST', `${pathOf(params)}/collaborators/`, { body });
  return { params: { ...params, user__uuid: String(added.body?.['user_uuid']) } };
}

async function ofShared(world: World): Promise<Example> {
  const { params } = await ofDashboard(world);
  const shared = await world.service.call('PATCH', `${pathOf(params)}/sharing/`, { body: { enabled: true } });
  return { params: { ...params, token: String(shared.body?.['access_token']) } };
}

const TEMPLATE = {
  template_name: 'Mine',
  dashboard_description: '',
  dashboard_filters: {},
  tiles: [{ type: 'INSIGHT', name: 'Visitors', query: { kind: 'TrendsQuery' } }],
};

async function ofInsight(world: World): Promise<Example> {
  const params = place(world);
  const path = `/api/projects/${params.project_id}/insights/`;
  const { body } = await world.service.call('POST', path, { body: { name: 'Visitors' } });
  return { params: { ...params, id: String(body?.['id']) } };
}

const TRENDS = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] };

async function toAlert(world: World): Promise<Example> {
  const params = place(world);
  const path = `/api/projects/${params.project_id}/insights/`;
  const { body } = await world.service.call('POST', path, { body: { name: 'Paid', query: TRENDS } });
  const threshold = { configuration: { type: 'absolute', bounds: { upper: 10 } } };
  return { params, body: { insight: body?.['id'], subscribed_users: [], threshold } };
}

async function ofAlert(world: World): Promise<Example> {
  const { params, body } = await toAlert(world);
  const made = await world.service.call('POST', `/api/projects/${params['project_id']}/alerts/`, { body });
  return { params: { ...params, id: String(made.body?.['id']) } };
}

async function toSubscription(world: World): Promise<Example> {
  const { params, body: alert } = await toAlert(world);
  const target = { target_type: 'webhook', target_value: 'https://hooks.example.com/reports' };
  const { insight } = alert as { insight: number };
  return { params, body: { insight, ...target, frequency: 'daily', start_date: '2026-01-05T07:00:00Z' } };
}

async function ofSubscription(world: World): Promise<Example> {
  const { params, body } = await toSubscription(world);
  const made = await world.service.call('POST', `/api/projects/${params['project_id']}/subscriptions/`, { body });
  return { params: { ...params, id: String(made.body?.['id']) } };
}

const QUERY = { kind: 'HogQLQuery', query: 'SELECT count() FROM events' };

async function ofQuery(world: World): Promise<Example> {
  const params = place(world);
  const id = world.context.newId();
  await world.service.call('POST', `/api/projects/${params.project_id}/query/`, {
    body: { query: QUERY, refresh: 'force_blocking', client_query_id: id },
  });
  return { params: { ...params, id } };
}

/** Worlds whose lake has the event and the person; filling one takes longer than all requests of a test. */
const filled = new WeakMap<object, Promise<unknown>>();

const EVENT = {
  uuid: '01940000-0000-7000-8000-0000000000e1',
  event: 'paid',
  distinct_id: 'ada',
  timestamp: '2025-12-30T00:00:00Z',
  properties: { $set: { email: 'ada@example.com' } },
};

/** The id of the event of the project's lake, and of its person. */
async function ofLake(world: World) {
  const { context } = world;
  const params = place(world);
  const filling = filled.get(context) ?? importRecords(context, Number(params.project_id), [EVENT]);
  filled.set(context, filling);
  await filling;
  return params;
}

async function ofEvent(world: World): Promise<Example> {
  return { params: { ...(await ofLake(world)), id: EVENT.uuid } };
}

/** Who is there once: a request deletes them. */
async function ofOwnPerson(world: World): Promise<Example> {
  const { context, service } = world;
  const params = place(world);
  const distinctId = context.newId();
  await importRecords(context, Number(params.project_id), [{ ...EVENT, uuid: distinctId, distinct_id: distinctId }]);
  const path = `/api/projects/${params.project_id}/persons/?distinct_id=${distinctId}`;
  const { body } = await service.call('GET', path);
  const [person] = (body?.['results'] ?? []) as { id: string }[];
  return { params: { ...params, id: String(person?.id) } };
}

async function ofOwnPersons(world: World): Promise<Example> {
  const { params } = await ofOwnPerson(world);
  return { params, body: { ids: [params['id']] } };
}

async function ofPerson(world: World): Promise<Example> {
  const params = await ofLake(world);
  const { body } = await world.service.call('GET', `/api/projects/${params.project_id}/persons/?distinct_id=ada`);
  const [person] = (body?.['results'] ?? []) as { id: string }[];
  return { params: { ...params, id: String(person?.id) } };
}

const IMPORTED = Buffer.from(JSON.stringify(EVENT));

async function newImport(world: World): Promise<Example> {
  const params = place(world);
  const sent = { name: 'events.jsonl', bytes: IMPORTED.length };
  const path = `/api/projects/${params.project_id}/imports/`;
  // An organization has ten at most that have not ended: the older ones of earlier requests make room.
  const { body: page } = await world.service.call('GET', path);
  const all = (page?.['results'] ?? []) as { id: string; state: string }[];
  for (const { id } of all.filter(({ state }) => state === 'uploading' || state === 'queued').slice(5))
    await world.service.call('POST', `${path}${id}/cancel/`);
  const { body } = await world.service.call('POST', path, { body: sent });
  return { params: { ...params, id: String(body?.['id']) } };
}

async function uploaded(world: World): Promise<Example> {
  const { params } = await newImport(world);
  const path = `/api/projects/${params['project_id']}/imports/${params['id']}/content/`;
  await world.service.call('PUT', path, { body: IMPORTED.toString() });
  return { params };
}

async function withRejected(world: World): Promise<Example> {
  const { params } = await newImport(world);
  await world.context.imports?.files.write(`team_id=${params['project_id']}/${params['id']}/rejected`, 'no event\n');
  return { params };
}

export const fixtures: Readonly<Record<string, Fixture>> = {
  schema: async () => ({ params: {} }),
  'console/page': async () => ({ params: {} }),
  'console/file': async () => ({ params: { file: (await builtConsole()).script } }),
  'console/link': async () => ({ params: { project: '1', page: 'dashboard', id: '3' } }),
  'reference/page': async () => ({ params: {} }),
  'reference/file': async () => ({ params: { file: 'swagger-ui.css' } }),

  'organizations/list': async () => ({ params: {} }),
  'organizations/create': async () => ({ params: {}, body: { name: 'New' } }),
  'organizations/retrieve': ofOrganization,
  'organizations/update': async (world) => ({ ...(await ofOrganization(world)), body: { name: 'Renamed' } }),
  'organizations/destroy': ofOrganization,

  'users/retrieve-me': async () => ({ params: { user__uuid: '@me' } }),

  'members/list': inPlace,
  'members/update': async (world) => ({ ...(await ofMember(world)), body: { level: LEVELS.admin } }),
  'members/destroy': ofMember,

  'invites/list': inPlace,
  'invites/create': async (world) => ({ params: place(world), body: { target_email: 'new@example.com' } }),
  'invites/destroy': ofInvite,
  'invites/preview': invited,
  'invites/accept': invited,

  'projects/list': inPlace,
  'projects/create': async (world) => ({ params: place(world), body: { name: 'New' } }),
  'projects/retrieve': ofProject,
  'projects/update': async (world) => ({ ...(await ofProject(world)), body: { name: 'Renamed' } }),
  'projects/patch-token': async (world) => ({ ...(await ofProject(world)), body: { keep_old_for_a_day: true } }),
  'projects/reset-token': async (world) => ({ ...(await ofProject(world)), body: { keep_old_for_a_day: true } }),
  'projects/destroy': ofProject,

  'personal-api-keys/list': async () => ({ params: {} }),
  'personal-api-keys/create': newKey,
  'personal-api-keys/retrieve-current': async () => ({ params: { id: '@current' } }),
  'personal-api-keys/update': async (world) => ({ ...(await ofKey(world)), body: { label: 'Renamed' } }),
  'personal-api-keys/destroy': ofKey,
  'personal-api-keys/roll': ofKey,

  'dashboards/list': inPlace,
  'dashboards/create': async (world) => ({ params: place(world), body: { name: 'Weekly' } }),
  'dashboards/retrieve': ofDashboard,
  'dashboards/update': async (world) => ({ ...(await ofDashboard(world)), body: { name: 'Renamed' } }),
  'dashboards/destroy': ofDashboard,
  'dashboards/move-tile': tileMove,
  'dashboards/create-from-template-json': async (world) => ({ params: place(world), body: { template: TEMPLATE } }),

  'collaborators/list': ofCollaborator,
  'collaborators/create': toCollaborator,
  'collaborators/destroy': ofCollaborator,
  'sharing/retrieve': ofDashboard,
  'sharing/update': async (world) => ({ ...(await ofDashboard(world)), body: { enabled: true } }),
  'sharing/refresh': ofDashboard,
  'shared/page': ofShared,
  'shared/open': async (world) => ({ ...(await ofShared(world)), body: { password: 'of a page that needs none' } }),
  'access-controls/list': ofDashboard,
  'access-controls/update': async (world) => ({ ...(await ofDashboard(world)), body: { access_level: 'viewer' } }),

  'insights/list': inPlace,
  'insights/create': async (world) => ({ params: place(world), body: { name: 'Visitors' } }),
  'insights/retrieve': ofInsight,
  'insights/update': async (world) => ({ ...(await ofInsight(world)), body: { name: 'Renamed' } }),

  'alerts/list': inPlace,
  'alerts/create': toAlert,
  'alerts/retrieve': ofAlert,
  'alerts/update': async (world) => ({ ...(await ofAlert(world)), body: { snoozed_until: '2h' } }),
  'alerts/destroy': ofAlert,

  'subscriptions/list': inPlace,
  'subscriptions/create': toSubscription,
  'subscriptions/retrieve': ofSubscription,
  'subscriptions/update': async (world) => ({ ...(await ofSubscription(world)), body: { enabled: false } }),
  'subscriptions/destroy': ofSubscription,

  'query/create': async (world) => ({ params: place(world), body: { query: QUERY } }),
  'query/retrieve': ofQuery,
  'query/destroy': ofQuery,

  'events/list': inPlace,
  'events/retrieve': ofEvent,
  'ingestion/warnings': inPlace,
  'ingestion/numbers': inPlace,
  'imports/list': inPlace,
  'imports/create': async (world) => {
    const { params } = await newImport(world);
    return { params, body: { name: 'events.jsonl', bytes: 5 } };
  },
  'imports/retrieve': newImport,
  'imports/upload': async (world) => ({ ...(await newImport(world)), body: EVENT }),
  'imports/preview': async (world) => ({ ...(await uploaded(world)), body: { format: 'jsonl' } }),
  'imports/start': async (world) => ({ ...(await uploaded(world)), body: { format: 'jsonl' } }),
  'imports/cancel': newImport,
  'imports/rejected': withRejected,
  'imports/destroy': async (world) => {
    const { params } = await newImport(world);
    await world.service.call('POST', `/api/projects/${params['project_id']}/imports/${params['id']}/cancel/`);
    return { params };
  },
  'persons/list': inPlace,
  'persons/retrieve': ofPerson,
  'persons/destroy': ofOwnPerson,
  'persons/bulk-destroy': ofOwnPersons,

  'event-definitions/list': inPlace,
  'property-definitions/list': inPlace,

  'batch-exports/list': inPlace,
  'batch-exports/create': async (world) => ({ params: place(world), body: exportBody(world) }),
  'batch-exports/retrieve': (world) => ofExport(world),
  'batch-exports/update': async (world) => ({ ...(await ofExport(world)), body: { name: 'Renamed' } }),
  'batch-exports/replace': async (world) => ({
    ...(await ofExport(world, { destination: NO_OP })),
    body: { name: 'Renamed', interval: 'day', destination: NO_OP },
  }),
  'batch-exports/destroy': (world) => ofExport(world),
  'batch-exports/backfill': async (world) => ({ ...(await ofExport(world)), body: RANGE }),
  'batch-exports/backfill-estimate': async (world) => ({ ...(await ofExport(world)), body: RANGE }),
  'batch-exports/pause': (world) => ofExport(world),
  'batch-exports/unpause': async (world) => ({
    ...(await ofExport(world, { paused: true })),
    body: { backfill: true },
  }),
  'batch-exports/test': async (world) => ({ params: place(world), query: '?destination=S3' }),
  'batch-exports/run-test-step': async (world) => ({ ...(await ofExport(world)), body: { step: 0 } }),
  'batch-exports/run-test-step-new': async (world) => ({ params: place(world), body: exportBody(world) }),
  'batch-exports/logs': (world) => ofExport(world),
  'runs/list': (world) => ofExport(world),
  'runs/retrieve': (world) => ofRun(world),
  'runs/retry': (world) => ofRun(world),
  'runs/cancel': (world) => ofRun(world, { status: 'Running' }),
  'runs/logs': (world) => ofRun(world),
  'backfills/list': (world) => ofExport(world),
  'backfills/create': async (world) => ({ ...(await ofExport(world)), body: RANGE }),
  'backfills/cancel': ofBackfill,
  'backfills/retrieve': ofBackfill,

  'activity/list': inPlace,
};
