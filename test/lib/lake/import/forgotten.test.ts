/** A person who is deleted with their events, killed anywhere: they are gone in the end, and nobody else with them. */
import { join } from 'node:path';
import { DAY_MS, MINUTE_MS } from '../../../../lib/basics/units.ts';
import { land } from '../../../../lib/capture/land.ts';
import { allFiles } from '../../../../lib/lake/catalog.ts';
import { compact } from '../../../../lib/lake/compact.ts';
import { deleteNow } from '../../../../lib/lake/import/delete-person.ts';
import { forgottenOf } from '../../../../lib/lake/import/forgotten.ts';
import { RETIRED_MS, removeRetired } from '../../../../lib/lake/replace.ts';
import { MODELS } from '../../../../lib/lake/schema.ts';
import { folderInbox } from '../../../../lib/ports/inbox/folder.ts';
import { keys } from '../../../../lib/ports/table/keys.ts';
import type { Op } from '../../../../lib/ports/table/table.ts';
import { inLake, personOf } from '../../../support/capture.ts';
import { fileIn, importContext, killableContext, PROJECT, run } from '../../../support/imports.ts';
import { tableWith } from '../../../support/table-override.ts';

type Context = Awaited<ReturnType<typeof importContext>>;

const THEIRS = ['ada', 'anonymous-ada'];
const adaIn = async (context: Context) => {
  const person = await personOf(context, PROJECT, 'ada');
  return { projectId: PROJECT, persons: [{ distinctId: 'ada', person, withEvents: true }] };
};
/** After so long the lease of whoever died is over. */
const LEASE_OVER_MS = 2 * MINUTE_MS;

/** An event that is the same in each world. */
const eventOf = (n: number, distinct_id: string, properties: object, event = 'clicked') => ({
  uuid: `01940000-0000-7000-8000-00000000000${n}`,
  event,
  distinct_id,
  timestamp: `2025-12-0${n}T08:00:00Z`,
  properties,
});

/** Imported events of days that have both, theirs alone and others' alone; and one more of each in the inbox. */
const IMPORTED = [
  eventOf(1, 'anonymous-ada', { $set: { seen: true } }),
  { ...eventOf(2, 'bob', { $set: { plan: 'free' } }), timestamp: '2025-12-01T09:00:00Z' },
  eventOf(3, 'ada', { $anon_distinct_id: 'anonymous-ada', $set: { email: 'ada@example.com' } }, '$identify'),
  eventOf(4, 'bob', { $set: { plan: 'pro' } }),
];
const CAPTURED = [eventOf(5, 'ada', { $set: { city: 'London' } }), eventOf(6, 'bob', {})];

const linesOf = (events: readonly object[]): string => events.map((event) => JSON.stringify(event)).join('\n');

async function world() {
  const context = await importContext();
  const file = fileIn(context, 'events.jsonl', linesOf(IMPORTED));
  await run(context, file);
  const inbox = await folderInbox(join(context.folder, 'inbox'));
  await inbox.append({
    id: 'r',
    projectId: PROJECT,
    receivedAt: context.clock(),
    path: '/batch/',
    query: {},
    address: null,
    body: Buffer.from(JSON.stringify({ api_key: 'phc_ours', batch: CAPTURED })),
  });
  const segments = (await inbox.segments()).map(({ name }) => ({ name, landed: [] }));
  await inbox.close();
  context.clock.advance(MINUTE_MS);
  return { context, file, land: () => land({ ...context, inbox }, segments) };
}

/** Returns whole rows of others, and what the lake holds of them: each event, and what it knows of their persons. */
async function lakeOf(context: Context) {
  const isTheirs = `distinct_id IN (${THEIRS.map((name) => `'${name}'`).join(', ')})`;
  const events = `CASE WHEN ${isTheirs} THEN 'theirs ' ELSE '' END || row(*COLUMNS(*))::VARCHAR`;
  const persons = `CASE WHEN ${isTheirs} THEN 'theirs ' || properties ELSE row(*COLUMNS(*))::VARCHAR END`;
  const rows = [...(await inLake(context, PROJECT, events)), ...(await inLake(context, PROJECT, persons, 'persons'))];
  const [theirs, others] = [true, false].map((wanted) =>
    rows.filter((row) => String(row).startsWith('theirs ') === wanted),
  );
  return { theirs: [...new Set(theirs)], others };
}

/** Changes are shared among so many tests, each of which is done well within its limit of time. */
const SHARES = 3;

test.each(Array.from({ length: SHARES }, (_, share) => share + 1))(
  'killed before any change of share %d and begun again, they are gone and nothing else is',
  async (first) => {
    const whole = await world();
    whole.context.clock.advance(LEASE_OVER_MS);
    await whole.land();
    const { theirs, others } = await lakeOf(whole.context);
    expect([theirs.length, others?.length]).toEqual([6, 5]);

    let change = first;
    for (let isOver = false; !isOver; change += SHARES) {
      const { context, file, land } = await world();
      const { dying, hasDied } = killableContext(context, change);
      await deleteNow(dying as Context, await adaIn(context)).catch(() => {});
      isOver = !hasDied();
      // Whoever asks again finds the person by their id, as long as something of them is left.
      const isDeleted = "arg_max(is_deleted, person_version) FILTER (distinct_id = 'ada')";
      const [isGone] = await inLake(context, PROJECT, isDeleted, 'persons');
      const left = isGone === true ? (await lakeOf(context)).theirs : ['theirs {}'];
      expect(left).toEqual(['theirs {}']);
      context.clock.advance(LEASE_OVER_MS);
      // What has come meanwhile lands, and files are joined.
      await land();
      await compact(context, PROJECT);
      await deleteNow(context, await adaIn(context));
      // Nor does what happened before come back: from an inbox that was landed, or from the file.
      await land();
      expect(await run(context, file)).toMatchObject({ added: 0 });
      expect(await lakeOf(context)).toEqual({ theirs: ['theirs {}'], others });

      context.clock.advance(RETIRED_MS);
      await removeRetired(context, PROJECT);
      const listed = await Promise.all(MODELS.map((model) => allFiles(context.table, PROJECT, model)));
      const paths: string[] = [];
      for await (const { path } of context.lake.list('')) paths.push(path);
      expect(paths.toSorted()).toEqual(
        listed
          .flat()
          .map(({ path }) => path)
          .toSorted(),
      );
    }
    // At the last one nobody died.
    expect(change - SHARES).toBeGreaterThan(15);
  },
);

test('a state of the person that another place knew before does not come back, and a later one does', async () => {
  const { context } = await world();
  await deleteNow(context, await adaIn(context));
  const state = (person_version: number, instant: number): string =>
    JSON.stringify({
      distinct_id: 'ada',
      person_id: '01940000-0000-7000-8000-0000000000aa',
      properties: { version: person_version },
      person_version,
      _inserted_at: new Date(instant).toISOString(),
    });
  const newest = "arg_max(properties, inserted_us) FILTER (distinct_id = 'ada')";
  context.clock.advance(MINUTE_MS);
  const before = fileIn(context, 'before.jsonl', state(1, context.clock() - MINUTE_MS));
  expect(await run(context, before)).toMatchObject({ known: 0, persons: { read: 1, rows: 0 } });
  expect(await inLake(context, PROJECT, newest, 'persons')).toEqual(['{}']);
  await run(context, fileIn(context, 'after.jsonl', state(2, context.clock())));
  expect(await inLake(context, PROJECT, newest, 'persons')).toEqual(['{"version":2}']);
});

test('what is joined meanwhile is looked at again', async () => {
  const context = await importContext();
  for (const [n, both] of [IMPORTED.slice(0, 2), IMPORTED.slice(2)].entries()) {
    context.clock.advance(MINUTE_MS);
    await run(context, fileIn(context, `${n}.jsonl`, linesOf(both)), { arrived: 'now' });
  }
  context.clock.advance(2 * DAY_MS);
  let isJoined = false;
  const lake = {
    ...context.lake,
    take: async (...values: Parameters<typeof context.lake.take>) => {
      await context.lake.take(...values);
      if (isJoined) return;
      isJoined = true;
      expect(await compact(context, PROJECT)).toMatchObject({ joined: 4 });
    },
  };
  await deleteNow({ ...context, lake }, await adaIn(context));
  expect(await inLake(context, PROJECT, 'distinct_id')).toEqual(['bob', 'bob']);
  expect((await lakeOf(context)).theirs).toEqual(['theirs {}']);
});

test('beside very many who are forgotten, which are not read, all others are taken, and what they did later', async () => {
  const context = await importContext();
  const now = context.clock();
  const marks = Array.from({ length: 10_000 }, (_, n): Op => {
    const { sha256, at } = forgottenOf(`gone-${n}`, now - DAY_MS);
    return { put: { ...keys.forgotten(PROJECT, sha256), sha256, at } };
  });
  await context.table.write(marks, { apart: true });
  const event = (distinct_id: string, ago: number) => ({
    event: 'seen',
    distinct_id,
    timestamp: new Date(now - ago).toISOString(),
  });
  const others = Array.from({ length: 5_000 }, (_, n) => event(`other-${n}`, 2 * DAY_MS));
  const theirs = [event('gone-7', 2 * DAY_MS), event('gone-9999', DAY_MS), event('gone-7', DAY_MS - 1)];
  let read = 0;
  const table = tableWith(context.table, {
    list: async (range, page) => {
      const listed = await context.table.list(range, page);
      read += listed.items.length;
      return listed;
    },
  });
  // Where each row is held against each of them, this takes a minute.
  const imported = await run({ ...context, table }, fileIn(context, 'all.jsonl', linesOf([...others, ...theirs])));
  expect(read).toBeLessThan(2_000);
  expect(imported).toMatchObject({ known: 2, forgotten: 2 });
  const kept = await inLake(context, PROJECT, 'distinct_id');
  expect(kept).toHaveLength(5_001);
  expect(kept).toContain('gone-7');
});
