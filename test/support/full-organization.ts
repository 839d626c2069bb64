/** An organization that holds one of everything that the service can store. */
import type { UserItem } from '../../lib/accounts/users/model.ts';
import { DAY_MS } from '../../lib/basics/units.ts';
import { lineOps } from '../../lib/exports/records/logs.ts';
import { projectFolders } from '../../lib/lake/catalog.ts';
import type { Context } from '../../lib/ports/context.ts';
import { keys } from '../../lib/ports/table/keys.ts';
import { INPUT, putRun } from './exports.ts';
import type { CallOptions, Service } from './service.ts';

export interface FullOrganization {
  readonly id: string;
  /** The project that holds everything, and another that is empty. */
  readonly projects: readonly [number, number];
  readonly exports: readonly string[];
}

/** A user to join it, who was made by `service.newUser`, and a key of theirs that may do so. */
interface Joining {
  readonly user: UserItem;
  readonly key: string;
}

type Body = Record<string, unknown>;

/** Makes it as the seeded owner, over HTTP where possible. Of those who join, the last one leaves again. */
export async function fullOrganization(
  context: Context,
  service: Service,
  joining: readonly Joining[],
): Promise<FullOrganization> {
  const { table, lake, clock } = context;
  const send = async (method: string, path: string, body?: object, options: CallOptions = {}): Promise<Body> => {
    const reply = await service.call(method, path, { ...(body === undefined ? {} : { body }), ...options });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body ?? {};
  };
  const made = await send('POST', '/api/organizations/', { name: 'Full' });
  const id = String(made['id']);
  const [{ id: pid } = { id: 0 }] = made['teams'] as { id: number }[];
  const [inOrganization, inProject] = [`/api/organizations/${id}`, `/api/projects/${pid}`];
  const { id: empty } = await send('POST', `${inOrganization}/projects/`, { name: 'Empty' });

  for (const { user, key } of joining) {
    const invite = await send('POST', `${inOrganization}/invites/`, { target_email: user.email });
    await send('POST', `/api/invites/${String(invite['id'])}/accept/`, {}, { key });
    await service.newKey(user, { label: 'By organization', scoped_organizations: [id] });
    await service.newKey(user, { label: 'By project', scoped_teams: [pid] });
  }
  await send('POST', `${inOrganization}/invites/`, { target_email: 'nobody@example.com' });

  const insight = await send('POST', `${inProject}/insights/`, { name: 'Visitors' });
  const series = [{ kind: 'EventsNode', event: '$pageview' }];
  await send('PATCH', `${inProject}/insights/${String(insight['id'])}/`, { query: { kind: 'TrendsQuery', series } });
  const hook = 'https://hooks.example.com/told';
  await send('POST', `${inProject}/alerts/`, {
    insight: insight['id'],
    subscribed_users: [],
    threshold: { configuration: { type: 'absolute', bounds: { upper: 10 } } },
    notify_url: hook,
  });
  const target = { target_type: 'webhook', target_value: hook, frequency: 'daily', start_date: new Date(clock()) };
  await send('POST', `${inProject}/subscriptions/`, { insight: insight['id'], ...target });
  const gone = await send('POST', `${inProject}/insights/`, { name: 'Gone' });
  await send('PATCH', `${inProject}/insights/${String(gone['id'])}/`, { deleted: true });
  const dashboard = async (name: string): Promise<string> => {
    const { id: did } = await send('POST', `${inProject}/dashboards/`, { name, tiles: [{ text: { body: 'Hello' } }] });
    await send('PATCH', `${inProject}/insights/${String(insight['id'])}/`, { dashboards: [did] });
    return `${inProject}/dashboards/${String(did)}`;
  };
  await send('PATCH', `${await dashboard('Shared')}/sharing/`, { enabled: true });
  const restricted = await dashboard('Restricted');
  await send('PATCH', `${restricted}/`, { restriction_level: 37 });
  for (const { user } of joining) {
    await send('POST', `${restricted}/collaborators/`, { user_uuid: user.uuid, level: 37 });
    await send('PUT', `${restricted}/access_controls/`, { access_level: 'viewer', organization_member: user.uuid });
  }
  await send('PATCH', `${await dashboard('Deleted')}/`, { deleted: true });

  const exports: string[] = [];
  for (const name of ['Live', 'Deleted']) exports.push(await fullExport(name));
  await send('DELETE', `${inProject}/batch_exports/${exports[1]}/`);
  const leaving = joining.at(-1)?.user.uuid;
  await send('DELETE', `${inOrganization}/members/${leaving}/`);
  await fillLake();
  return { id, projects: [pid, Number(empty)], exports };

  /** Makes an export with a backfill that has not ended, and runs that have. */
  async function fullExport(name: string): Promise<string> {
    const batchExport = await send('POST', `${inProject}/batch_exports/`, { ...INPUT, name });
    const eid = String(batchExport['id']);
    const range = { start_at: new Date(clock() - 2 * DAY_MS), end_at: new Date(clock() - DAY_MS) };
    await send('POST', `${inProject}/batch_exports/${eid}/backfill/`, range);
    for (const [n, status] of (['FailedRetryable', 'Completed'] as const).entries()) {
      const latest_error = status === 'Completed' ? null : 'no route';
      const names = { attempt: `${eid}-${n}`, execution: `${eid}-${n}` };
      const run = await putRun(context, eid, { status, latest_error, ...names });
      const line = { at: clock(), level: 'INFO', message: 'It runs', instance: run.id } as const;
      await table.write(lineOps(context, eid, run.execution, `send-${n}`, [line]));
      await context.runFiles.write(`${run.attempt}/plan.json`, '{}');
      const executions = [run.execution, ...(latest_error === null ? [] : [`${run.id}-1`])];
      for (const execution of executions) await context.workflow.start('export-run', execution, {});
    }
    return eid;
  }

  async function fillLake(): Promise<void> {
    for (const folder of projectFolders(pid)) {
      for (const day of ['2026-01-01', '2026-01-02']) await lake.write(`${folder}day=${day}/gen=0/0.parquet`, 'rows');
    }
    const items = [
      keys.lease(pid),
      keys.personsState(pid),
      keys.answer(pid, 0, 'cache_1'),
      keys.propertyReads(pid),
      keys.pendingBatch(pid, clock(), 'batch'),
      keys.lakeFile(pid, 'events', '2026-01-01', clock(), 'batch', 0),
    ];
    for (const item of items) await table.write([{ put: { ...item } }]);
  }
}
