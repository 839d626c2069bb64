import { DAY_MS, HOUR_MS } from '../../../lib/basics/units.ts';
import { START, settableClock, testContext } from '../../support/context.ts';
import { byOrganization, byProject, newExport, putRun } from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { testService } from '../../support/service.ts';

interface Page {
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly {
    readonly id: string;
    readonly created_at: string;
    readonly data_interval_start: string;
  }[];
}

async function world() {
  const context = testContext();
  context.clock.advance(30 * DAY_MS);
  const service = await testService(context);
  const id = await newExport(service);
  const path = `${byOrganization(service)}/${id}/runs`;
  const runs = async (query = '', at = path): Promise<Page> => {
    const { status, body } = await service.call('GET', `${at}${query}`);
    expect({ status, body }).toMatchObject({ status: 200 });
    return body as unknown as Page;
  };
  const follow = (link: string | null) => runs('', String(link).slice(service.address.length));
  return { context, service, id, path, runs, follow, now: context.clock() };
}

const ids = ({ results }: Page) => results.map(({ id }) => id);

test('a run tells what it has done, also which backfill made it, on both addresses', async () => {
  const { context, service, id, runs, now } = await world();
  const backfill = '019b0000-0000-7000-8000-000000000001';
  const run = await putRun(context, id, {
    backfill,
    created_at: now - HOUR_MS,
    data_interval_start: now - 2 * HOUR_MS,
  });
  const answer = {
    next: null,
    previous: null,
    results: [
      {
        id: run.id,
        status: 'Completed',
        records_completed: 10,
        latest_error: null,
        data_interval_start: '2026-01-30T22:00:00Z',
        data_interval_end: '2026-01-30T23:00:00Z',
        cursor: null,
        created_at: '2026-01-30T23:00:00Z',
        finished_at: '2026-01-30T23:00:00Z',
        last_updated_at: '2026-01-30T23:00:00Z',
        records_total_count: 10,
        batch_export: id,
        backfill,
        bytes_exported: 1000,
      },
    ],
  };
  expect(await runs()).toStrictEqual(answer);
  expect(await runs('', `${byProject(service)}/${id}/runs/`)).toStrictEqual(answer);
  const one = await service.call('GET', `${byProject(service)}/${id}/runs/${run.id}`);
  expect(one).toMatchObject({ status: 200, body: answer.results[0] });
});

test('runs come a hundred a page, newest first, and pages are linked to one another', async () => {
  const { context, id, runs, follow, now } = await world();
  const made: string[] = [];
  for (let n = 0; n < 230; n += 1)
    made.unshift((await putRun(context, id, { created_at: now - DAY_MS + n * 1000 })).id);
  const first = await runs('?limit=1000');
  const second = await follow(first.next);
  const third = await follow(second.next);
  expect([first, second, third].map(({ results }) => results.length)).toEqual([100, 100, 30]);
  expect([first, second, third].flatMap(ids)).toEqual(made);
  expect([first.previous, third.next]).toEqual([null, null]);
  expect(ids(await follow(third.previous))).toEqual(ids(second));
  expect(ids(await follow(second.previous))).toEqual(ids(first));
  expect(Object.keys(first)).toEqual(['next', 'previous', 'results']);
  expect(ids(await runs('?ordering=created_at&limit=2'))).toEqual(made.slice(-2).toReversed());
});

test('runs of one backfill, made at one instant, come by their intervals, also over pages', async () => {
  const { context, id, runs, follow, now } = await world();
  for (const hour of [3, 1, 4, 2])
    await putRun(context, id, { created_at: now, data_interval_start: now - hour * HOUR_MS });
  const hours = ({ results }: Page) => results.map((run) => (now - Date.parse(run.data_interval_start)) / HOUR_MS);
  const first = await runs('?limit=3');
  expect([hours(first), hours(await follow(first.next))]).toEqual([[1, 2, 3], [4]]);
  expect(hours(await runs('?ordering=created_at'))).toEqual([4, 3, 2, 1]);
});

test('by creation they are those of the last seven days, or of the time asked for', async () => {
  const { context, id, runs, now } = await world();
  const old = await putRun(context, id, { created_at: now - 8 * DAY_MS, data_interval_start: now - HOUR_MS });
  const middle = await putRun(context, id, { created_at: now - 2 * DAY_MS, data_interval_start: now - 20 * DAY_MS });
  const fresh = await putRun(context, id, { created_at: now, data_interval_start: START });
  for (const [query, found] of [
    ['', [fresh, middle]],
    ['?after=-30d', [fresh, middle, old]],
    ['?after=-30d&before=-24h', [middle, old]],
    ['?after=2026-01-29T00:00:00Z&before=2026-01-29', [middle]],
    ['?ordering=created_at&after=-10d', [old, middle, fresh]],
    ['?start=x&end=y', [fresh, middle]],
  ] as const) {
    expect([query, ids(await runs(query))]).toEqual([query, found.map(({ id }) => id)]);
  }
});

test('by interval they are those that lie in the last seven days, or in the time asked for', async () => {
  const { context, id, runs, now } = await world();
  const at = (data_interval_start: number) =>
    putRun(context, id, { created_at: now - 20 * DAY_MS, data_interval_start });
  const [early, middle, late] = [await at(now - 9 * DAY_MS), await at(now - 2 * DAY_MS), await at(now - HOUR_MS / 2)];
  for (const [query, found] of [
    ['?ordering=-data_interval_start', [middle]],
    ['?ordering=-data_interval_start&end=2027-01-01', [late, middle]],
    ['?ordering=data_interval_start&start=-10d', [early, middle]],
    ['?ordering=data_interval_start&start=-9d&end=-47h', [early, middle]],
    ['?ordering=data_interval_start&start=-9d&end=2026-01-29T00:59:59Z', [early]],
    ['?ordering=-data_interval_start&after=x&before=y', [middle]],
  ] as const) {
    expect([query, ids(await runs(query))]).toEqual([query, found.map(({ id }) => id)]);
  }
});

test('runs of some statuses fill their pages, however far apart they lie', async () => {
  const { context, id, runs, follow, now } = await world();
  const wanted: string[] = [];
  for (let n = 0; n < 450; n += 1) {
    const status = n % 3 === 0 ? (n % 2 === 0 ? 'Failed' : 'Cancelled') : 'Completed';
    const run = await putRun(context, id, {
      created_at: now - DAY_MS + n,
      data_interval_start: now - DAY_MS + n,
      status,
    });
    if (status !== 'Completed') wanted.unshift(run.id);
  }
  for (const ordering of ['-created_at', '-data_interval_start']) {
    const first = await runs(`?ordering=${ordering}&status=Failed&status=Cancelled`);
    expect(first.results).toHaveLength(100);
    const second = await follow(first.next);
    expect([...ids(first), ...ids(second)]).toEqual(wanted);
    expect(second.next).toBeNull();
    expect(ids(await follow(second.previous))).toEqual(ids(first));
  }
  expect(await runs('?status=Terminated')).toEqual({ next: null, previous: null, results: [] });
});

test.each([
  [
    'ordering=status',
    'ordering',
    '"status" is not a valid choice. Choose one of: -created_at, created_at, -data_interval_start, data_interval_start.',
  ],
  ['after=yesterday', 'after', expect.stringContaining('ISO 8601')],
  ['before=7d', 'before', expect.stringContaining('ISO 8601')],
  ['ordering=data_interval_start&start=x', 'start', expect.stringContaining('ISO 8601')],
  ['ordering=data_interval_start&end=x', 'end', expect.stringContaining('ISO 8601')],
  [
    'status=Done',
    'status__0',
    '"Done" is not a valid choice. Choose one of: Starting, Running, Completed, Failed, FailedRetryable, Cancelled, Terminated, TimedOut.',
  ],
  ['cursor=x', 'cursor', expect.any(String)],
  ['cursor=after.e30', 'cursor', expect.any(String)],
])('%s is refused', async (query, attr, detail) => {
  const { service, path } = await world();
  expect(await service.call('GET', `${path}?${query}`)).toMatchObject({
    status: 400,
    body: { type: 'validation_error', attr, detail },
  });
});

test('a cursor of another list is refused, and opens nothing', async () => {
  const { context, service, id, path, runs, now } = await world();
  const other = await newExport(service);
  for (let n = 0; n < 101; n += 1) await putRun(context, other, { created_at: now - n });
  await putRun(context, id, { created_at: now - 200 });
  const itself = `${byOrganization(service)}/${other}/runs`;
  const { next } = await runs('', itself);
  const cursor = new URL(String(next)).searchParams.get('cursor') ?? '';
  for (const list of [
    `${path}?`,
    `${itself}?ordering=created_at&`,
    `${itself}?ordering=-data_interval_start&`,
    `${byOrganization(service)}/${other}/backfills?`,
  ]) {
    expect(await service.call('GET', `${list}cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { type: 'validation_error', attr: 'cursor', detail: 'Invalid cursor.' },
    });
  }
  expect(
    (await runs(`?cursor=${cursor}`, itself.replace(byOrganization(service), byProject(service)))).results,
  ).toHaveLength(1);
});

test("an export's run is not found below another", async () => {
  const { context, service, id, path } = await world();
  const run = await putRun(context, await newExport(service));
  expect(await service.call('GET', `${path}/${run.id}`)).toMatchObject({ status: 404, body: { detail: 'Not found.' } });
  const own = await putRun(context, id);
  expect(await service.call('GET', `${path}/${own.id.toUpperCase()}`)).toMatchObject({ status: 200 });
});

test('by creation it is one round trip, by interval two, and one run is one', async () => {
  const clock = settableClock();
  const context = testContext({ clock });
  const table = countRoundTrips(context.table);
  const service = await testService({ ...context, table });
  const path = `${byProject(service)}/${await newExport(service)}/runs`;
  const run = await putRun(context, path.split('/').at(-2) ?? '');
  for (const [at, trips] of [
    [path, 1],
    [`${path}?ordering=data_interval_start`, 2],
    [`${path}/${run.id}`, 1],
  ] as const) {
    await service.call('GET', at);
    table.counted();
    expect(await service.call('GET', at)).toMatchObject({ status: 200 });
    expect([at, table.counted()]).toEqual([at, trips]);
  }
});
