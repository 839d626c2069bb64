import { handler as deletePersons } from '../../../functions/steps/delete-persons.ts';
import { personDeletions } from '../../../infra/aws/runtime/ports/person-deletions.ts';
import { SECOND_MS } from '../../../lib/basics/units.ts';
import { askedPersonRemoval } from '../../../lib/lake/import/person-removal.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { ranges } from '../../../lib/ports/table/keys.ts';
import { Busy, type Op } from '../../../lib/ports/table/table.ts';
import { duckdbReader } from '../../../lib/warehouse/duckdb-reader.ts';
import { temporaryFolder, testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { onEnd } from '../../support/on-end.ts';
import { type Service, testService } from '../../support/service.ts';

const context = testContext();
let service: Service;

const identified = (distinctId: string, day: number, $set: object, other?: string) => ({
  event: other === undefined ? '$set' : '$identify',
  distinct_id: distinctId,
  timestamp: `2025-11-${String(day).padStart(2, '0')}T00:00:00Z`,
  properties: { $set, ...(other === undefined ? {} : { $anon_distinct_id: other }) },
});

beforeAll(async () => {
  service = await testService(context);
  const { id } = service.project;
  await importRecords(context, id, [
    identified('ada', 1, { email: 'ada@example.com', plan: 'free' }),
    identified('bob', 2, { name: 'Bob', plan: 'free' }, 'anonymous-bob'),
    identified('cleo', 3, { plan: 'pro' }),
    identified('gone', 4, { plan: 'pro' }),
  ]);
  context.clock.advance(SECOND_MS);
  await importRecords(context, id, [
    identified('ada', 5, { plan: 'pro' }),
    { event: '$delete_person', distinct_id: 'gone', timestamp: '2025-11-06T00:00:00Z', properties: {} },
  ]);
});

interface Listed {
  readonly next: string | null;
  readonly results: { readonly id: string; readonly name: string; readonly [name: string]: unknown }[];
}

async function list(query: Readonly<Record<string, string>> = {}): Promise<Listed> {
  const target = `/api/projects/${service.project.id}/persons/?${new URLSearchParams(query).toString()}`;
  const { status, body } = await service.call('GET', target);
  expect({ status, body }).toMatchObject({ status: 200 });
  return body as unknown as Listed;
}

const namesOf = ({ results }: Listed): string[] => results.map(({ name }) => name);

test('persons come the newest first as they are now, without those that are deleted', async () => {
  const listed = await list();
  expect(namesOf(listed)).toEqual(['cleo', 'Bob', 'ada@example.com']);
  const [, bob, ada] = listed.results;
  expect(bob).toMatchObject({ distinct_ids: ['anonymous-bob', 'bob'], is_identified: true });
  expect(ada).toEqual({
    id: ada?.id,
    uuid: ada?.id,
    name: 'ada@example.com',
    distinct_ids: ['ada'],
    properties: { email: 'ada@example.com', plan: 'pro' },
    is_identified: false,
    created_at: '2025-11-01T00:00:00Z',
  });
  const { body } = await service.call('GET', `/api/projects/${service.project.id}/persons/${ada?.id}/`);
  expect(body).toEqual(ada);
});

test('pages of persons follow one another without a gap', async () => {
  const found: string[] = [];
  for (let next: string | null = '?limit=1'; next !== null; ) {
    const body = await list(Object.fromEntries(new URL(next, service.address).searchParams));
    found.push(...namesOf(body));
    next = body.next;
  }
  expect(found).toEqual(['cleo', 'Bob', 'ada@example.com']);
});

test('a page of persons with the most properties ends where it is full, in the memory that one machine has for it', async () => {
  const lake = folderFiles(temporaryFolder());
  const reader = duckdbReader({ lake, memoryLimit: '250MB' });
  onEnd(() => reader.close());
  const world = testContext({ lake, reader });
  const own = await testService(world);
  const text = (n: number) => 'abc'.charAt(n % 3).repeat(480_000);
  const many = Array.from({ length: 60 }, (_, n) =>
    identified(`p${n}`, 30 - (n % 30), { name: `p${n}`, text: text(n) }),
  );
  await importRecords(world, own.project.id, many);
  const found: string[] = [];
  for (let next: string | null = '?limit=100'; next !== null && found.length < 20; ) {
    const { search } = new URL(next, 'http://127.0.0.1');
    const { status, body } = await own.call('GET', `/api/projects/${own.project.id}/persons/${search}`);
    expect(status).toBe(200);
    const listed = body as unknown as Listed;
    found.push(...namesOf(listed));
    next = listed.next;
  }
  expect(found).toHaveLength(27);
  expect(new Set(found).size).toBe(27);
  expect(new Set(found.slice(0, 4))).toEqual(new Set(['p0', 'p30', 'p1', 'p31']));
});

test('who pages persons by offset reads each once', async () => {
  const found: string[] = [];
  for (let offset = 0; offset < 4; offset += 2)
    found.push(...namesOf(await list({ limit: '2', ...(offset === 0 ? {} : { offset: String(offset) }) })));
  expect(found).toEqual(['cleo', 'Bob', 'ada@example.com']);
  expect(namesOf(await list({ offset: '3' }))).toEqual([]);
});

test.each([
  [{ search: 'EXAMPLE.com' }, ['ada@example.com']],
  [{ search: 'bo' }, ['Bob']],
  [{ search: 'cleo' }, ['cleo']],
  [{ search: 'free' }, []],
  [{ email: 'ada@example.com' }, ['ada@example.com']],
  [{ email: 'ada@example' }, []],
  [{ email: 'ada@example.com', properties: '[{"key":"plan","value":"free"}]' }, []],
  [{ distinct_id: 'anonymous-bob' }, ['Bob']],
  [{ distinct_id: 'gone' }, []],
  [{ properties: '[{"key":"plan","value":"pro","type":"person"}]' }, ['cleo', 'ada@example.com']],
  [{ properties: '[{"key":"plan","value":"free"}]' }, ['Bob']],
])('a filter lets through who fits now: %j', async (query, expected) => {
  expect(namesOf(await list(query))).toEqual(expected);
});

describe('a person who is deleted', () => {
  const at = (rest: string) => `/api/projects/${service.project.id}/persons/${rest}`;
  const bob = async () => (await list({ distinct_id: 'bob' })).results[0]?.id ?? '';

  test('goes with their events if that is asked for, for good, and nobody else does', async () => {
    const { id } = service.project;
    const records = [
      identified('eve', 7, { email: 'eve@example.com' }, 'anonymous-eve'),
      identified('anonymous-eve', 6, { seen: true }),
      identified('fay', 7, { plan: 'pro' }),
    ];
    await importRecords(context, id, records);
    const events = async (): Promise<string[]> => {
      const { body } = await service.call('GET', `/api/projects/${id}/events/?limit=100`);
      return ((body?.['results'] ?? []) as { distinct_id: string }[]).map(({ distinct_id }) => distinct_id);
    };
    const others = (await events()).filter((name) => !name.endsWith('eve'));
    const eve = (await list({ distinct_id: 'eve' })).results[0]?.id;
    context.clock.advance(SECOND_MS);
    expect((await service.call('DELETE', at(`${eve}/?delete_events=true`))).status).toBe(204);
    expect(await events()).toEqual(others);
    expect((await list({ distinct_id: 'eve' })).results).toEqual([]);
    expect(namesOf(await list())).toContain('fay');
    await importRecords(context, id, records);
    expect(await events()).toEqual(others);
    context.clock.advance(SECOND_MS);
    const now = new Date(context.clock()).toISOString();
    await importRecords(context, id, [{ ...identified('eve', 1, { plan: 'new' }), timestamp: now }]);
    expect((await events()).filter((name) => name === 'eve')).toHaveLength(1);
    expect((await list({ distinct_id: 'eve' })).results[0]).toMatchObject({ properties: { plan: 'new' } });
    await service.call('DELETE', at(`${(await list({ distinct_id: 'eve' })).results[0]?.id}/`));
    await service.call('DELETE', at(`${(await list({ distinct_id: 'fay' })).results[0]?.id}/`));
  });

  test('is gone with all distinct_ids, and a later event makes them anew, without properties', async () => {
    const id = await bob();
    context.clock.advance(SECOND_MS);
    expect((await service.call('DELETE', at(`${id}/`))).status).toBe(204);
    expect((await service.call('GET', at(`${id}/`))).status).toBe(404);
    expect((await service.call('DELETE', at(`${id}/`))).status).toBe(404);
    expect(namesOf(await list())).toEqual(['cleo', 'ada@example.com']);
    expect((await list({ distinct_id: 'anonymous-bob' })).results).toEqual([]);
    context.clock.advance(SECOND_MS);
    await importRecords(context, service.project.id, [identified('bob', 9, { plan: 'new' })]);
    expect((await list({ distinct_id: 'bob' })).results[0]).toMatchObject({
      properties: { plan: 'new' },
      distinct_ids: ['bob'],
    });
  });

  test.each([1_000, 1_001])('goes with their events who has %d distinct_ids', async (many) => {
    const { id } = service.project;
    const name = `many-${many}`;
    // Merges give a person a thousand; a source that says whose an event is may tell of more.
    const person_id = `01940000-0000-7000-8000-00000000${many}`;
    const of = (n: number) => ({ ...identified(n === 0 ? name : `${name}-${n}`, 7, { many }), person_id });
    await importRecords(
      context,
      id,
      Array.from({ length: many }, (_, n) => of(n)),
    );
    const person = (await list({ distinct_id: name })).results[0]?.id;
    context.clock.advance(SECOND_MS);
    expect((await service.call('DELETE', at(`${person}/?delete_events=true`))).status).toBe(204);
    for (const one of [name, `${name}-${many - 1}`]) {
      const { body } = await service.call('GET', `/api/projects/${id}/events/?limit=100&distinct_id=${one}`);
      expect(body).toMatchObject({ results: [] });
    }
    expect((await service.call('GET', at(`${person}/`))).status).toBe(404);
  });

  test.each([
    ['here', context.personRemoval, 204],
    ['by a job', askedPersonRemoval(context), 202],
  ])('%s is told of in the activity log, and stays if that fails', async (name, personRemoval, status) => {
    const { id } = service.project;
    await importRecords(context, id, [identified(name, 7, { plan: name })]);
    const person = (await list({ distinct_id: name })).results[0]?.id ?? '';
    const told = async () => {
      const path = `/api/organizations/${service.organization.id}/activity/?scope=Person&item_id=${person}`;
      const { body } = await service.call('GET', path);
      const { results = [] } = (body ?? {}) as { results?: readonly { readonly activity: string }[] };
      return results.map(({ activity }) => activity);
    };
    context.clock.advance(SECOND_MS);
    const { table, personRemoval: removal } = context;
    const isEntry = (op: Op) => 'put' in op && op.put.pk.startsWith('A#');
    const write = table.write.bind(table);
    const failing = jest.spyOn(table, 'write').mockImplementation(async (ops, options) => {
      if (ops.some(isEntry)) throw new Busy('throttled');
      return write(ops, options);
    });
    Object.assign(context, { personRemoval });
    const throttled = await service.call('DELETE', at(`${person}/`));
    failing.mockRestore();
    expect(throttled.status).toBe(429);
    expect(await table.list(ranges.personDeletions(id), { limit: 1 })).toMatchObject({ items: [] });
    expect([(await service.call('GET', at(`${person}/`))).status, await told()]).toEqual([200, []]);
    expect((await service.call('DELETE', at(`${person}/`))).status).toBe(status);
    Object.assign(context, { personRemoval: removal });
    expect(await told()).toEqual(['deleted']);
    await deletePersons({ ...context, personDeletions: personDeletions(context) })({ project: id, execution: 'e' });
    expect((await service.call('GET', at(`${person}/`))).status).toBe(404);
  });

  test.each([
    ['with their events', '?delete_events=true', 'hal', []],
    ['without their events', '', 'ida', ['ida of Elsewhere']],
  ])(
    'is shown by no answer that was kept, %s: to members, on a shared page, or after a restart',
    async (_, asked, name, left) => {
      const { id } = service.project;
      const prefix = `/api/projects/${id}`;
      const sent = { ...identified(name, 7, { email: `${name}@example.com` }), event: 'paid' };
      await importRecords(context, id, [{ ...sent, properties: { ...sent.properties, who: `${name} of Elsewhere` } }]);
      const make = async (path: string, sent: object): Promise<number> => {
        const { status, body } = await service.call('POST', `${prefix}/${path}/`, { body: sent });
        expect({ status, body }).toMatchObject({ status: 201 });
        return Number(body?.['id']);
      };
      const dashboard = await make('dashboards', { name });
      const query = `SELECT properties.who, person.properties.email FROM events WHERE event = 'paid' AND distinct_id = '${name}'`;
      const source = { kind: 'HogQLQuery', query };
      const insight = await make('insights', { query: { kind: 'DataTableNode', source }, dashboards: [dashboard] });
      const tile = `dashboards/${dashboard}`;
      const shared = await service.call('PATCH', `${prefix}/${tile}/sharing/`, { body: { enabled: true } });
      const page = async (): Promise<string> => {
        const answer = await fetch(`${service.address}/shared/${String(shared.body?.['access_token'])}`);
        return answer.text();
      };
      const shown = async (): Promise<string> => {
        const told = [`insights/${insight}/`, `${tile}/`].map((path) => service.call('GET', `${prefix}/${path}`));
        return [...(await Promise.all(told)).map(({ body }) => JSON.stringify(body)), await page()].join('\n');
      };
      const refreshed = await service.call('GET', `${prefix}/${tile}/?refresh=blocking`);
      expect(JSON.stringify(refreshed.body)).toContain(`${name}@example.com`);
      const run = { body: { query: source, client_query_id: name } };
      expect((await service.call('POST', `${prefix}/query/`, run)).status).toBe(200);
      const before = await shown();
      expect(before.split(`${name}@example.com`).length).toBeGreaterThan(3);
      context.clock.advance(SECOND_MS);
      const person = (await list({ distinct_id: name })).results[0]?.id;
      expect((await service.call('DELETE', at(`${person}/${asked}`))).status).toBe(204);
      expect((await context.table.list(ranges.answersOf(id), { limit: 1 })).items).toEqual([]);
      const after = await shown();
      expect(after).not.toContain(`${name}@example.com`);
      expect(after).not.toContain('of Elsewhere');
      const { body } = await service.call('GET', `${prefix}/query/${name}/`);
      expect(JSON.stringify(body)).not.toContain(`${name}@example.com`);
      const anew = await service.call('GET', `${prefix}/insights/${insight}/?refresh=blocking`);
      expect(anew.body).toMatchObject({ result: left.map((who) => [who, null]) });
    },
  );

  test.each([
    ['an event', 'jo', { event: '$delete_person', timestamp: '2025-11-08T00:00:00Z' }],
    [
      'a state of theirs',
      'lu',
      { person_version: 9, person_distinct_id_version: 9, created_at: '2025-11-08T00:00:00Z', is_deleted: true },
    ],
  ])('by %s of an import is shown by no answer that was kept', async (_, name, deletion) => {
    const { id } = service.project;
    const email = `${name}@example.com`;
    const person = { distinct_id: name, person_id: `01940000-0000-7000-8000-0000000000${name === 'jo' ? 'aa' : 'bb'}` };
    await importRecords(context, id, [{ ...identified(name, 7, { email }), ...person }]);
    context.clock.advance(SECOND_MS);
    const query = `SELECT person.properties.email FROM events WHERE distinct_id = '${name}'`;
    const ask = async (refresh: string) => {
      const body = { query: { kind: 'HogQLQuery', query }, refresh };
      return JSON.stringify((await service.call('POST', `/api/projects/${id}/query/`, { body })).body);
    };
    expect(await ask('blocking')).toContain(email);
    await importRecords(context, id, [{ ...identified('kim', 7, {}), event: name }]);
    expect(await ask('force_cache')).toContain(email);
    await importRecords(context, id, [{ ...deletion, ...person, properties: {} }]);
    expect((await list({ distinct_id: name })).results).toEqual([]);
    expect(await ask('force_cache')).not.toContain(email);
  });

  test('is asked to be deleted where no request could wait for it, and is then', async () => {
    const { id } = service.project;
    await importRecords(context, id, [identified('gil', 7, { email: 'gil@example.com' })]);
    const gil = (await list({ distinct_id: 'gil' })).results[0]?.id;
    context.clock.advance(SECOND_MS);
    const waiting = context.personRemoval;
    Object.assign(context, { personRemoval: askedPersonRemoval(context) });
    const answered = await service.call('DELETE', at(`${gil}/?delete_events=true`));
    Object.assign(context, { personRemoval: waiting });
    expect([answered.status, answered.body]).toEqual([202, undefined]);
    expect((await service.call('GET', at(`${gil}/`))).status).toBe(200);
    const step = deletePersons({ ...context, personDeletions: personDeletions(context) });
    expect(await step({ project: id, execution: 'e' })).toEqual({ do: 'more' });
    expect(await step({ project: id, execution: 'e' })).toEqual({ do: 'nothing' });
    expect((await service.call('GET', at(`${gil}/`))).status).toBe(404);
    const { body } = await service.call('GET', `/api/projects/${id}/events/?limit=100&distinct_id=gil`);
    expect(body).toMatchObject({ results: [] });
  });
});

describe('persons who are deleted together', () => {
  const bulk = async (body: object) => {
    const { status, body: answer } = await service.call(
      'POST',
      `/api/projects/${service.project.id}/persons/bulk_delete/`,
      { body },
    );
    return { status, answer };
  };
  const namesOfEvents = async (): Promise<string[]> => {
    const { body } = await service.call('GET', `/api/projects/${service.project.id}/events/?limit=1000`);
    return ((body?.['results'] ?? []) as { distinct_id: string }[]).map(({ distinct_id }) => distinct_id);
  };
  const seen = (distinct_id: string) => ({
    event: 'seen',
    distinct_id,
    timestamp: '2025-11-08T00:00:00Z',
    properties: {},
  });
  const summary = {
    persons_found: 0,
    persons_deleted: 0,
    persons_queued_for_deletion: 0,
    events_queued_for_deletion: false,
    recordings_queued_for_deletion: false,
    deletion_errors: [],
  };
  const told = async (id: string) => {
    const path = `/api/organizations/${service.organization.id}/activity/?scope=Person&item_id=${id}`;
    const { body } = await service.call('GET', path);
    const { results = [] } = (body ?? {}) as { results?: readonly { readonly activity: string }[] };
    return results.map(({ activity }) => activity);
  };

  test('are found by their ids and by any of their distinct_ids, each once, and nobody else goes', async () => {
    await importRecords(context, service.project.id, [
      identified('kim', 7, { plan: 'x' }, 'anonymous-kim'),
      identified('ivy', 7, { plan: 'x' }),
      identified('jon', 7, { plan: 'x' }),
    ]);
    const idOf = async (distinct_id: string) => String((await list({ distinct_id })).results[0]?.id);
    const [kim, ivy] = [await idOf('kim'), await idOf('ivy')];
    context.clock.advance(SECOND_MS);
    const gone = '01940000-0000-7000-8000-00000000dead';
    expect(await bulk({ ids: [ivy, gone, ivy], distinct_ids: ['anonymous-kim', 'kim', 'nobody'] })).toEqual({
      status: 202,
      answer: { ...summary, persons_found: 2, persons_deleted: 2 },
    });
    for (const distinct_id of ['kim', 'anonymous-kim', 'ivy'])
      expect((await list({ distinct_id })).results).toEqual([]);
    expect((await list({ distinct_id: 'jon' })).results).toHaveLength(1);
    expect(await namesOfEvents()).toEqual(expect.arrayContaining(['kim', 'ivy', 'jon']));
    expect([await told(kim), await told(ivy)]).toEqual([['deleted'], ['deleted']]);
  });

  test.each([
    ['at once', context.personRemoval],
    ['by a job', askedPersonRemoval(context)],
  ])('go with events that nobody was known by, %s, and these are not taken again', async (how, personRemoval) => {
    const { id } = service.project;
    const [stranger, known] = [`stranger ${how}`, `known ${how}`];
    const records = [seen(stranger), seen(`other ${stranger}`), identified(known, 7, { plan: 'x' })];
    await importRecords(context, id, records);
    expect((await list({ distinct_id: stranger })).results).toEqual([]);
    context.clock.advance(SECOND_MS);
    const { personRemoval: own } = context;
    Object.assign(context, { personRemoval });
    const isAsked = how === 'by a job';
    const asked = { distinct_ids: [stranger, known], delete_events: true, delete_recordings: true };
    expect(await bulk(asked)).toEqual({
      status: 202,
      answer: {
        ...summary,
        persons_found: 1,
        persons_deleted: isAsked ? 0 : 1,
        persons_queued_for_deletion: isAsked ? 1 : 0,
        events_queued_for_deletion: true,
        recordings_queued_for_deletion: true,
      },
    });
    Object.assign(context, { personRemoval: own });
    await deletePersons({ ...context, personDeletions: personDeletions(context) })({ project: id, execution: 'e' });
    const left = async () => (await namesOfEvents()).filter((name) => name.endsWith(` ${how}`));
    expect(await left()).toEqual([`other ${stranger}`]);
    await importRecords(context, id, records);
    expect(await left()).toEqual([`other ${stranger}`]);
    expect((await list({ distinct_id: known })).results).toEqual([]);
    // What somebody does later is taken.
    context.clock.advance(SECOND_MS);
    await importRecords(context, id, [{ ...seen(stranger), timestamp: new Date(context.clock()).toISOString() }]);
    expect(await left()).toHaveLength(2);
  });

  test('are found by a distinct_id that is longer than captured events have it', async () => {
    const { id } = service.project;
    const long = 'l'.repeat(300);
    await importRecords(context, id, [seen(long), seen(long.slice(0, 200))]);
    context.clock.advance(SECOND_MS);
    expect((await bulk({ distinct_ids: [long], delete_events: true })).status).toBe(202);
    expect((await namesOfEvents()).filter((name) => name.startsWith('lll'))).toEqual([]);
  });

  test('may be a thousand, whose events are read once', async () => {
    const { id } = service.project;
    const names = Array.from({ length: 1_000 }, (_, n) => `herd-${n}`);
    await importRecords(
      context,
      id,
      names.map((name, n) => (n % 2 === 0 ? identified(name, 7, { n }) : seen(name))),
    );
    context.clock.advance(SECOND_MS);
    const { status, answer } = await bulk({ distinct_ids: names, delete_events: true });
    expect({ status, answer }).toMatchObject({ status: 202, answer: { persons_found: 500, persons_deleted: 500 } });
    expect((await namesOfEvents()).filter((name) => name.startsWith('herd'))).toEqual([]);
  });

  test('are asked for by the job as many at once', async () => {
    const { id } = service.project;
    const names = Array.from({ length: 300 }, (_, n) => `flock-${n}`);
    const { personRemoval: own } = context;
    Object.assign(context, { personRemoval: askedPersonRemoval(context) });
    expect((await bulk({ distinct_ids: names, delete_events: true })).status).toBe(202);
    Object.assign(context, { personRemoval: own });
    const { items } = await context.table.list(ranges.personDeletions(id), { limit: 1_000 });
    expect(new Set(items.map(({ distinctId }) => distinctId))).toEqual(new Set(names));
    const step = deletePersons({ ...context, personDeletions: personDeletions(context) });
    expect(await step({ project: id, execution: 'e' })).toEqual({ do: 'more' });
    expect(await step({ project: id, execution: 'e' })).toEqual({ do: 'nothing' });
  });

  test.each([
    [{}, null, 'Name who: `ids`, `distinct_ids` or both.'],
    [{ ids: [], distinct_ids: [] }, null, 'Name who: `ids`, `distinct_ids` or both.'],
    [
      { ids: ['01940000-0000-7000-8000-00000000dead'], distinct_ids: Array.from({ length: 1_000 }, (_, n) => `d${n}`) },
      null,
      'At most 1000 `ids` and `distinct_ids` together at a time.',
    ],
    [{ ids: ['7'] }, 'ids__0', 'Must be a valid UUID.'],
    [{ distinct_ids: ['a'], keep_person: true }, 'keep_person', "'keep_person' is not supported here. Leave it out."],
  ])('are refused by name when they cannot be told: %#', async (body, attr, detail) => {
    expect(await bulk(body)).toMatchObject({ status: 400, answer: { type: 'validation_error', attr, detail } });
  });
});
