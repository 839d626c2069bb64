import { DAY_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { type JobItem, jobOps } from '../../../lib/jobs/job.ts';
import { TICK_MS, tick } from '../../../lib/jobs/tick.ts';
import type { Context } from '../../../lib/ports/context.ts';
import { Transient } from '../../../lib/ports/errors.ts';
import { keys, ranges } from '../../../lib/ports/table/keys.ts';
import { listAll } from '../../../lib/ports/table/list-all.ts';
import { START, testContext } from '../../support/context.ts';
import { never } from '../../support/engine-world.ts';
import { tableWith } from '../../support/table-override.ts';

const jobOf = async ({ table }: Context, kind: string, id: string) => table.get(keys.job(kind, id));

const NOTICE = { export: 'e1', type: 'paused', subject: 'e1', range: null, reason: 'x', at: START } as const;

test('starts what is due, each kind as its machine, and nothing that is not', async () => {
  const context = testContext();
  const { table, workflow } = context;
  const minute = START / MINUTE_MS;
  await table.write([
    ...jobOps('export', 'e1', START),
    ...jobOps('export', 'e2', START + 1),
    ...jobOps('backfill', 'b1', START - 5, { export: 'e1' }),
    ...jobOps('retry', 'r1', START - 4, { export: 'e1' }),
    ...jobOps('purge', 'o1', START - 3, { kind: 'organization' }),
    ...jobOps('notice', 'n1', START - 2, NOTICE),
  ]);
  expect(await tick(context)).toEqual({ started: 5, oldest: START - 5 });
  expect(workflow.started).toEqual([
    { machine: 'backfill', name: 'b1', input: { export: 'e1', backfill: 'b1' } },
    { machine: 'export-run', name: `r1-${minute}`, input: { export: 'e1', trigger: { retry: 'r1' } } },
    { machine: 'purge', name: `o1-${minute}`, input: { kind: 'organization', id: 'o1' } },
    { machine: 'notice', name: `n1-${minute}`, input: { export: 'e1', notice: 'n1', attempt: 1 } },
    { machine: 'export-run', name: `e1-${minute}`, input: { export: 'e1', trigger: 'schedule' } },
  ]);
  expect(await tick(context)).toEqual({ started: 0, oldest: null });
});

test('two ticks at once start a job once', async () => {
  const context = testContext();
  await context.table.write(Array.from({ length: 90 }, (_, n) => jobOps('export', `e${n}`, START)).flat());
  const ticks = await Promise.all([tick(context), tick(context), tick(context)]);
  expect(ticks.reduce((sum, { started }) => sum + started, 0)).toBe(90);
  expect(context.workflow.started).toHaveLength(90);
});

test('a job that stays comes back after 1, 2, 4 ... 60 minutes; after ten times it rests a day, and an operator reads of it', async () => {
  const context = testContext();
  const { table, clock, lines } = context;
  await table.write(jobOps('export', 'e1', START));
  const waits: number[] = [];
  for (let n = 0; n < 11; n++) {
    await tick(context);
    const { due } = (await jobOf(context, 'export', 'e1')) as JobItem;
    waits.push((due - clock()) / MINUTE_MS);
    clock.set(due);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, DAY_MS / MINUTE_MS]);
  expect(context.workflow.started).toHaveLength(10);
  expect(lines.filter(({ level }) => level === 'ERROR')).toMatchObject([{ fields: { job: 'export', id: 'e1' } }]);
  await tick(context);
  expect(context.workflow.started).toHaveLength(11);
});

test('a notice is never parked: it comes back each hour until it ends itself', async () => {
  const context = testContext();
  const { table, clock, lines } = context;
  await table.write(jobOps('notice', 'n1', START, NOTICE));
  for (let n = 0; n < 30; n++) {
    await tick(context);
    clock.set(((await jobOf(context, 'notice', 'n1')) as JobItem).due);
  }
  expect(context.workflow.started).toHaveLength(30);
  expect(clock() - START).toBeGreaterThan(DAY_MS);
  expect(lines.filter(({ level }) => level === 'ERROR')).toEqual([]);
});

test('a start that fails is made up for, and does not keep the others from starting', async () => {
  const context = testContext();
  const { workflow, clock } = context;
  let isDown = true;
  const flaky: Context = {
    ...context,
    workflow: {
      ...workflow,
      start: async (machine, name, input) => {
        if (isDown && name.startsWith('e1')) throw new Error('throttled');
        await workflow.start(machine, name, input);
      },
    },
  };
  await context.table.write([...jobOps('export', 'e1', START), ...jobOps('export', 'e2', START)]);
  expect(await tick(flaky)).toMatchObject({ started: 1 });
  isDown = false;
  clock.advance(MINUTE_MS);
  expect(await tick(flaky)).toMatchObject({ started: 2 });
});

test('a start that fails is no attempt: after hours of it the job is still due as it was, and starts at once', async () => {
  const context = testContext();
  const { workflow, clock, lines } = context;
  let isDown = true;
  const saturated: Context = {
    ...context,
    workflow: {
      ...workflow,
      start: async (...execution) => {
        if (isDown) throw new Transient('Rate exceeded');
        await workflow.start(...execution);
      },
    },
  };
  await context.table.write(jobOps('export', 'e1', START));
  for (let minute = 0; minute < 300; minute++) {
    expect(await tick(saturated)).toEqual({ started: 0, oldest: START });
    clock.advance(MINUTE_MS);
  }
  expect(await jobOf(context, 'export', 'e1')).toMatchObject({ due: START, attempts: 0 });
  expect(lines.filter(({ level }) => level === 'ERROR')).toEqual([]);
  isDown = false;
  expect(await tick(saturated)).toMatchObject({ started: 1 });
});

test('a full disk ends the tick, which says so once, however many jobs are due; each is started when there is room', async () => {
  const context = testContext();
  const { table, lines, workflow } = context;
  await table.write(Array.from({ length: 50 }, (_, n) => jobOps('export', `e${n}`, START)).flat());
  let isFull = true;
  let writes = 0;
  const filling = tableWith(table, {
    write: (...written) => {
      writes += 1;
      if (!isFull) return table.write(...written);
      return Promise.reject(
        Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 }),
      );
    },
  });
  await expect(tick({ ...context, table: filling })).rejects.toThrow(
    'The disk of the service is full: space must be freed there.',
  );
  expect(lines.filter(({ level }) => level === 'WARNING' || level === 'ERROR')).toEqual([]);
  expect(writes).toBeLessThanOrEqual(20);
  isFull = false;
  expect(await tick({ ...context, table: filling })).toEqual({ started: 50, oldest: START });
  expect(workflow.started).toHaveLength(50);
});

test('a job that changes while its start fails stays as it was changed', async () => {
  const context = testContext();
  const { table, workflow } = context;
  await table.write(jobOps('export', 'e1', START));
  const start = async (): Promise<never> => {
    await table.write(jobOps('export', 'e1', START + DAY_MS));
    throw new Transient('no answer');
  };
  expect(await tick({ ...context, workflow: { ...workflow, start } })).toMatchObject({ started: 0 });
  expect(await jobOf(context, 'export', 'e1')).toMatchObject({ due: START + DAY_MS, attempts: 0 });
});

test('a tick ends itself in time, and leaves the rest as it is to the next one', async () => {
  const context = testContext();
  const { table, workflow, clock } = context;
  await table.write(Array.from({ length: 90 }, (_, n) => jobOps('export', `e${n}`, START)).flat());
  const start: typeof workflow.start = async (...execution) => {
    await workflow.start(...execution);
    clock.advance(TICK_MS / 30);
  };
  const { started } = await tick({ ...context, workflow: { ...workflow, start } });
  // Those that were under way at its end are started too.
  expect(started).toBeGreaterThanOrEqual(30);
  expect(started).toBeLessThanOrEqual(50);
  const left = await listAll(table, ranges.dueJobs(START));
  expect(left).toHaveLength(90 - started);
  expect(await tick(context)).toMatchObject({ oldest: START });
  expect(new Set(workflow.started.map(({ input }) => JSON.stringify(input))).size).toBe(90);
});

test('the wait of the oldest due job is recorded though the tick dies over what it starts', async () => {
  const context = testContext();
  const { table, workflow, lines } = context;
  await table.write(jobOps('export', 'e1', START - 90_000));
  const started = Promise.withResolvers<void>();
  const start = (): Promise<never> => (started.resolve(), never());
  void tick({ ...context, workflow: { ...workflow, start } });
  await started.promise;
  expect(lines).toContainEqual(expect.objectContaining({ fields: { OldestDueJob: 90 } }));
});

test('a job that is removed or replaced after it was read is not started by the old reading', async () => {
  const context = testContext();
  const { table } = context;
  await table.write(jobOps('export', 'e1', START));
  const replacing: Context = {
    ...context,
    table: tableWith(table, {
      many: async (all) => {
        const found = await table.many(all);
        await table.write(jobOps('export', 'e1', START + MINUTE_MS));
        return found;
      },
    }),
  };
  expect(await tick(replacing)).toMatchObject({ started: 0 });
  expect(await jobOf(context, 'export', 'e1')).toMatchObject({ due: START + MINUTE_MS, attempts: 0 });
  await table.write(jobOps('export', 'e1', null));
  expect((await table.list(ranges.dueJobs(START + DAY_MS), { limit: 1 })).items).toEqual([]);
});

test('each tick measures how long the oldest due job has waited, and counts those that are parked', async () => {
  const context = testContext();
  const { table, clock, lines } = context;
  const measured = () =>
    lines
      .splice(0)
      .filter(({ message }) => message === 'measured')
      .map(({ fields }) => fields);
  await table.write(jobOps('export', 'e1', START - 90_000));
  await tick(context);
  expect(measured()).toEqual([{ OldestDueJob: 90 }]);
  for (let n = 0; n < 10; n++) {
    clock.set(((await jobOf(context, 'export', 'e1')) as JobItem).due);
    await tick(context);
  }
  expect(measured()).toEqual([{ job: 'export', id: 'e1', JobsParked: 1 }]);
});
