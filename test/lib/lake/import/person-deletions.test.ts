/** Persons whose deletion was asked for, where a job has it done: killed anywhere, cut, or asked for once more meanwhile. */
import { handler as deletePersons } from '../../../../functions/steps/delete-persons.ts';
import { personDeletions } from '../../../../infra/aws/runtime/ports/person-deletions.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../../lib/basics/units.ts';
import { aboutOf } from '../../../../lib/jobs/job.ts';
import { tick } from '../../../../lib/jobs/tick.ts';
import { allFiles } from '../../../../lib/lake/catalog.ts';
import { compact } from '../../../../lib/lake/compact.ts';
import { type Deletion, deleteNow } from '../../../../lib/lake/import/delete-person.ts';
import { personDeletionJob, recordDeletion } from '../../../../lib/lake/import/person-deletions.ts';
import { askedPersonRemoval, pooledPersonRemoval } from '../../../../lib/lake/import/person-removal.ts';
import { underLease } from '../../../../lib/lake/lease.ts';
import type { Model } from '../../../../lib/lake/schema.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import type { Op } from '../../../../lib/ports/table/table.ts';
import { inLake, personOf } from '../../../support/capture.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../../support/imports.ts';
import { tableWith } from '../../../support/table-override.ts';

type World = Awaited<ReturnType<typeof importContext>>;

/** Two days of arrival, each with an event of both and what they set. */
async function world(days = 2): Promise<World> {
  const context = await importContext();
  for (let day = 1; day <= days; day += 1) {
    const events = ['ada', 'bob'].map((distinct_id) => ({
      event: 'clicked',
      distinct_id,
      timestamp: new Date(context.clock()).toISOString(),
      properties: { $set: { [`day${day}`]: distinct_id } },
    }));
    const lines = events.map((event) => JSON.stringify(event)).join('\n');
    await run(context, fileIn(context, `${day}.jsonl`, lines), { arrived: 'now' });
    context.clock.advance(DAY_MS);
  }
  return context;
}

const ask = async (context: Context, distinctId = 'ada', withEvents = true) => {
  const person = await personOf(context, PROJECT, distinctId);
  return askedPersonRemoval(context).remove({ projectId: PROJECT, persons: [{ distinctId, person, withEvents }] }, 'o');
};
/** Imports an event of ada that comes now. */
const comes = async (context: World, about: object) => {
  const event = { event: 'back', distinct_id: 'ada', timestamp: new Date(context.clock()).toISOString(), ...about };
  await run(context, fileIn(context, `${context.clock()}.jsonl`, JSON.stringify(event)), { arrived: 'now' });
};
const walk = (context: Context) =>
  deletePersons({ ...context, personDeletions: personDeletions(context) })({ project: PROJECT, execution: 'e' });
const whole = async (context: Context): Promise<void> => {
  for (let walks = 0; ((await walk(context)) as { do: string }).do === 'more'; walks += 1)
    expect(walks).toBeLessThan(99);
};
/** A world in which a walk begins nothing else after a file of events, and which tells of each such file. */
const slowOf = (context: World, onRead: (path: string) => void): World => ({
  ...context,
  lake: {
    ...context.lake,
    local: async (paths, folder) => {
      const ofEvents = paths.filter((path) => path.startsWith('events/'));
      ofEvents.forEach(onRead);
      if (ofEvents.length > 0) context.clock.advance(11 * MINUTE_MS);
      return context.lake.local(paths, folder);
    },
  },
});
const job = ({ table }: Context) => table.get(keys.job('deletion', personDeletionJob(PROJECT)));
const asked = ({ table }: Context) => listAll(table, ranges.personDeletions(PROJECT));
/** The values of an expression over the lake's rows, in order. */
const inOrder = async (context: World, expression: string, model?: Model): Promise<string[]> =>
  (await inLake(context, PROJECT, expression, model)).map(String).toSorted((a, b) => (a < b ? -1 : 1));
const eventsOf = (context: World) => inOrder(context, 'distinct_id');
const known = async (context: World) => [
  ...new Set(await inOrder(context, "distinct_id || ' ' || properties", 'persons')),
];
const deleted = async (context: World) =>
  (await inOrder(context, "CASE WHEN is_deleted THEN distinct_id ELSE '' END", 'persons')).filter((id) => id !== '');

test('killed before any change and begun again by its job, it is done, and nothing is left of it', async () => {
  let deaths = 0;
  for (let isOver = false; !isOver; deaths += 1) {
    const context = await world(1);
    const { dying, hasDied } = killableContext(context, deaths + 1);
    const isAsked = await ask(dying).then(
      () => true,
      () => false,
    );
    if (isAsked) await whole(dying).catch(() => {});
    isOver = !hasDied();
    // Asked for and not done: its job is there. Else whoever asked knows that it may not be, and asks again.
    expect((await asked(context)).length > 0 && (await job(context)) === undefined).toBe(false);
    context.clock.advance(2 * MINUTE_MS);
    if (!isAsked || deaths % 2 === 0) await ask(context);
    await whole(context);
    expect(await eventsOf(context)).toEqual(['bob']);
    expect(await known(context)).toEqual(['ada {}', 'bob {"day1":"bob"}']);
    expect(await deleted(context)).toContain('ada');
    expect([await asked(context), await job(context)]).toEqual([[], undefined]);
  }
  expect(deaths).toBeGreaterThan(15);
});

test('a request that is killed before any change, and is not repeated, is finished by the job once it is recorded', async () => {
  const entry = keys.activity('o', 0, 'told');
  const told: Op = { put: { ...entry, activity: 'deleted' }, if: 'absent' };
  let deaths = 0;
  for (let isOver = false; !isOver; deaths += 1) {
    const context = await world(1);
    const { dying, hasDied } = killableContext(context, deaths + 1);
    const pool = { run: ({ input }: { input: unknown }) => deleteNow(dying, input as Deletion) };
    const person = await personOf(context, PROJECT, 'ada');
    const asks = { projectId: PROJECT, persons: [{ distinctId: 'ada', person, withEvents: true, telling: [told] }] };
    await pooledPersonRemoval(pool, dying)
      .remove(asks, 'o')
      .catch(() => {});
    isOver = !hasDied();
    // The first change is the record.
    expect((await asked(context)).length).toBe(deaths === 0 || isOver ? 0 : 1);
    if (deaths === 0) continue;
    context.clock.advance(6 * MINUTE_MS);
    await tick(context);
    expect(context.workflow.started.map(({ machine }) => machine)).toContain('deletion');
    await whole(context);
    expect([await asked(context), await job(context)]).toEqual([[], undefined]);
    expect(await eventsOf(context)).toEqual(['bob']);
    expect(await deleted(context)).toContain('ada');
    expect(await context.table.get(entry)).toBeDefined();
  }
  expect(deaths).toBeGreaterThan(15);
});

test('a deletion that is done once more after a later one of the same person brings nothing back that the later one took', async () => {
  const context = await world(1);
  const person = await personOf(context, PROJECT, 'ada');
  const first = { projectId: PROJECT, persons: [{ distinctId: 'ada', person, withEvents: true }] };
  // Its process dies before it takes the record away.
  await recordDeletion(context, first);
  await deleteNow(context, first);
  context.clock.advance(MINUTE_MS);
  const between = { uuid: '0190a1b2-0000-7000-8000-000000000001', timestamp: new Date(context.clock()).toISOString() };
  await comes(context, between);
  context.clock.advance(MINUTE_MS);
  await deleteNow(context, { projectId: PROJECT, persons: [{ distinctId: 'ada', person: null, withEvents: true }] });
  const later = await listAll(context.table, ranges.forgotten(PROJECT));
  context.clock.advance(MINUTE_MS);
  await comes(context, {});
  context.clock.advance(4 * MINUTE_MS);
  await whole(context);
  expect(await asked(context)).toEqual([]);
  expect(await listAll(context.table, ranges.forgotten(PROJECT))).toEqual(later);
  await comes(context, between);
  // What has come after both is there yet.
  expect(await eventsOf(context)).toEqual(['ada', 'bob']);
});

test('a walk that is cut goes on where it was, file by file, and who is asked for meanwhile goes too', async () => {
  const context = await world(4);
  await ask(context);
  const read: string[] = [];
  const slow = slowOf(context, (path) => read.push(path));
  const files = (await allFiles(context.table, PROJECT, 'events')).length;
  expect(files).toBe(4);
  expect(await walk(slow)).toEqual({ do: 'more' });
  expect(await walk(slow)).toEqual({ do: 'more' });
  const [one] = await asked(context);
  expect(one?.place).toContain('FILE#events#');
  expect(await eventsOf(context)).toEqual(['ada', 'ada', 'bob', 'bob', 'bob', 'bob']);
  await ask(context, 'bob');
  // What is joined meanwhile has rows of both; the place holds.
  expect(await compact(context, PROJECT)).toMatchObject({ isCut: false });
  await whole(slow);
  expect(await eventsOf(context)).toEqual([]);
  expect(await deleted(context)).toEqual(['ada', 'bob']);
  expect(read.length).toBeLessThan(4 * files);
});

test('deletions that are asked for before each walk do not keep the one before them from its end', async () => {
  const context = await world(4);
  const slow = slowOf(context, () => {});
  await ask(context);
  for (let walks = 0; walks < 5; walks += 1) {
    await ask(context, `eve-${walks}`);
    await walk(slow);
  }
  expect(await deleted(context)).toEqual(['ada']);
  expect(await eventsOf(context)).toEqual(['bob', 'bob', 'bob', 'bob']);
  // And they do not wait for good either.
  expect((await asked(context)).length).toBeLessThan(6);
  await whole(slow);
  expect(await asked(context)).toEqual([]);
});

test('nobody waits for the removal of answers that were kept, and those that were asked for since are not removed', async () => {
  const context = await world(1);
  const kept = { at: 0, body: 'x' };
  await context.table.write([{ put: { ...keys.answer(PROJECT, 0, 'before'), ...kept } }]);
  const person = await personOf(context, PROJECT, 'ada');
  const held: boolean[] = [];
  const table = tableWith(context.table, {
    list: async (range, page) => {
      if (range.partition === ranges.answersOf(PROJECT).partition) {
        held.push((await context.table.get(keys.lease(PROJECT))) !== undefined);
        const { answers_forgotten: forgotten = 0 } = (await context.table.get(keys.project(PROJECT))) ?? {};
        await context.table.write([{ put: { ...keys.answer(PROJECT, forgotten, 'since'), ...kept } }]);
      }
      return context.table.list(range, page);
    },
  });
  await deleteNow({ ...context, table }, { projectId: PROJECT, persons: [{ distinctId: 'ada', person }] });
  expect(held).toEqual([false]);
  expect((await listAll(context.table, ranges.answersOf(PROJECT))).map(({ sk }) => sk)).toEqual(['ANSWER#2#since']);
});

test('nobody waits for its files, and what comes after it was asked for stays', async () => {
  const context = await world();
  await ask(context);
  context.clock.advance(SECOND_MS);
  let comes = 0;
  const meanwhile = {
    ...context,
    lake: {
      ...context.lake,
      local: async (paths: readonly string[], folder: string) => {
        if (comes === 0 && paths.some((path) => path.startsWith('events/'))) {
          comes += 1;
          await underLease(context, PROJECT, async () => {}, { purpose: 'landing' });
          const event = { event: 'back', distinct_id: 'ada', timestamp: new Date(context.clock()).toISOString() };
          const lines = JSON.stringify({ ...event, properties: { $set: { later: true } } });
          await run(context, fileIn(context, 'later.jsonl', lines), { arrived: 'now' });
        }
        return context.lake.local(paths, folder);
      },
    },
  };
  await whole(meanwhile);
  expect(comes).toBe(1);
  expect(await eventsOf(context)).toEqual(['ada', 'bob', 'bob']);
  expect(await known(context)).toEqual(['ada {}', 'bob {"day1":"bob","day2":"bob"}', 'bob {"day1":"bob"}']);
});

test.each([{ withEvents: false }, { withEvents: true }])(
  'who has taken over a person who was asked to be deleted keeps what is known of them: with events $withEvents',
  async ({ withEvents }) => {
    const context = await world(1);
    await comes(context, { distinct_id: 'visitor', properties: { $set: { seen: 'home' } } });
    await ask(context, 'visitor', withEvents);
    context.clock.advance(SECOND_MS);
    await comes(context, { event: '$identify', properties: { $anon_distinct_id: 'visitor' } });
    const states = () => inOrder(context, "distinct_id || ' ' || properties", 'persons');
    const before = await states();
    await whole(context);
    expect(await deleted(context)).toEqual([]);
    // Of the visitor's own states nothing is left; the state that is ada's is hers.
    const blank = (state: string) => (withEvents && state === 'visitor {"seen":"home"}' ? 'visitor {}' : state);
    expect(await states()).toEqual(before.map(blank).toSorted());
    expect(await states()).toContain('visitor {"seen":"home","day1":"ada"}');
    context.clock.advance(10 * MINUTE_MS);
    await comes(context, { distinct_id: 'visitor', properties: { $set: { later: true } } });
    for (const distinctId of ['ada', 'visitor'])
      expect(await states()).toContain(`${distinctId} {"seen":"home","day1":"ada","later":true}`);
  },
);

test.each([{ withEvents: false }, { withEvents: true }])(
  'a deletion that is done again, as after a death before it was forgotten, spares who was made anew since: with events $withEvents',
  async ({ withEvents }) => {
    const context = await world(1);
    await ask(context, 'ada', withEvents);
    const [item] = await asked(context);
    await whole(context);
    context.clock.advance(SECOND_MS);
    await comes(context, { properties: { $set: { later: true } } });
    if (item === undefined) throw new Error('nothing was asked');
    await context.table.write([{ put: item }]);
    expect(await personDeletions(context).walk(PROJECT)).toBe(true);
    expect(await deleted(context)).toEqual(['ada']);
    expect(await known(context)).toContain('ada {"later":true}');
    // And who is asked to be deleted once more is.
    await ask(context, 'ada', false);
    await whole(context);
    expect(await deleted(context)).toEqual(['ada', 'ada']);
  },
);

test('the job is told of each who is asked for, and ends only when none was since it looked', async () => {
  const context = await world(1);
  await ask(context, 'ada', false);
  const first = await job(context);
  expect(first).toMatchObject({ due: context.clock(), attempts: 0 });
  await ask(context, 'bob', false);
  const second = await job(context);
  if (first === undefined || second === undefined) throw new Error('no job');
  expect(second.due).toBe(first.due);
  expect(aboutOf('deletion', second).asked).not.toBe(aboutOf('deletion', first).asked);
  let isLate = true;
  const late = {
    walk: async (project: number) => {
      const more = await personDeletions(context).walk(project);
      if (!more && isLate) await ask(context, 'eve', false);
      isLate = isLate && more;
      return more;
    },
  };
  const step = deletePersons({ ...context, personDeletions: late });
  expect(await step({ project: PROJECT, execution: 'e' })).toEqual({ do: 'more' });
  expect(await step({ project: PROJECT, execution: 'e' })).toEqual({ do: 'more' });
  expect((await asked(context)).map(({ distinctId }) => distinctId)).toEqual(['eve']);
  expect(await step({ project: PROJECT, execution: 'e' })).toEqual({ do: 'more' });
  expect(await step({ project: PROJECT, execution: 'e' })).toEqual({ do: 'nothing' });
  expect(await job(context)).toBeUndefined();
  expect(await deleted(context)).toEqual(['ada', 'bob']);
  expect(await eventsOf(context)).toEqual(['ada', 'bob']);
});

test('a person with more distinct_ids than one item of the table could name goes with all events', async () => {
  const context = await world(1);
  // Merges give a person a thousand; a source that says whose an event is may tell of more.
  const person_id = '01940000-0000-7000-8000-0000000000aa';
  const lines = Array.from({ length: 6_001 }, (_, n) => {
    const timestamp = new Date(context.clock() + n).toISOString();
    const distinct_id = n === 0 ? 'many' : `many-${n}`;
    return JSON.stringify({
      event: 'clicked',
      distinct_id,
      person_id,
      timestamp,
      properties: { $set: { many: true } },
    });
  });
  await run(context, fileIn(context, 'many.jsonl', lines.join('\n')), { arrived: 'now' });
  context.clock.advance(SECOND_MS);
  await ask(context, 'many');
  await whole(context);
  expect(await eventsOf(context)).toEqual(['ada', 'bob']);
  expect(await deleted(context)).toHaveLength(6_001);
  expect([await asked(context), await job(context)]).toEqual([[], undefined]);
});

test('a project that is gone has nobody deleted any more', async () => {
  const context = await world(1);
  await ask(context);
  await context.table.write([{ change: keys.project(PROJECT), set: { deleted_at: 1 } }]);
  expect(await walk(context)).toEqual({ do: 'nothing' });
  expect(await job(context)).toBeUndefined();
});

test('one that an earlier version recorded, in which it is not said who was found, is told of, and in the way of no other', async () => {
  const context = await world(1);
  const old = { ...keys.personDeletion(PROJECT, '0'), distinctId: 'bob', at: 1, sha256s: '[]', place: null };
  await context.table.write([{ put: old }]);
  await ask(context);
  await whole(context);
  expect(await eventsOf(context)).toEqual(['bob']);
  expect(await listAll(context.table, ranges.personDeletions(PROJECT))).toEqual([old]);
  const told = context.lines.filter(({ level }) => level === 'ERROR');
  const message = expect.stringMatching(/cannot be done: ask for it again/) as string;
  expect(told[0]).toMatchObject({ message, fields: { lake: old.pk, deletion: old.sk } });
  expect(await job(context)).toBeUndefined();
});
