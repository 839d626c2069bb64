import { runtimeOf } from '../../../infra/local/runtime.ts';
import { createOrganization } from '../../../lib/accounts/organizations/store.ts';
import type { UserItem } from '../../../lib/accounts/users/model.ts';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { noticeOps } from '../../../lib/exports/notices/notice.ts';
import { logsAsked, readLines } from '../../../lib/exports/records/logs.ts';
import type { RunItem } from '../../../lib/exports/records/runs/model.ts';
import { createBatchExport } from '../../../lib/exports/resource/create.ts';
import { type BatchInput, keepInput } from '../../../lib/exports/runs/run-files.ts';
import { jobOps } from '../../../lib/jobs/job.ts';
import { tick } from '../../../lib/jobs/tick.ts';
import { setCompaction } from '../../../lib/lake/compaction-job.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import type { StepName } from '../../../lib/workflow/steps.ts';
import { START, testContext } from '../../support/context.ts';
import { settableTime, until } from '../../support/engine-world.ts';

/** Makes an organization with a project and two exports, of a user of its own unless one is given. */
async function tenantOf(context: Context, name: string, user?: UserItem) {
  const owner = user ?? (await createUser(context, { email: `${name}@example.com` }));
  const { organization, project } = await createOrganization(context, { name, owner });
  const tenant = { organization, project, membership: undefined as never };
  const destination = { type: 'Folder', config: { path: '/tmp' } };
  const made = () =>
    createBatchExport(
      context,
      tenant,
      { name, interval: 'hour', destination },
      () => [],
      () => [],
    );
  const [{ id: batchExport }, { id: other }] = [await made(), await made()];
  return { organization: organization.id, project: project.id, batchExport, other };
}

const paused = (id: string, of: string) =>
  noticeOps(id, { export: of, type: 'paused', subject: of, range: null, reason: 'x', at: START });

/**
 * A world in which a run has so many intervals, and the steps of one name do not end before `end`: with the steps that were
 * started, and with the exports of those that are held.
 */
function holdingWorld(held: StepName, intervals = 12) {
  const time = settableTime();
  const started: string[] = [];
  const begun: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  const runtime = runtimeOf(testContext({ clock: time.clock }), {
    timer: time.timer,
    steps: () => (step) => async (input) => {
      started.push(step);
      if (step === 'begin-run')
        return { do: 'deliver', attempt: 'x-1', intervals: [...Array(intervals).keys()], concurrency: intervals };
      if (step === held) {
        begun.push((input as { export?: string }).export);
        await gate.promise;
      }
      return { interval: 0, status: 'Completed' };
    },
  });
  const deliver = (id: string, name = 'first') =>
    runtime.context.workflow.start('export-run', `${name}-${id}`, { export: id, trigger: 'schedule' });
  return { ...runtime, time, started, begun, deliver, end: gate.resolve };
}

test('what is done for an organization without its asking leaves half of the places to others', async () => {
  const { clock, timer } = settableTime();
  const ports = testContext({ clock });
  const started: string[] = [];
  const gates: (() => void)[] = [];
  const { context } = runtimeOf(ports, {
    timer,
    steps: () => (step) => async (input) => {
      const { notice = '' } = input as { readonly notice?: string };
      started.push(`${step} ${notice}`);
      if (notice.startsWith('many')) await new Promise<void>((resolve) => gates.push(resolve));
      return { do: 'nothing' };
    },
  });
  const many = await tenantOf(context, 'many');
  const few = await tenantOf(context, 'few');
  await context.table.write(Array.from({ length: 20 }, (_, n) => paused(`many-${n}`, many.batchExport)).flat());
  await tick(context);
  await until(() => started.length === 8);
  await context.table.write([
    ...paused('few', few.batchExport),
    ...jobOps('purge', few.organization, START, { kind: 'organization' }),
    ...jobOps('purge', String(few.project), START, { kind: 'project' }),
    ...jobOps('purge', 'gone', START, { kind: 'organization' }),
  ]);
  await setCompaction(context, few.project, START);
  await tick(context);
  await until(() => started.length === 13);
  expect(started.filter((step) => step.startsWith('send-notice many'))).toHaveLength(8);
  expect(started.slice(8).toSorted()).toEqual(['compact-lake ', 'purge ', 'purge ', 'purge ', 'send-notice few']);
  for (const open of gates) open();
});

describe('deliveries of a user’s organizations', () => {
  test('leave half of the places to those of others, but for one of each that has none, which leave a quarter', async () => {
    const { context, begun, deliver, end } = holdingWorld('send-interval');
    const user = await createUser(context, { email: 'many@example.com' });
    const silent = [];
    for (let n = 0; n < 7; n += 1) silent.push(await tenantOf(context, `silent-${n}`, user));
    const other = await tenantOf(context, 'other');
    const [first] = silent;
    for (const id of [first?.batchExport, first?.other]) await deliver(id ?? '');
    await until(() => begun.length >= 8);
    for (const { batchExport } of silent.slice(1)) await deliver(batchExport);
    await until(() => begun.length >= 12);
    await deliver(other.batchExport);
    await until(() => begun.filter((id) => id === other.batchExport).length === 4);
    expect(begun).toHaveLength(16);
    end();
  });

  test('do not wait for the silent receivers of one of them', async () => {
    const { context, begun, deliver, end } = holdingWorld('send-interval');
    const user = await createUser(context, { email: 'many@example.com' });
    const silent = await tenantOf(context, 'silent', user);
    const well = await tenantOf(context, 'well', user);
    for (const id of [silent.batchExport, silent.other]) await deliver(id);
    await until(() => begun.length >= 8);
    await deliver(well.batchExport);
    await until(() => begun.includes(well.batchExport));
    expect(begun).toHaveLength(9);
    end();
  });
});

test('checks of alerts that wait for their turn hold up nothing else of their organization', async () => {
  const { context, started, end } = holdingWorld('check-alert');
  const { organization, project, batchExport } = await tenantOf(context, 'alerted');
  const alerts = Array.from({ length: 20 }, (_, n) =>
    jobOps('alert', `${project}-${n}`, START, { organization, project, id: String(n) }),
  );
  await context.table.write(alerts.flat());
  await tick(context);
  await until(() => started.length === 8);
  await context.table.write(paused('notice', batchExport));
  await tick(context);
  await until(() => started.length === 9);
  expect(started.at(-1)).toBe('send-notice');
  end();
});

test('deliveries that take long hold up nothing else of their organization, nor of others', async () => {
  const { context, started, deliver, end } = holdingWorld('send-interval');
  const tenants = [await tenantOf(context, 'slow'), await tenantOf(context, 'slower')];
  const began = () => started.filter((step) => step !== 'send-interval').length;
  const begin = (name: string) => Promise.all(tenants.map(({ batchExport }) => deliver(batchExport, name)));
  await begin('first');
  // Half of the places of an organization are not for one export.
  await until(() => started.length === 10);
  expect(started.filter((step) => step === 'send-interval')).toHaveLength(8);
  await Promise.all(tenants.map(({ other }) => deliver(other)));
  await until(() => started.length === 20);
  await begin('second');
  for (const { batchExport } of tenants) await context.table.write(paused(`of-${batchExport}`, batchExport));
  await tick(context);
  await until(() => began() === 8);
  expect(started.filter((step) => step === 'send-interval')).toHaveLength(16);
  end();
});

test('a run whose delivery waits for a place says so after a minute, in its log', async () => {
  const { context, engine, time, begun, end } = holdingWorld('send-interval', 5);
  const { batchExport } = await tenantOf(context, 'slow');
  const runs = ['a', 'b', 'c', 'd', 'e'];
  await keepInput(context, { attempt: 'x-1', runs } as unknown as BatchInput);
  const open = { batch_export: batchExport, status: 'Starting', attempt: 'x-1', execution: 'first' };
  await context.table.write(runs.map((id) => ({ put: { ...keys.run(batchExport, id), ...open, id } as RunItem })));
  await context.workflow.start('export-run', 'first', { export: batchExport, trigger: 'schedule' });
  await until(() => begun.length === 4);
  const said = async () => {
    const { lines } = await readLines(context.table, batchExport, logsAsked(context, {}, { limit: 10, offset: 0 }));
    return lines.filter(({ message }) => message.includes('waits for a place')).map(({ instance }) => instance);
  };
  expect(time.ring(START + MINUTE_MS - 1)).toBe(false);
  expect(time.ring(START + MINUTE_MS)).toBe(true);
  end();
  await engine.idle();
  expect(await said()).toEqual(['e']);
});
