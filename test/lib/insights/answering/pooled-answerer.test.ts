import { type Answerer } from '../../../../lib/insights/answering/answerer.ts';
import { pooledAnswerer } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { type PoolTask, WorkerLost } from '../../../../lib/workers/pool.ts';
import { Turns } from '../../../../lib/workers/turns.ts';

const organization = 'an organization';

const asked: Parameters<Answerer['answer']>[0] = {
  query: { kind: 'HogQLQuery', query: 'SELECT 1' },
  moment: { now: 0, timezone: 'UTC', weekStartDay: 0, testAccountFilters: [] },
  files: { events: [], persons: [] },
};

/** An answerer whose pool has one turn, and the end of the time of who waits. */
function answering(work: () => Promise<unknown>) {
  const late = new AbortController();
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  const turns = new Turns({ atOnce: 1, each: 1 });
  const pool = { run: ({ owner, signal }: PoolTask) => turns.run(owner, work, signal) };
  const answerer = pooledAnswerer({ waited: pool, background: pool });
  const answer = (isBackground: boolean) =>
    answerer.answer(asked, { organization, signal: new AbortController().signal, isBackground });
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
