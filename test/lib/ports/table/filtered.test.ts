import { filtered } from '../../../../lib/ports/table/filtered.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import type { Op } from '../../../../lib/ports/table/table.ts';
import { testContext } from '../../../support/context.ts';

test('while it looks for what is rare others have their turn, page by page', async () => {
  const { table, clock } = testContext();
  const entries = Array.from(
    { length: 5_000 },
    (_, n): Op => ({
      put: { ...keys.activity('o', clock() - n, `${n}`), activity: n === 4_500 ? 'deleted' : 'updated' },
    }),
  );
  await table.write(entries, { apart: true });
  let turns = 0;
  let isListed = false;
  const take = (): void => {
    if (isListed) return;
    turns += 1;
    setImmediate(take);
  };
  take();
  const rare = filtered(table, ({ activity }) => activity === 'deleted');
  const { items } = await rare.list(ranges.activityOf('o'), { limit: 10 });
  isListed = true;
  expect(items).toHaveLength(1);
  expect(turns).toBeGreaterThan(4);
});
