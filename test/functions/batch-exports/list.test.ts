import { latestRuns } from '../../../lib/exports/runs/run.ts';
import { toJsonText } from '../../../lib/ports/table/json-text.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { settableClock, testContext } from '../../support/context.ts';
import {
  addProject,
  BUCKET,
  byOrganization,
  byProject,
  create,
  FOLDER,
  INPUT,
  newExport,
  putRun,
  removeProject,
} from '../../support/exports.ts';
import { countRoundTrips } from '../../support/round-trips.ts';
import { type Service, testService } from '../../support/service.ts';

interface List {
  readonly count: number;
  readonly next: string | null;
  readonly previous: string | null;
  readonly results: readonly { readonly id: string; readonly name: string; readonly team_id: number }[];
}

async function list(service: Service, path: string): Promise<List> {
  const { status, body } = await service.call('GET', path);
  expect(status).toBe(200);
  return body as unknown as List;
}

const names = ({ results }: List) => results.map(({ name }) => name);

test('exports are listed newest first, whole, with their count', async () => {
  const context = testContext();
  const service = await testService(context);
  const made = [];
  for (const name of ['a', 'b', 'c']) {
    made.unshift((await create(service, { ...INPUT, name })).body);
    context.clock.advance(1);
  }
  for (const path of [byOrganization(service), `${byProject(service)}/`]) {
    expect(await list(service, path)).toEqual({ count: 3, next: null, previous: null, results: made });
  }
});

test('exports are found by a part of their name or of their destination, page by page', async () => {
  const context = testContext();
  const service = await testService(context);
  for (const name of ['Payments', 'Visits', 'Paying']) {
    await newExport(service, { name });
    context.clock.advance(1);
  }
  await create(service, { ...INPUT, name: 'Files', destination: BUCKET });
  for (const path of [byOrganization(service), `${byProject(service)}/`]) {
    const found = async (search: string) => names(await list(service, `${path}?search=${search}`));
    expect(await found('PAY')).toEqual(['Paying', 'Payments']);
    expect(await found('s3')).toEqual(['Files']);
    expect(await found('')).toHaveLength(4);
    expect(await found('%25')).toEqual([]);
    const first = await list(service, `${path}?search=pay&limit=1`);
    expect(first).toMatchObject({ count: 2, results: [{ name: 'Paying' }] });
    expect(names(await list(service, String(first.next).slice(service.address.length)))).toEqual(['Payments']);
  }
});

test('pages are linked on the address that the caller used, and hold at most a hundred', async () => {
  const context = testContext();
  const service = await testService(context);
  for (let n = 0; n < 103; n += 1) {
    await newExport(service, { name: `n${n}` });
    context.clock.advance(1);
  }
  const path = `${byProject(service)}/`;
  const first = await list(service, `${path}?limit=500`);
  expect(first).toMatchObject({ count: 103, previous: null });
  expect(first.results).toHaveLength(100);
  expect(first.next).toBe(`${service.address}${path}?limit=100&offset=100`);
  const second = await list(service, String(first.next).slice(service.address.length));
  expect(names(second)).toEqual(['n2', 'n1', 'n0']);
  expect(second).toMatchObject({ next: null, previous: `${service.address}${path}?limit=100` });
  expect(names(await list(service, `${path}?limit=2&offset=1`))).toEqual(['n101', 'n100']);
  expect(await list(service, `${path}?limit=x&offset=-1`)).toMatchObject({ count: 103, next: first.next });
  expect(await list(service, `${path}?offset=200`)).toMatchObject({ count: 103, results: [] });
});

test("a project's list is its own, the organization's is all, and nobody else's", async () => {
  const context = testContext();
  const service = await testService(context);
  const second = await addProject(context, service.organization);
  await newExport(service, { name: 'first' });
  context.clock.advance(1);
  await newExport(service, { name: 'second', team_id: second.id });
  expect(names(await list(service, byProject(service)))).toEqual(['first']);
  expect(names(await list(service, `/api/projects/${second.id}/batch_exports`))).toEqual(['second']);
  expect(names(await list(service, byOrganization(service)))).toEqual(['second', 'first']);
  const { body } = await service.call('POST', '/api/organizations/', { body: { name: 'Another' } });
  expect(await list(service, `/api/organizations/${String(body?.['id'])}/batch_exports`)).toMatchObject({ count: 0 });
});

test('an organization is the same in any spelling of its id, and a project in any of its number', async () => {
  const service = await testService(testContext());
  await newExport(service, { name: 'one' });
  const id = service.organization.id;
  for (const spelling of [id.toUpperCase(), id.replaceAll('-', ''), `urn:uuid:${id}`, '@current'])
    expect(names(await list(service, `/api/organizations/${spelling}/batch_exports`))).toEqual(['one']);
  expect(names(await list(service, `/api/projects/0${service.project.id}/batch_exports`))).toEqual(['one']);
});

test("what was deleted is not listed, nor a deleted project's", async () => {
  const context = testContext();
  const service = await testService(context);
  const second = await addProject(context, service.organization);
  await newExport(service, { name: 'of a deleted project', team_id: second.id });
  const id = await newExport(service, { name: 'deleted' });
  await newExport(service, { name: 'kept' });
  await service.call('DELETE', `${byOrganization(service)}/${id}`);
  await removeProject(context, second);
  for (const path of [byOrganization(service), byProject(service)]) {
    expect(await list(service, path)).toMatchObject({ count: 1, results: [{ name: 'kept' }] });
  }
});

test('a page of large exports stops at 5 MB, and the next one goes on', async () => {
  const context = testContext();
  const service = await testService(context);
  const config = { ...FOLDER.config, exclude_events: ['x'.repeat(100_000)] };
  for (let n = 0; n < 60; n += 1) {
    await newExport(service, { name: `n${n}`, destination: { ...FOLDER, config } });
    context.clock.advance(1);
  }
  const found: string[] = [];
  let at: string | null = byOrganization(service);
  while (at !== null) {
    const page: List = await list(service, at);
    expect(JSON.stringify(page).length).toBeLessThan(5_100_000);
    found.push(...names(page));
    at = page.next?.slice(service.address.length) ?? null;
  }
  expect(found).toEqual(Array.from({ length: 60 }, (_, n) => `n${59 - n}`));
});

test('a strange error of a run does not break the list', async () => {
  const context = testContext();
  const service = await testService(context);
  const id = await newExport(service);
  const run = await putRun(context, id, { status: 'Failed', latest_error: '\u2028 __proto__ \ud83d 🐍' });
  const latest_runs = latestRuns({ latest_runs: toJsonText([]) }, [run]);
  await context.table.write([{ change: keys.batchExport(id), set: { latest_runs } }]);
  expect(await list(service, byOrganization(service))).toMatchObject({
    results: [{ latest_runs: [{ id: run.id, latest_error: run.latest_error }] }],
  });
});

test("the organization's list is one round trip; the project's must know its organization first", async () => {
  const clock = settableClock();
  const table = countRoundTrips(testContext({ clock }).table);
  const service = await testService(testContext({ clock, table }));
  await newExport(service);
  for (const [path, trips] of [
    [byOrganization(service), 1],
    [byProject(service), 2],
  ] as const) {
    await list(service, path);
    table.counted();
    await list(service, path);
    expect(table.counted()).toBe(trips);
  }
});
