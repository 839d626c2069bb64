import type { ProjectItem } from '../../../../lib/accounts/organizations/model.ts';
import type { Answerer, AnswerTurn, ComputedAnswer } from '../../../../lib/insights/answering/answerer.ts';
import { type Asker, answersOf } from '../../../../lib/insights/answering/answers.ts';
import { answerCache } from '../../../../lib/insights/answering/cache.ts';
import type { AskedQuery } from '../../../../lib/insights/answering/computations.ts';
import type { Refresh } from '../../../../lib/insights/queries/model.ts';
import { forgetAnswers } from '../../../../lib/lake/forget-answers.ts';
import { Damaged, Failure, Transient } from '../../../../lib/ports/errors.ts';
import { keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { Busy, TooLarge } from '../../../../lib/ports/table/table.ts';
import { testContext } from '../../../support/context.ts';
import { importRecords } from '../../../support/imports.ts';

const ANSWERED: ComputedAnswer = {
  answer: { results: [1] },
  looked: { events: [], persons: false, now: false, hogql: null },
};

const asked = (query = 'SELECT 1', project = 7, organization = 'o'): AskedQuery => ({
  project: { ...keys.project(project), id: project, organization_id: organization } as ProjectItem,
  query: { kind: 'HogQLQuery', query },
});

/** Answers of an answerer that answers when it is told to, and notes who was stopped. */
function world(limits?: Parameters<typeof answerCache>[1]) {
  const context = testContext();
  const calls: { readonly waiting: AnswerTurn; readonly answer: (answered?: ComputedAnswer) => void }[] = [];
  const answerer: Answerer = {
    answer: (_, waiting) =>
      new Promise((resolve, reject) => {
        waiting.signal.addEventListener('abort', () => reject(waiting.signal.reason as Error));
        calls.push({ waiting, answer: (answered = ANSWERED) => resolve(answered) });
      }),
  };
  const answers = answersOf(context, answerer, answerCache(context, limits));
  /** Resolves when so many computations have begun. */
  const begun = async (count: number): Promise<void> => {
    while (calls.length < count) await new Promise((resolve) => setImmediate(resolve));
  };
  return { context, answers, calls, begun };
}

/** Resolves when all that need not wait for an answerer has been done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('all who ask at the same time share one computation, and nobody of another project does', async () => {
  const { answers, calls, begun } = world();
  const all = [asked(), asked(), asked('SELECT 1', 8)].map((one) => answers.ask(one, 'blocking', {}));
  await begun(2);
  for (const call of calls) call.answer();
  expect((await Promise.all(all)).map(({ kept }) => kept?.answer.results)).toEqual([[1], [1], [1]]);
  expect(calls.length).toBe(2);
  expect((await answers.ask(asked(), 'blocking', {})).state).toBe('kept');
  expect((await answers.ask(asked('SELECT 1', 9), 'force_cache', {})).kept).toBeNull();
});

test.each<Refresh>(['blocking', 'force_blocking'])(
  'whoever asks (%s) after an event has come gets no answer from before, nor does anybody compute twice for that',
  async (refresh) => {
    const { context, answers, calls, begun } = world();
    await context.table.write([{ put: { ...keys.project(7), id: 7, organization_id: 'o', deleted_at: null } }]);
    const looked = { ...ANSWERED.looked, events: [{ from: null, to: null }] };
    const before = answers.ask(asked(), 'blocking', {});
    await begun(1);
    const same = answers.ask(asked(), 'blocking', {});
    await importRecords(context, 7, [{ event: 'paid', distinct_id: 'ada', timestamp: '2025-12-31T00:00:00Z' }]);
    const after = [answers.ask(asked(), refresh, {}), answers.ask(asked(), refresh, {})];
    // They wait for the one that is under way.
    await settled();
    expect(calls.length).toBe(1);
    calls[0]?.answer({ looked, answer: { results: ['old'] } });
    expect((await before).kept?.answer.results).toEqual(['old']);
    await settled();
    calls[1]?.answer({ looked, answer: { results: ['new'] } });
    const told = await Promise.all([same, ...after]);
    expect(told.map(({ kept, state }) => [kept?.answer.results, state])).toEqual([
      [['new'], 'computed'],
      [['new'], 'computed'],
      [['new'], 'computed'],
    ]);
    expect(calls.length).toBe(2);
  },
);

test('what waits for its turn stands in line as each who asks, and is computed once, in the turn that comes first', async () => {
  const { answers, calls, begun } = world();
  const all = ['ada', 'bob', 'ada', 'bob'].map((user) => answers.ask(asked(), 'blocking', { user }));
  await begun(2);
  await settled();
  expect(calls.map(({ waiting }) => waiting.user)).toEqual(['ada', 'bob']);
  calls[1]?.waiting.begins?.();
  expect(calls.map(({ waiting }) => waiting.signal.aborted)).toEqual([true, false]);
  // Who comes when it has begun waits for its end.
  all.push(answers.ask(asked(), 'blocking', { user: 'cy' }));
  await settled();
  calls[1]?.answer();
  expect((await Promise.all(all)).map(({ kept }) => kept?.answer.results)).toEqual(all.map(() => [1]));
  expect(calls.length).toBe(2);
});

test('who has no turn is told so, and keeps no colleague who asks the same from theirs', async () => {
  const full = new Failure('throttled', { detail: 'Too many of your queries are being answered.' });
  const { promise, resolve } = Promise.withResolvers<ComputedAnswer>();
  const turns: Record<string, Promise<ComputedAnswer>> = { ada: promise, bob: Promise.reject(full) };
  const answers = answersOf(testContext(), { answer: (_, { user = '' }) => turns[user] as Promise<ComputedAnswer> });
  const [bob, ada] = ['bob', 'ada'].map((user) => answers.ask(asked(), 'blocking', { user }));
  await expect(bob).rejects.toBe(full);
  resolve(ANSWERED);
  expect((await ada)?.kept?.answer.results).toEqual([1]);
  await expect(answers.ask(asked('SELECT 2'), 'blocking', { user: 'bob' })).rejects.toBe(full);
});

test('a computation is stopped when the last who waits has left, and not before', async () => {
  const { answers, calls, begun } = world();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [first, second].map(({ signal }) =>
    answers
      .ask(asked(), 'blocking', { callerLeft: signal, runId: signal === first.signal ? 'first' : 'second' })
      .catch((error: unknown) => error),
  );
  await begun(1);
  first.abort(new Error('gone'));
  expect(await waiting[0]).toMatchObject({ message: 'gone' });
  expect(calls[0]?.waiting.signal.aborted).toBe(false);
  expect(await answers.run(7, 'first')).toMatchObject({ failure: { kind: 'validation' } });
  second.abort(new Error('gone too'));
  await waiting[1];
  expect(calls[0]?.waiting.signal.aborted).toBe(true);
});

test('a run that is cancelled stops, and tells so; another one of its name waits for its end', async () => {
  const { answers, calls, begun } = world();
  const { run } = await answers.ask(asked(), 'force_async', { runId: 'mine' });
  expect(run).toMatchObject({ id: 'mine', endedAt: null });
  await begun(1);
  expect(calls[0]?.waiting).toMatchObject({ organization: 'o', line: 'background' });
  await expect(answers.ask(asked('SELECT 2'), 'blocking', { runId: 'mine' })).rejects.toMatchObject({
    body: { attr: 'client_query_id' },
  });
  const known = await answers.run(7, 'mine');
  expect(known).toEqual({ ...run, kept: null });
  if (known !== undefined) await answers.cancel(known);
  await answers.idle();
  expect(calls[0]?.waiting.signal.aborted).toBe(true);
  expect(await answers.run(7, 'mine')).toMatchObject({ failure: { message: 'The query was cancelled.' } });
  expect(await answers.run(8, 'mine')).toBeUndefined();
});

test('an answer that is under way while its project forgets its answers is kept nowhere', async () => {
  const { context, answers, calls, begun } = world();
  const project = { ...keys.project(7), id: 7 };
  await context.table.write([{ put: project }]);
  const told = answers.ask(asked(), 'blocking', { runId: 'mine' });
  await begun(1);
  await forgetAnswers(context.table, 7);
  calls[0]?.answer();
  expect((await told).kept?.answer).toEqual(ANSWERED.answer);
  expect((await context.table.list(ranges.answersOf(7), { limit: 1 })).items).toEqual([]);
  expect(await answers.run(7, 'mine')).toMatchObject({ kept: null, failure: { body: { attr: 'query' } } });
  const now = { ...asked(), project: (await context.table.get(keys.project(7))) as ProjectItem };
  expect((await answers.ask(now, 'force_cache', {})).kept).toBeNull();
});

describe('a run that nobody waits for', () => {
  /** Begins one in a project that is there, which forgets its answers while each of these computations is under way. */
  async function forgetting(times: number) {
    const { context, answers, calls, begun } = world();
    await context.table.write([{ put: { ...keys.project(7), id: 7 } }]);
    await answers.ask(asked(), 'force_async', { runId: 'mine' });
    for (const n of [0, 1]) {
      await begun(n + 1);
      if (n < times) await forgetAnswers(context.table, 7);
      calls[n]?.answer({ ...ANSWERED, answer: { results: [n] } });
    }
    await answers.idle();
    return { answers, calls };
  }

  test('is computed once more when its project forgets its answers meanwhile', async () => {
    const { answers, calls } = await forgetting(1);
    expect(await answers.run(7, 'mine')).toMatchObject({ failure: null, kept: { answer: { results: [1] } } });
    expect(calls).toHaveLength(2);
  });

  test('says to ask again when its project forgets its answers both times', async () => {
    const { answers, calls } = await forgetting(2);
    expect(await answers.run(7, 'mine')).toMatchObject({
      kept: null,
      failure: { message: 'The answer is not kept any more. Ask the query again.' },
    });
    expect(calls).toHaveLength(2);
  });

  test('that is begun after its project has forgotten its answers joins none from before', async () => {
    const { context, answers, calls, begun } = world();
    await context.table.write([{ put: { ...keys.project(7), id: 7 } }]);
    const before = answers.ask(asked(), 'blocking', { isNotifier: true });
    await begun(1);
    await forgetAnswers(context.table, 7);
    const now = { ...asked(), project: { ...asked().project, answers_forgotten: 1 } };
    const after = answers.ask(now, 'blocking', { isNotifier: true, runId: 'mine' });
    await begun(2);
    for (const [n, call] of calls.entries()) call.answer({ ...ANSWERED, answer: { results: [n] } });
    expect((await before).kept?.answer.results).toEqual([0]);
    await after;
    expect(await answers.run(7, 'mine')).toMatchObject({ failure: null, kept: { answer: { results: [1] } } });
  });
});

test('an alert stands in a line of its own, and does not wait for the same query that somebody has ordered', async () => {
  const { answers, calls, begun } = world();
  await answers.ask(asked(), 'force_async', { user: 'ada' });
  await begun(1);
  const told = answers.ask(asked(), 'blocking', { user: 'bob', isNotifier: true });
  await begun(2);
  expect(calls.map(({ waiting: { line, user } }) => ({ line, user }))).toEqual([
    { line: 'background', user: 'ada' },
    { line: 'notifier', user: 'bob' },
  ]);
  calls[1]?.answer();
  expect((await told).kept?.answer).toEqual(ANSWERED.answer);
  calls[0]?.answer();
  await answers.idle();
});

test.each([
  [new Transient('The disk is full.'), 'unavailable', 'WARNING'],
  [Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }), 'unavailable', 'WARNING'],
  [new Busy('the table is busy'), 'unavailable', 'WARNING'],
  [new TooLarge('an item is too large'), 'validation', 'ERROR'],
  [new TypeError('a mistake'), 'server_error', 'ERROR'],
])('a run that nobody waits for and that fails for %s is told as %s', async (error, kind, level) => {
  const context = testContext();
  const answers = answersOf(context, { answer: () => Promise.reject(error) });
  await answers.ask(asked(), 'force_async', { runId: 'mine' });
  await answers.idle();
  expect(await answers.run(7, 'mine')).toMatchObject({ failure: { kind } });
  expect(context.lines.at(-1)).toMatchObject({ level, message: 'a query failed' });
});

test('a run that meets a damaged file tells that, and not which: that stands in the log', async () => {
  const context = testContext();
  const damaged = new Damaged('events/team_id=7/a.parquet', 'it is not there');
  const answers = answersOf(context, { answer: () => Promise.reject(damaged) });
  await answers.ask(asked(), 'force_async', { runId: 'mine' });
  await answers.idle();
  const { failure } = (await answers.run(7, 'mine')) ?? {};
  expect(failure).toMatchObject({ status: 500, body: { code: 'damaged_file' } });
  expect(failure?.message).not.toContain('events');
  expect(context.lines.at(-1)).toMatchObject({ level: 'ERROR', fields: { error: damaged } });
});

test('what an answer was made without, because it failed, stands in the log', async () => {
  const context = testContext();
  const answers = answersOf(context, { answer: async () => ({ ...ANSWERED, warnings: ['it is no text'] }) });
  expect(await answers.ask(asked(), 'blocking', {})).toMatchObject({ state: 'computed' });
  expect(context.lines.at(-1)).toMatchObject({ level: 'WARNING', fields: { reason: 'it is no text' } });
});

test('an answer outlives the service, and one that is too large for the table is kept in memory', async () => {
  const { context, answers, calls, begun } = world();
  const large = Array.from({ length: 20_000 }, () => context.random(8).toString('hex'));
  for (const [n, results] of [[1], large].entries()) {
    const going = answers.ask(asked(`SELECT ${n}`), 'blocking', {});
    await begun(n + 1);
    calls[n]?.answer({ ...ANSWERED, answer: { results } });
    await going;
  }
  const later = answersOf(context, { answer: () => Promise.reject(new Error('not computed')) });
  const found = async (of: typeof answers) =>
    Promise.all([0, 1].map(async (n) => (await of.ask(asked(`SELECT ${n}`), 'force_cache', {})).kept?.answer.results));
  expect(await found(answers)).toEqual([[1], large]);
  expect(await found(later)).toEqual([[1], undefined]);
});

test('a run holds no answer: it is told that which is kept of its query, or that none is any more', async () => {
  const { context, answers, calls, begun } = world({ storedCharacters: 500, memoryCharacters: 10_000, isSwept: false });
  const results = ['small', ...[1, 2, 3].map(() => context.random(2_000).toString('hex'))];
  for (const [n, one] of results.entries()) {
    const going = answers.ask(asked(`SELECT ${n}`), 'blocking', { runId: `run ${n}` });
    await begun(n + 1);
    calls[n]?.answer({ ...ANSWERED, answer: { results: one } });
    await going;
  }
  const told = async (n: number) => {
    const run = await answers.run(7, `run ${n}`);
    return run?.failure?.message ?? run?.kept?.answer.results === results[n];
  };
  // The first is small enough for the table; of the others, two are in memory.
  expect([await told(0), await told(1), await told(2), await told(3)]).toEqual([
    true,
    'The answer is not kept any more. Ask the query again.',
    true,
    true,
  ]);
});

describe('of very many runs', () => {
  /** Answers of an answerer that answers at once, but for what it is told to refuse. */
  const manyRuns = () => {
    const context = testContext();
    const answerer: Answerer = {
      answer: ({ query }) => {
        if (JSON.stringify(query).includes('refused')) throw new Failure('throttled', { detail: 'Too many.' });
        return Promise.resolve(ANSWERED);
      },
    };
    const answers = answersOf(context, answerer);
    const ask = (query: string, project: number, organization: string, refresh: Refresh = 'force_blocking') =>
      answers.ask(asked(query, project, organization), refresh, { runId: query });
    return { answers, ask };
  };

  test('those that were refused at once are not known, and make none of the others unknown', async () => {
    const { answers, ask } = manyRuns();
    await ask('mine', 7, 'o', 'force_async');
    await answers.idle();
    for (let n = 0; n < 2_100; n++)
      await expect(ask(`refused ${n}`, 8, 'p', n % 2 === 0 ? 'force_async' : 'force_blocking')).rejects.toMatchObject({
        kind: 'throttled',
      });
    expect(await answers.run(8, 'refused 2098')).toBeUndefined();
    expect(await answers.run(8, 'refused 2099')).toBeUndefined();
    expect(await answers.run(7, 'mine')).toMatchObject({ kept: { answer: ANSWERED.answer } });
  });

  test('the first of the organization that has most go, in whatever projects', async () => {
    const { answers, ask } = manyRuns();
    for (const mine of ['first', 'second']) await ask(mine, 7, 'o');
    for (let n = 0; n < 2_100; n++) await ask(`run ${n}`, 8 + (n % 50), 'p');
    expect([await answers.run(7, 'first'), await answers.run(7, 'second')]).toMatchObject([
      { kept: { answer: ANSWERED.answer } },
      { kept: { answer: ANSWERED.answer } },
    ]);
    expect(await answers.run(8, 'run 0')).toBeUndefined();
    expect(await answers.run(57, 'run 99')).toBeUndefined();
    expect(await answers.run(8, 'run 150')).toMatchObject({ kept: { answer: ANSWERED.answer } });
    expect(await answers.run(57, 'run 2099')).toMatchObject({ kept: { answer: ANSWERED.answer } });
  });
});

test.each([
  ['nothing', { events: [], persons: false }, [0, 0]],
  ['events', { events: [{ from: null, to: null }], persons: false }, [3, 1]],
  ['events and persons', { events: [{ from: null, to: null }], persons: true }, [6, 2]],
])(
  'whether answers from %s are still true, the files of these tell, listed once for questions of one request',
  async (_, looked, counts) => {
    const { context, answers, calls, begun } = world();
    const tiles = [1, 2, 3].map((n) => asked(`SELECT ${n}`));
    for (const [n, tile] of tiles.entries()) {
      const going = answers.ask(tile, 'blocking', {});
      await begun(n + 1);
      calls[n]?.answer({ ...ANSWERED, looked: { ...ANSWERED.looked, ...looked } });
      await going;
    }
    const lists = async (asker: Asker): Promise<number> => {
      const list = jest.spyOn(context.table, 'list');
      for (const tile of tiles) expect((await answers.ask(tile, 'blocking', asker)).state).toBe('kept');
      const count = list.mock.calls.length;
      list.mockRestore();
      return count;
    };
    expect([await lists({}), await lists({ seen: new Map() })]).toEqual(counts);
  },
);
