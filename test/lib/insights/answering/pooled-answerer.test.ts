import type { Answerer, AnswerTurn } from '../../../../lib/insights/answering/answerer.ts';
import { pooledAnswerer } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { type PoolTask, WorkerLost } from '../../../../lib/workers/pool.ts';
import { Turns } from '../../../../lib/workers/turns.ts';

const organization = 'an organization';

const asked: Parameters<Answerer['answer']>[0] = {
  query: { kind: 'HogQLQuery', query: 'SELECT 1' },
  moment: { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
  files: { events: [], persons: [] },
};

/** An answerer whose pool has one turn, or so many, and the end of the time of who waits. */
function answering(work: (signal?: AbortSignal) => Promise<unknown>, atOnce = 1) {
  const late = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  const turns = new Turns({ atOnce, each: 1, users: { waiting: 1 } });
  const run = ({ owner, user, signal, begins }: PoolTask) =>
    turns.run(owner, () => (begins?.(), work(signal)), signal, user);
  const answerer = pooledAnswerer({ waited: { run }, background: { run } });
  const answer = (isBackground: boolean, turn: Partial<AnswerTurn> = {}) =>
    answerer.answer(asked, {
      organization,
      signal: new AbortController().signal,
      line: isBackground ? 'background' : 'waited',
      ...turn,
    });
  return {
    turns,
    answer,
    end: () => late.abort(Object.assign(new Error('late'), { name: 'TimeoutError' })),
    timeout,
  };
}

afterEach(() => jest.restoreAllMocks());

test('a query that only waited for its turn is told so, not that it takes too long', async () => {
  const { turns, answer, end } = answering(() => Promise.reject(new Error('it has no turn')));
  await turns.take(organization);
  const answered = answer(false);
  end();
  await expect(answered).rejects.toMatchObject({
    kind: 'throttled',
    headers: { 'Retry-After': '10' },
    message: 'Too many queries of the organization are being answered. Try again in 10 seconds.',
  });
});

test('a query that takes longer than it may is told so', async () => {
  const { answer } = answering(() => Promise.reject(new WorkerLost('silence', 'its time was over')));
  await expect(answer(false)).rejects.toMatchObject({ kind: 'validation', body: { code: 'query_too_slow' } });
  await expect(answer(true)).rejects.toMatchObject({ kind: 'validation', body: { code: 'query_too_slow' } });
});

test('a query that nobody waits for may wait for its turn as long as it must', async () => {
  const { turns, answer, end } = answering(() => Promise.resolve('the answer'));
  const giveBack = await turns.take(organization);
  const answered = answer(true);
  end();
  giveBack();
  expect(await answered).toBe('the answer');
});

/** What is done until its signal is aborted. */
const untilAborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

test('a query that had its turn at once and is cut by the clock is told that it takes too long', async () => {
  const { answer, end } = answering(untilAborted);
  const answered = answer(false);
  await new Promise((resolve) => setImmediate(resolve));
  end();
  await expect(answered).rejects.toMatchObject({ kind: 'validation', body: { code: 'query_too_slow' } });
});

test('a query that had its turn late is told that too many were before it, and may be asked again', async () => {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  const { answer, end } = answering(untilAborted);
  now.mockReturnValueOnce(0).mockReturnValueOnce(10_000);
  const answered = answer(false);
  await new Promise((resolve) => setImmediate(resolve));
  end();
  await expect(answered).rejects.toMatchObject({ kind: 'throttled' });
});

test('a user has one query at a time in all of their organizations, and others pass those of them that wait', async () => {
  const ends: (() => void)[] = [];
  const { answer } = answering(() => new Promise((resolve) => ends.push(() => resolve('an answer'))));
  const mine = (of: string) => answer(true, { organization: of, user: 'one with many' });
  const [first, second] = [mine('first'), mine('second')];
  const other = answer(true, { organization: 'third', user: 'another' });
  await expect(mine('fourth')).rejects.toMatchObject({
    kind: 'throttled',
    message: 'Too many of your queries are being answered. Try again in 10 seconds.',
  });
  const told: string[] = [];
  void first.then(() => told.push('first'));
  void second.then(() => told.push('second'));
  void other.then(() => told.push('other'));
  while (told.length < 3) {
    await new Promise((resolve) => setImmediate(resolve));
    ends.shift()?.();
  }
  expect(told).toEqual(['first', 'other', 'second']);
});

test.each([
  ['a query of theirs in another organization', 'Too many of your queries are being answered.', 'other', 'mine'],
  ['a query of somebody else in the organization', 'Too many queries of the organization are', organization, 'theirs'],
])('who waited in vain for %s is told so', async (_, sentence, of, before) => {
  const { answer, end, timeout } = answering(untilAborted, 2);
  timeout.mockReturnValueOnce(new AbortController().signal);
  answer(false, { organization: of, user: before }).catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  const answered = answer(false, { user: 'mine' });
  end();
  await expect(answered).rejects.toMatchObject({ kind: 'throttled', message: expect.stringContaining(sentence) });
});

test('who waits in one organization for somebody else is answered in another one meanwhile', async () => {
  const { answer, turns } = answering(() => Promise.resolve('an answer'), 2);
  await turns.take('busy', undefined, 'somebody else');
  void answer(true, { organization: 'busy', user: 'mine' });
  expect(await answer(false, { organization: 'idle', user: 'mine' })).toBe('an answer');
});
