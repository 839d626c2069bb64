/** Lists of what callers may make large: however many there are, few are held at a time. */
import { LEVELS } from '../../../lib/http/levels.ts';
import { keys, places } from '../../../lib/ports/table/keys.ts';
import type { Table } from '../../../lib/ports/table/table.ts';
import { testContext } from '../../support/context.ts';
import { dashboards } from '../../support/dashboards.ts';
import { tableWith } from '../../support/table-override.ts';

const COUNT = 300;

/** A table that tells the most whole items that were in answers to lists at the same time. */
function watched(table: Table) {
  let [held, most] = [0, 0];
  const watching = tableWith(table, {
    list: async (range, page) => {
      const found = await table.list(range, page);
      // What an index of keys holds is small.
      const count = found.items.filter((item) => 'ver' in item || 'insight' in item).length;
      held += count;
      most = Math.max(most, held);
      setImmediate(() => (held -= count));
      return found;
    },
  });
  return {
    watching,
    /** Returns the most since the last call. */
    most: () => {
      const found = most;
      most = 0;
      return found;
    },
  };
}

test('a filter of insights or dashboards, and hidden dashboards, hold fifty at a time', async () => {
  const { watching, most } = watched(testContext().table);
  const world = await dashboards(watching);
  const { service, context } = world;
  const project = service.project.id;
  const first = await world.insight({ name: 'Odd 1' });
  const [insight] = (await context.table.many([keys.insight(project, first.id)])).flatMap((one) => one ?? []);
  const board = await world.dashboard({ name: 'Odd 1', tiles: [{ insight: first.id }] });
  const [summary] = (await context.table.many([keys.dashboard(project, board.id)])).flatMap((one) => one ?? []);
  if (insight === undefined || summary === undefined) throw new Error('they are not there');
  const texts = Array.from({ length: 199 }, () => ({ text: { body: 'x' } }));
  const { id: hidden } = await world.dashboard({ name: 'Hidden', tiles: [{ insight: first.id }, ...texts] });
  await world.call('PUT', `/dashboards/${hidden}/access_controls/`, { access_level: 'none' });
  const made = Array.from({ length: COUNT - 1 }, (_, at) => at + 1002).map((id) => {
    const name = `${id % 2 === 0 ? 'Even' : 'Odd'} ${id}`;
    return [
      { ...insight, ...keys.insight(project, id), ...places.insightOf(project, insight.created_at, id), id, name },
      { ...summary, ...keys.dashboard(project, id), ...places.dashboardOf(project, false, name, id), id, name },
    ];
  });
  await context.table.write(
    made.flat().map((put) => ({ put })),
    { apart: true },
  );
  const listed = async (path: string, key = service.key) => {
    const { body } = await world.call('GET', path, undefined, { key });
    const { count, results } = body as { count: number; results: { name: string }[] };
    return [count, results.map(({ name }) => name)];
  };
  const member = await service.newKey(await service.newUser(LEVELS.member));
  most();
  expect(await listed('/insights/?search=odd&limit=2&offset=10')).toEqual([150, ['Odd 1279', 'Odd 1277']]);
  expect(most()).toBeLessThanOrEqual(60);
  expect(await listed('/dashboards/?search=odd&limit=2&ordering=-created_at')).toMatchObject([150, {}]);
  expect(most()).toBeLessThanOrEqual(60);
  expect(await listed('/dashboards/?limit=1', member)).toEqual([COUNT, ['Even 1002']]);
  expect(most()).toBeLessThanOrEqual(60);
  expect(await listed('/insights/?limit=1', member)).toEqual([COUNT, ['Even 1300']]);
  expect(most()).toBeLessThanOrEqual(60);
});
