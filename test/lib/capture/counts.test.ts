import { dayOf, hourOf } from '../../../lib/basics/days.ts';
import { DAY_MS, SECOND_MS } from '../../../lib/basics/units.ts';
import { CaptureCounts } from '../../../lib/capture/counts.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { Busy } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { testService } from '../../support/service.ts';
import { watchWrites } from '../../support/table-override.ts';

test('counts are flushed every ten seconds, and at once when the clock is set back', async () => {
  const context = testContext();
  const { clock, table } = context;
  const { project } = await testService(context);
  const counts = new CaptureCounts(context);
  const accepted = async () =>
    (await table.get(keys.captureCounts(project.id, new Date(clock()).toISOString().slice(0, 10))))?.['accepted'];
  const count = async () => {
    counts.add(project.id, { accepted: 1 });
    await counts.flushIfDue();
    return accepted();
  };
  clock.advance(10 * SECOND_MS);
  expect(await count()).toBe(1);
  clock.advance(9 * SECOND_MS);
  expect(await count()).toBe(1);
  clock.set(clock() - DAY_MS);
  expect(await count()).toBe(1);
});

test('a flush ends though requests keep being accepted', async () => {
  const context = testContext();
  const { table } = context;
  const { project } = await testService(context);
  let writes = 0;
  const counts: CaptureCounts = new CaptureCounts({
    ...context,
    table: {
      ...table,
      many: (wanted) => table.many(wanted),
      write: async (ops) => {
        writes += 1;
        if (writes < 100) counts.add(project.id, { accepted: 1 });
        return table.write(ops);
      },
    },
  });
  counts.add(project.id, { accepted: 1 });
  await counts.flush();
  expect(writes).toBe(1);
  await counts.flush();
  expect(
    await table.get(keys.captureCounts(project.id, new Date(context.clock()).toISOString().slice(0, 10))),
  ).toMatchObject({ accepted: 2 });
});

test('what a quota asks is read as counts are, by the one way in which AWS lets the function of captures read them', async () => {
  const context = testContext();
  const { table } = context;
  const { project } = await testService(context);
  const before = new CaptureCounts(context);
  before.add(project.id, { accepted: 2 });
  await before.flush();
  const get = () => Promise.reject(new Error('GetItem of W#* is not allowed'));
  const counts = new CaptureCounts({ ...context, table: { ...table, get, many: (wanted) => table.many(wanted) } });
  expect(await counts.acceptedToday(project.id)).toBe(2);
});

test('a flush that fails loses no count, of the day, of its minutes, or of what was refused', async () => {
  const context = testContext();
  const { table, clock } = context;
  const { project } = await testService(context);
  let isDown = true;
  const watched = watchWrites(table, () => {
    if (isDown) throw new Busy('the table is busy');
  });
  const counts = new CaptureCounts({ ...context, table: watched });
  const refuse = (event: string) =>
    counts.refuse(project.id, { event_too_big: { events: 1, sample: { event, distinctId: 'x' } } });
  counts.add(project.id, { accepted: 2, landed: 1, delayMs: 700 });
  refuse('first');
  await expect(counts.flush()).rejects.toThrow(Busy);
  counts.add(project.id, { accepted: 3, delayMs: 5 });
  isDown = false;
  await counts.flush();
  const day = dayOf(clock());
  const stored = await table.get(keys.captureCounts(project.id, day));
  expect(stored).toMatchObject({ accepted: 5, landed: 1, refused_event_too_big: 1 });
  expect(JSON.parse(String(stored?.['sample_event_too_big']))).toMatchObject({ event: 'first' });
  const minutes = await table.get(keys.captureMinutes(project.id, hourOf(clock())));
  expect(minutes).toMatchObject({ accepted_00: 5, landed_00: 1, refused_00: 1, delay_00: 700 });
});

test('of a long name of an event that was refused whole characters are shown', async () => {
  const context = testContext();
  const { project } = await testService(context);
  const counts = new CaptureCounts(context);
  const name = `a${'🦊'.repeat(150)}`;
  counts.refuse(project.id, { event_too_big: { events: 1, sample: { event: name, distinctId: name } } });
  await counts.flush();
  const item = await context.table.get(keys.captureCounts(project.id, dayOf(context.clock())));
  const shown = `a${'🦊'.repeat(99)}`;
  expect(JSON.parse(String(item?.['sample_event_too_big']))).toMatchObject({ event: shown, distinct_id: shown });
});
