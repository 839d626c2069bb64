import { answerCache, type KeptAnswer } from '../../../../lib/insights/answering/cache.ts';
import { testContext } from '../../../support/context.ts';
import { tableWith } from '../../../support/table-override.ts';

test('the oldest of very many answers go, and few are held at once to find them', async () => {
  const context = testContext();
  let most = 0;
  const table = tableWith(context.table, {
    list: async (range, page) => {
      const listed = await context.table.list(range, page);
      most = Math.max(most, listed.items.length);
      return listed;
    },
  });
  const cache = answerCache({ ...context, table });
  for (let at = 0; at < 1_100; at += 1) await cache.keep(1, `k${at}`, { at } as KeptAnswer);
  // Another process has nothing in memory.
  const kept = await answerCache(context).find(1, ['k99', 'k100', 'k1099']);
  expect(kept.map((one) => one?.at)).toEqual([undefined, 100, 1_099]);
  expect(most).toBeLessThanOrEqual(50);
});
