import type { ProjectItem } from '../../../lib/accounts/organizations/model.ts';
import { type Answers, answersOf } from '../../../lib/insights/answering/answers.ts';
import type { KnownAnswer } from '../../../lib/insights/answering/computations.ts';
import type { InsightItem } from '../../../lib/insights/model.ts';
import type { Refresh } from '../../../lib/insights/queries/model.ts';
import { resultsOf } from '../../../lib/insights/results.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';

const ASKING = { project: { id: 1 } as ProjectItem, refresh: 'blocking', dashboard: 1 } as const;
const TOLD: KnownAnswer = { key: 'key', state: 'missing', kept: null, run: null };
const insight = (id: number) =>
  ({ id, query: JSON.stringify({ kind: 'HogQLQuery', query: 'SELECT 1' }) }) as unknown as InsightItem;

afterEach(() => jest.restoreAllMocks());

/** Answers that come at once for the first insight, and for others when nobody waits for them any more. */
const answers = {
  ask: ({ insight: id }, _refresh, { callerLeft }) =>
    new Promise((resolve, reject) => {
      if (id === 1) return resolve(TOLD);
      if (callerLeft?.aborted) return reject(callerLeft.reason);
      callerLeft?.addEventListener('abort', () => reject(callerLeft.reason));
    }),
} as Partial<Answers> as Answers;

test('insights of a dashboard that are not answered in time say so, beside those that are', async () => {
  const late = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  const results = resultsOf({ answers }, [1, 2, 3, 4].map(insight), ASKING, {});
  await new Promise(setImmediate);
  expect(timeout).toHaveBeenCalledWith(25_000);
  late.abort(new DOMException('late', 'TimeoutError'));
  const error = expect.stringContaining('take longer than 25 s together. Ask again');
  expect([...(await results)].toSorted(([one], [other]) => one - other).map(([id, told]) => [id, told.error])).toEqual([
    [1, null],
    [2, error],
    [3, error],
    [4, error],
  ]);
});

test('a caller who leaves ends the questions of all insights of a dashboard', async () => {
  const left = new AbortController();
  const results = resultsOf({ answers }, [1, 2, 3].map(insight), ASKING, { callerLeft: left.signal });
  left.abort(new Error('left'));
  await expect(results).rejects.toThrow('left');
});

test('answers of a dashboard that are too large together are told as that, and not computed', async () => {
  const context = testContext();
  const asked: string[] = [];
  const answers = answersOf(context, {
    answer: async ({ query }) => {
      asked.push(String(query['query']));
      const results = 'x'.repeat(Number(query['query']));
      return { answer: { results }, looked: { events: [], persons: false, now: false, hogql: null } };
    },
  });
  const project = { ...keys.project(1), id: 1, organization_id: 'o' } as ProjectItem;
  const sizes = [4_000_001, 4_000_002, 4_000_003, 4_000_004, 1, 2];
  const items = sizes.map(
    (size, n) => ({ id: n + 1, query: `{"kind":"HogQLQuery","query":"${size}"}`, deleted_at: null }) as InsightItem,
  );
  const told = async (refresh: Refresh): Promise<string[]> => {
    const found = await resultsOf({ answers }, items, { project, refresh }, {});
    return items.map(({ id }) => {
      const { error = 'nothing', result } = found.get(id) ?? {};
      return error ?? (typeof result === 'string' ? String(result.length) : 'no text');
    });
  };
  const tooMuch = 'The answers of this dashboard have more than 10 MB together. Ask for this insight by itself.';
  expect(await told('force_cache')).toEqual(items.map(() => 'nothing'));
  // Two are computed at the same time: which of the four are told, nobody knows.
  const blocking = await told('blocking');
  expect(blocking.filter((one) => one.startsWith('400000'))).toHaveLength(2);
  expect(blocking.filter((one) => one === tooMuch)).toHaveLength(4);
  expect(asked.toSorted()).toEqual(['4000001', '4000002', '4000003', '4000004']);
  expect(await told('force_cache')).toEqual(['4000001', '4000002', tooMuch, tooMuch, tooMuch, tooMuch]);
});
