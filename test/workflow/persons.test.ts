/** Exports of persons from end to end: imported events, schedule and backfill, into a folder. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOUR_MS } from '../../lib/basics/units.ts';
import { startBackfill } from '../../lib/exports/resource/backfills.ts';
import { importEvents } from '../../lib/lake/import/import.ts';
import { type ExportWorld, exportWorld } from '../support/export-world.ts';

jest.setTimeout(60_000);

const NOW = Date.UTC(2026, 0, 7, 13, 20);
const MAY_17 = Date.UTC(2025, 4, 17);

const worlds: ExportWorld[] = [];
afterEach(() => Promise.all(worlds.splice(0).map((world) => world.close())));

async function personsWorld() {
  const world = await exportWorld({ now: NOW });
  worlds.push(world);
  const tenant = await world.tenant();
  let imports = 0;
  /** Imports changes of persons: who, when, and what is set. */
  const change = async (...changes: readonly (readonly [who: string, at: number, set: object])[]): Promise<void> => {
    imports += 1;
    const file = join(world.folder, `changes-${imports}.jsonl`);
    const lines = changes.map(([distinct_id, at, $set]) =>
      JSON.stringify({ event: '$set', distinct_id, timestamp: new Date(at).toISOString(), $set }),
    );
    writeFileSync(file, lines.join('\n'));
    await importEvents(world.context, {
      projectId: tenant.project.id,
      files: [file],
      rejectedFolder: join(world.folder, 'rejected'),
    });
  };
  /** What was delivered: who, and the properties, by the file's first instant. */
  const delivered = (): Record<string, [string, unknown][]> =>
    Object.fromEntries(
      [...world.delivered().keys()].map((name) => [
        name.slice(0, 16),
        readFileSync(join(world.target, name), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
          .map((row) => [row.distinct_id, row.properties] as [string, unknown]),
      ]),
    );
  return { world, tenant, change, delivered, ...world.boot() };
}

test('a backfill delivers of each interval of the past the newest states, and again the same', async () => {
  const { world, tenant, change, delivered, context, run } = await personsWorld();
  await change(
    ['ada', MAY_17, { a: 1 }],
    ['bob', MAY_17 + 10 * 60_000, { b: 1 }],
    ['ada', MAY_17 + 30 * 60_000, { a: 2 }],
    ['ada', MAY_17 + 5 * HOUR_MS, { a: 3 }],
  );
  const item = await world.createExport(context, tenant, { model: 'persons' });
  const expected = {
    '2025-05-17T00:00': [
      ['bob', { b: 1 }],
      ['ada', { a: 2 }],
    ],
    '2025-05-17T05:00': [['ada', { a: 3 }]],
  };
  for (let time = 0; time < 2; time += 1) {
    await startBackfill(context, item, { start_at: MAY_17, end_at: MAY_17 + 8 * HOUR_MS });
    await run();
    expect(delivered()).toEqual(expected);
  }
  const [backfill] = await world.backfills(item.id);
  expect(backfill).toMatchObject({ status: 'Completed' });
  expect((await world.runs(item.id)).reduce((rows, each) => rows + (each.records_completed ?? 0), 0)).toBe(6);
});

test('the schedule delivers a state in the interval in which it arrived, once', async () => {
  const { world, tenant, change, delivered, context, run } = await personsWorld();
  await world.createExport(context, tenant, { model: 'persons' });
  await change(['ada', NOW - 60_000, { a: 1 }], ['ada', NOW, { a: 2 }], ['bob', NOW, { b: 1 }]);
  await run(NOW + HOUR_MS);
  await change(['ada', NOW - HOUR_MS, { a: 3 }]);
  await run(NOW + 3 * HOUR_MS);
  expect(delivered()).toEqual({
    '2026-01-07T13:00': [
      ['ada', { a: 2 }],
      ['bob', { b: 1 }],
    ],
    '2026-01-07T14:00': [['ada', { a: 3 }]],
  });
});
