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
  for (let at = 0; at < 1_100; at += 1) await cache.keep({ id: 1 }, `k${at}`, { at } as KeptAnswer);
  // Another process has nothing in memory.
  const kept = await answerCache(context).findMany({ id: 1 }, ['k99', 'k100', 'k1099'], Infinity);
  expect(kept.map((one) => one?.at)).toEqual([undefined, 100, 1_099]);
  expect(most).toBeLessThanOrEqual(50);
});

test('answers that have too many characters together are left out, and not read', async () => {
  const context = testContext();
  const many = jest.spyOn(context.table, 'many');
  const stored = answerCache(context);
  const keys = Array.from({ length: 250 }, (_, n) => `k${n}`);
  for (const [n, key] of keys.entries())
    if (n !== 3) await stored.keep({ id: 1 }, key, { at: n, files: 'x'.repeat(980 - 3), answer: {} } as KeptAnswer);
  for (const [most, told, reads] of [
    [10_500, 10, 1],
    [150_500, 150, 2],
    [Infinity, 250, 3],
  ] as const) {
    many.mockClear();
    const found = await answerCache(context).findMany({ id: 1 }, keys, most);
    const wanted = keys.map((_, n) => (n === 3 ? undefined : n));
    expect(found.map((one) => one?.at)).toEqual(wanted.map((at, n) => (n > told ? undefined : at)));
    expect(found.flatMap((one, n) => (one === null ? [n] : []))).toEqual(keys.flatMap((_, n) => (n > told ? [n] : [])));
    expect(many).toHaveBeenCalledTimes(reads);
  }
});

test('an answer is read by who looks at it, and once: whoever asks only whether it is still true does not wait for megabytes', async () => {
  const context = testContext();
  const results = [['a', 1]];
  await answerCache(context).keep({ id: 1 }, 'k', { at: 5, files: 'f', answer: { results } } as unknown as KeptAnswer);
  const kept = await answerCache(context).find({ id: 1 }, 'k');
  const parse = jest.spyOn(JSON, 'parse');
  expect([kept?.at, kept?.files]).toEqual([5, 'f']);
  expect(parse).not.toHaveBeenCalled();
  expect(kept?.answer.results).toEqual(results);
  expect(kept?.answer).toBe(kept?.answer);
  expect(parse).toHaveBeenCalledTimes(1);
});
