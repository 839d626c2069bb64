/** How often a page asks again: soon while something moves, and less often while nothing does. */
import { polled } from '../../../lib/console/client/polling.ts';

/** Returns the waits after so many answers that all say the same. */
function waits(
  ask: ReturnType<typeof polled>,
  data: unknown,
  count: number,
  counted: 'dataUpdateCount' | 'errorUpdateCount' = 'dataUpdateCount',
): readonly (number | false)[] {
  const state = { data, dataUpdateCount: 0, errorUpdateCount: 0 };
  const query = { state };
  return Array.from({ length: count }, (_, answers) => {
    state[counted] = answers;
    return ask(query);
  });
}

test('a list that stays as it is is asked for less often, at most each half minute', () => {
  const all = waits(
    polled(() => true),
    {},
    12,
  );
  expect(all.slice(0, 3)).toEqual([1_000, 1_500, 2_250]);
  expect(all.at(-1)).toBe(30_000);
});

test('what somebody waits for is asked for as often to the end', () => {
  const waiting = polled<readonly unknown[]>(
    () => true,
    (rows) => rows?.length === 0,
  );
  expect(waits(waiting, [], 12).at(-1)).toBe(3_000);
  expect(waits(waiting, ['one'], 12).at(-1)).toBe(30_000);
});

test('what does not move is not asked for again', () => {
  expect(
    waits(
      polled(() => false),
      {},
      2,
    ),
  ).toEqual([false, false]);
});

test('what is refused is asked for less often, and what was never answered by the reader alone', () => {
  const live = polled(() => true);
  expect(waits(live, {}, 12, 'errorUpdateCount').at(-1)).toBe(30_000);
  expect(waits(live, undefined, 2, 'errorUpdateCount')).toEqual([false, false]);
});
