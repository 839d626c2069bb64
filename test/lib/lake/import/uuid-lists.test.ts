/** Which events are known already, told by lists of uuids beside the files of the lake. */
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../../lib/basics/units.ts';
import { land } from '../../../../lib/capture/land.ts';
import { allFiles } from '../../../../lib/lake/catalog.ts';
import { compact } from '../../../../lib/lake/compact.ts';
import { UuidLists } from '../../../../lib/lake/import/uuid-lists.ts';
import type { CapturedRequest } from '../../../../lib/ports/inbox/inbox.ts';
import { inLake } from '../../../support/capture.ts';
import { START } from '../../../support/context.ts';
import { importContext, PROJECT } from '../../../support/imports.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

interface Sent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
}

async function world() {
  const context = await importContext();
  const folder = join(context.folder, 'uuids');
  const own = join(folder, String(PROJECT));
  let lists = new UuidLists(folder);
  return {
    context,
    own,
    /** Names of the lists that there are. */
    listed: () => readdirSync(own).toSorted(),
    /** All lists are lost. */
    lose: () => rmSync(folder, { recursive: true }),
    restart: () => void (lists = new UuidLists(folder)),
    /** Returns how many of the events were new. Throws why they could not land. */
    land: async (events: readonly Sent[]): Promise<number> => {
      const request: CapturedRequest = {
        id: 'one',
        projectId: PROJECT,
        receivedAt: context.clock(),
        path: '/batch/',
        query: {},
        address: null,
        body: Buffer.from(JSON.stringify({ api_key: 'phc_ours', batch: events })),
      };
      const inbox = { read: async () => ({ requests: [request], damaged: 0, unfinished: 0 }) };
      const { projects, failures } = await land({ ...context, inbox }, [{ name: 'one', landed: [] }], { lists });
      if (failures[0] !== undefined) throw new Error(failures[0].reason);
      return projects[0]?.landed ?? 0;
    },
  };
}

const known = ({ uuid, event, distinct_id }: Sent): string => `${uuid} ${event} ${distinct_id}`;

/** Few of each kind, so that they come again; those of version 7 lie hours apart by the time that they carry. */
const uuidOf = (n: number, version: 4 | 7): string =>
  version === 7
    ? `${(START - n * 3 * HOUR_MS)
        .toString(16)
        .padStart(12, '0')
        .replace(/^(.{8})/, '$1-')}-7000-8000-00000000000${n}`
    : `${n}${n}${n}d9f3a-1111-4222-8333-44444444${n}55${n}`;

const SENT = fc.record({
  uuid: fc.tuple(fc.nat(9), fc.constantFrom(4 as const, 7 as const)).map(([n, version]) => uuidOf(n, version)),
  event: fc.constantFrom('paid', 'viewed'),
  distinct_id: fc.constantFrom('ada', 'bob'),
  // Three days before is another event, of the same uuid.
  timestamp: fc.constantFrom(START - HOUR_MS, START - 3 * DAY_MS).map((at) => new Date(at).toISOString()),
});

const STEP = fc.oneof(
  { weight: 6, arbitrary: fc.array(SENT, { minLength: 1, maxLength: 12 }).map((events) => ({ events })) },
  { weight: 1, arbitrary: fc.constant({ does: 'compact' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ does: 'lose' as const }) },
);

/** So far apart that eight steps may be of several days of arrival, and less than two days in all. */
const APART_MS = 5 * HOUR_MS;

test('whatever comes again is known, over files, days, joined files and restarts, and nothing else is', async () => {
  const property = fc.asyncProperty(fc.array(STEP, { minLength: 3, maxLength: 8 }), async (steps) => {
    const { context, land: landed, lose, restart } = await world();
    const inLakeNow = new Set<string>();
    const counts: { readonly landed: number; readonly expected: number }[] = [];
    for (const step of steps) {
      context.clock.advance(APART_MS);
      if ('events' in step) {
        const before = inLakeNow.size;
        for (const sent of step.events) inLakeNow.add(`${known(sent)} ${sent.timestamp}`);
        counts.push({ landed: await landed(step.events), expected: inLakeNow.size - before });
      } else if (step.does === 'compact') {
        // As if each day were long over: so its files are joined however few they are.
        await compact({ ...context, clock: () => context.clock() + 3 * DAY_MS }, PROJECT);
      } else if (step.does === 'lose') {
        lose();
        restart();
      } else restart();
    }
    expect(counts.map((one) => one.landed)).toEqual(counts.map((one) => one.expected));
    const whole = "uuid || ' ' || event || ' ' || distinct_id || ' ' || (timestamp_us // 1000)";
    const expected = [...inLakeNow].map((text) => text.replace(/\S+$/, (timestamp) => String(Date.parse(timestamp))));
    expect(await inLake(context, PROJECT, whole)).toEqual(expected.toSorted());
  });
  await fc.assert(property, { numRuns: propertyRuns(5) });
});

const sent = (n: number, version: 4 | 7 = 4): Sent => ({
  uuid: uuidOf(n, version),
  event: 'paid',
  distinct_id: 'ada',
  timestamp: new Date(START).toISOString(),
});

test('a file is looked into only when it may hold an event of the landing', async () => {
  const { context, land: landed } = await world();
  await landed([sent(1), sent(1, 7)]);
  context.clock.advance(HOUR_MS);
  await landed([sent(2)]);
  const [first] = await allFiles(context.table, PROJECT, 'events');
  truncateSync(context.lake.address(first?.path ?? ''));
  context.clock.advance(HOUR_MS);
  expect(await landed([sent(2), sent(3), sent(3, 7)])).toBe(2);
  await expect(landed([sent(1)])).rejects.toThrow(/0 bytes/);
  await expect(landed([sent(1, 7)])).rejects.toThrow(/0 bytes/);
});

test('lists that are damaged are made anew', async () => {
  const { context, land: landed, listed, own } = await world();
  await landed([sent(1), sent(1, 7)]);
  context.clock.advance(HOUR_MS);
  await landed([sent(2)]);
  for (const [n, name] of listed().entries()) truncateSync(join(own, name), n === 0 ? 0 : 20);
  expect(await landed([sent(1), sent(1, 7), sent(3)])).toBe(1);
});

test('there are lists of the files of two days that are there, and no others', async () => {
  const { context, land: landed, listed } = await world();
  const filesNow = async () => (await allFiles(context.table, PROJECT, 'events')).map(({ path }) => basename(path));
  for (const n of [1, 2, 3]) {
    await landed([sent(n)]);
    context.clock.advance(HOUR_MS);
  }
  expect(listed()).toEqual((await filesNow()).slice(0, 2));
  await compact({ ...context, clock: () => context.clock() + 3 * DAY_MS }, PROJECT);
  const joined = await filesNow();
  expect(joined).toHaveLength(1);
  await landed([sent(4)]);
  expect(listed()).toEqual(joined);
  context.clock.advance(2 * DAY_MS + HOUR_MS);
  await landed([{ ...sent(5), timestamp: new Date(context.clock()).toISOString() }]);
  expect(listed()).toEqual([]);
});
