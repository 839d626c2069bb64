import { cpSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import { runtimeOf } from '../../../infra/local/runtime.ts';
import { systemActivityOps } from '../../../lib/accounts/activity/ops.ts';
import type { OrganizationItem, ProjectItem } from '../../../lib/accounts/organizations/model.ts';
import { deleteProject } from '../../../lib/accounts/organizations/projects/store.ts';
import { createOrganization, deleteOrganization } from '../../../lib/accounts/organizations/store.ts';
import { createKey, keysOfUser } from '../../../lib/accounts/personal-api-keys/store.ts';
import { HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { projectTokens } from '../../../lib/capture/tokens.ts';
import { startBackfill } from '../../../lib/exports/resource/backfills.ts';
import type { Context } from '../../../lib/ports/context.ts';
import type { FileStore } from '../../../lib/ports/files/files.ts';
import { dynamodbTable } from '../../../lib/ports/table/dynamodb.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { Busy, type Item, type Table } from '../../../lib/ports/table/table.ts';
import { purge } from '../../../lib/purge/purge.ts';
import type { PurgeInput } from '../../../lib/workflow/messages.ts';
import { type SettableClock, settableClock, testContext } from '../../support/context.ts';
import { createTable, describeOnDynamodb, dynamodbClient } from '../../support/dynamodb-local.ts';
import { settableTime } from '../../support/engine-world.ts';
import { type FullOrganization, fullOrganization } from '../../support/full-organization.ts';
import { hourlyExport } from '../../support/hourly-export.ts';
import { seeded } from '../../support/random.ts';
import { testService } from '../../support/service.ts';
import { tableWithContents } from '../../support/table-contents.ts';
import { unreliable } from '../../support/unreliable-table.ts';

jest.setTimeout(60_000);

const AT_13 = Date.UTC(2026, 0, 7, 13);
/** What the machine rests between two walks. */
const REST_MS = 15 * MINUTE_MS;

describe('one walk', () => {
  async function deleted() {
    const world = await hourlyExport();
    const { context, owner, organization, project } = world;
    const { organization: other } = await createOrganization(context, { name: 'Other', owner });
    const make = (label: string, limits: object) =>
      createKey(context, { user: owner, label, scopes: ['*'], ...limits });
    await make('unlimited', {});
    await make('its own', { scoped_organizations: [organization.id] });
    await make('its project', { scoped_teams: [project.id] });
    await make('both', { scoped_organizations: [organization.id, other.id] });
    await make('another', { scoped_organizations: [other.id] });
    const held = () => keysOfUser(context.table, owner.uuid);
    const labels = async () => (await held()).map(({ label }) => label).toSorted();
    return { ...world, other, held, labels };
  }

  test('stops the exports of a deleted organization, and limits no key to it any more', async () => {
    const { context, begin, arrive, read, runs, labels, held, organization, other, job } = await deleted();
    await arrive(AT_13, 'a');
    context.clock.set(AT_13 + HOUR_MS + 60_000);
    await begin();
    await context.workflow.start('export-run', 'execution', {});
    const { item } = await read();
    await startBackfill(context, item, { start_at: AT_13 - 24 * HOUR_MS, end_at: AT_13 });
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);

    expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'rest' });
    expect((await read()).item.deleted_at).not.toBeNull();
    expect(await runs()).toMatchObject([{ status: 'Cancelled' }]);
    expect(context.workflow.stopped.map(({ machine }) => machine).toSorted()).toEqual(['backfill', 'export-run']);
    // Until the executions have ended, somebody looks after them.
    expect(await job('export')).toMatchObject({ due: context.clock() + 60_000 });
    expect(await labels()).toEqual(['another', 'both', 'unlimited']);
    const both = (await held()).find(({ label }) => label === 'both');
    expect(both).toMatchObject({ scoped_organizations: JSON.stringify([other.id]), ver: 2 });
    expect(await job('purge', organization.id)).toMatchObject({ due: context.clock() + HOUR_MS });
  });

  test('touches nothing of an organization that is not deleted', async () => {
    const { context, read, labels, organization } = await deleted();
    const before = await labels();
    expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'nothing' });
    expect((await read()).item.deleted_at).toBeNull();
    expect(await labels()).toEqual(before);
  });

  test('ends when its time is over, and another one goes on', async () => {
    const { context, organization, labels } = await deleted();
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
    const clock = context.clock();
    let looks = 0;
    const slow = { ...context, clock: () => clock + (looks++ > 6 ? 10 * 60_000 : 0) };
    expect(await purge(slow, { kind: 'organization', id: organization.id })).toEqual({ do: 'more' });
    expect(await labels()).toContain('its project');
    expect(await purge(context, { kind: 'organization', id: organization.id })).toEqual({ do: 'rest' });
    expect(await labels()).toEqual(['another', 'both', 'unlimited']);
  });

  test('comes to its end though SDKs go on sending to the projects of a deleted organization', async () => {
    const { context, arrive, organization, project } = await deleted();
    const tokens = projectTokens(context, { believedMs: 0 });
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
    let walks = 0;
    let answer: { do: string };
    do {
      if ((await tokens.projectOf(project.api_token)) !== null) await arrive(context.clock(), `sent-${walks}`);
      answer = await purge(context, { kind: 'organization', id: organization.id });
      context.clock.advance(REST_MS);
      walks += 1;
    } while (answer.do !== 'nothing' && walks < 10);
    expect(answer).toEqual({ do: 'nothing' });
    expect(await tokens.projectOf(project.api_token)).toBeNull();
  });

  test('removes what imports of the command line have rejected of a deleted project, and nobody else’s', async () => {
    const { context, organization, project } = await deleted();
    const rejected = context.imports?.rejected;
    await rejected?.write(`team_id=${project.id}/a.log-1`, 'ada@example.com');
    await rejected?.write(`team_id=${project.id}9/a.log-1`, 'bob@example.com');
    await deleteProject(context, { organization, project }, systemActivityOps(context, organization.id), undefined);
    await purge(context, { kind: 'project', id: String(project.id) });
    const left: string[] = [];
    for await (const { path } of rejected?.list('') ?? []) left.push(path);
    expect(left).toEqual([`team_id=${project.id}9/a.log-1`]);
  });

  test('leaves a run that is being committed its time, and removes its export when that is over', async () => {
    const { context, begin, arrive, read, runs, organization } = await deleted();
    await arrive(AT_13, 'a');
    context.clock.set(AT_13 + HOUR_MS + 60_000);
    await begin();
    const [run] = await runs();
    await context.table.write([
      { change: { pk: run?.pk ?? '', sk: run?.sk ?? '' }, set: { phase: 'committing', status: 'Running' } },
    ]);
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
    const walk = () => purge(context, { kind: 'organization', id: organization.id });
    for (let rests = 0; rests < 4; rests++) {
      expect(await walk()).toEqual({ do: 'rest' });
      expect(await runs()).toMatchObject([{ status: 'Running' }]);
      context.clock.advance(REST_MS);
    }
    expect(await walk()).toEqual({ do: 'rest' });
    expect(await runs()).toEqual([]);
    expect(await walk()).toEqual({ do: 'rest' });
    expect(await read()).toBeUndefined();
  });
});

interface Tables {
  readonly table: Table;
  readonly clock: SettableClock;
  /** Where the engine keeps its executions, unless it is the same table. */
  readonly executions?: Table;
  /** Every item that is stored. */
  everything(): Item[] | Promise<Item[]>;
}

const sqlite = async (clock: SettableClock): Promise<Tables> => tableWithContents(clock);

async function dynamodb(clock: SettableClock): Promise<Tables> {
  const client = await dynamodbClient();
  const tableName = await createTable(client);
  const everything = async () => {
    const items: Item[] = [];
    for await (const page of paginateScan({ client: DynamoDBDocumentClient.from(client) }, { TableName: tableName })) {
      items.push(...(page.Items as Item[]));
    }
    return items;
  };
  return { table: dynamodbTable({ client, tableName, clock }), clock, everything };
}

/** What is stored, without the counters of numbers: items by their keys, and the files of lake and run files. */
interface State {
  readonly items: Readonly<Record<string, Item>>;
  readonly files: readonly string[];
}

async function stateOf({ everything }: Pick<Tables, 'everything'>, { lake, runFiles }: Context): Promise<State> {
  const items = (await everything()).filter(({ pk }) => !pk.startsWith('SEQ#'));
  const files: string[] = [];
  for (const files_ of [lake, runFiles]) for await (const { path } of files_.list('')) files.push(path);
  return { items: Object.fromEntries(items.map((item) => [`${item.pk} ${item.sk}`, item])), files };
}

/** A runtime whose executions all end at once, in one way or another. */
const shortRuntime = (ports: Context, table = ports.table) =>
  runtimeOf(ports, { table, timer: settableTime().timer, steps: () => () => async () => ({ do: 'nothing' }) });

/** Two organizations that hold everything, of the same people, and what there was before the second one came. */
async function twoOrganizations() {
  const tables = await sqlite(settableClock());
  const { table, clock } = tables;
  const base = testContext({ table, clock });
  const { context, engine } = shortRuntime(base);
  const service = await testService(context);
  const joining = [];
  for (let n = 0; n < 2; n++) {
    const user = await service.newUser();
    joining.push({ user, key: await service.newKey(user) });
  }
  await fullOrganization(context, service, joining);
  await engine.idle();
  const before = await stateOf(tables, context);
  const goes = await fullOrganization(context, service, joining);
  await engine.idle();
  return { goes, before, filled: await stateOf(tables, context), folder: base.folder };
}

/** The context of a process that dies after so many acts: whatever lasts. */
function mortal(context: Context, acts: number): Context {
  let left = acts;
  const alive = async <T>(work: () => Promise<T>): Promise<T> => {
    if (left < 0) throw new Error('killed');
    return work();
  };
  const act = <T>(work: () => Promise<T>): Promise<T> => {
    left -= 1;
    return alive(work);
  };
  const { table, lake, runFiles, workflow } = context;
  const files = (one: FileStore): FileStore => ({ ...one, remove: (path) => act(() => one.remove(path)) });
  return {
    ...context,
    table: {
      get: (key) => alive(() => table.get(key)),
      many: (all) => alive(() => table.many(all)),
      list: (range, page) => alive(() => table.list(range, page)),
      write: (ops, options) => act(() => table.write(ops, options)),
    },
    lake: files(lake),
    runFiles: files(runFiles),
    workflow: {
      start: (...execution) => act(() => workflow.start(...execution)),
      stop: (...execution) => act(() => workflow.stop(...execution)),
      status: (...execution) => alive(() => workflow.status(...execution)),
      forget: (beginning) => act(() => workflow.forget(beginning)),
    },
  };
}

describe('to the end', () => {
  let world: Awaited<ReturnType<typeof twoOrganizations>>;
  beforeAll(async () => {
    world = await twoOrganizations();
  });

  /** The same two organizations in a table of their own. */
  async function restored<H extends Tables>(open: (clock: SettableClock) => Promise<H>) {
    const tables = await open(settableClock());
    const { table, clock } = tables;
    await table.write(
      Object.values(world.filled.items).map((put) => ({ put })),
      { apart: true },
    );
    const base = testContext({ table, clock });
    cpSync(world.folder, base.folder, { recursive: true });
    const { context } = shortRuntime(base, tables.executions);
    const { organization, project } = await placesOf(table, world.goes);
    return { tables, context, clock, organization, project, state: () => stateOf(tables, context) };
  }

  async function placesOf(table: Table, { id, projects }: FullOrganization) {
    const [organization, project] = await table.many([keys.organization(id), keys.project(projects[0])]);
    return { organization: organization as OrganizationItem, project: project as ProjectItem };
  }

  /** Walks as the machine does until one finds nothing. */
  async function walkToTheEnd(input: PurgeInput, clock: SettableClock, walk: () => Promise<string>) {
    const answers: string[] = [];
    while (answers.at(-1) !== 'nothing') {
      answers.push(await walk());
      if (answers.at(-1) === 'rest') clock.advance(REST_MS);
      if (answers.length > 1_000) throw new Error(`the purge of ${input.id} does not end`);
    }
    return answers;
  }

  /** A walk in a process that lives for so many acts, or just as many more as change something that is stored. */
  const shortLife = (context: Context, input: PurgeInput, state: () => Promise<State>, least: number) => async () => {
    const before = JSON.stringify(await state());
    for (let acts = least; ; acts++) {
      try {
        return (await purge(mortal(context, acts), input)).do;
      } catch (error) {
        if (!(error instanceof Error) || error.message !== 'killed') throw error;
        if (JSON.stringify(await state()) !== before) return 'killed';
      }
    }
  };

  test('leaves everything as it was before the organization came', async () => {
    const { context, clock, organization, state } = await restored(sqlite);
    expect(Object.keys(world.filled.items).length).toBeGreaterThan(Object.keys(world.before.items).length + 60);
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
    const input = { kind: 'organization', id: organization.id } as const;
    const walk = async () => (await purge(context, input)).do;
    expect(await walkToTheEnd(input, clock, walk)).toEqual(['rest', 'rest', 'rest', 'nothing']);
    expect(await state()).toEqual(world.before);
  });

  /** Deletes the organization and purges it in processes that live for so many acts. */
  async function purgedInLives(open: (clock: SettableClock) => Promise<Tables>, least: number) {
    const { context, clock, organization, state } = await restored(open);
    await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
    const input = { kind: 'organization', id: organization.id } as const;
    const answers = await walkToTheEnd(input, clock, shortLife(context, input, state, least));
    expect(await state()).toEqual(world.before);
    return answers.filter((answer) => answer === 'killed').length;
  }

  test('does so when it is killed after each act that changes anything', async () => {
    expect(await purgedInLives(sqlite, 1)).toBeGreaterThan(40);
  });

  describeOnDynamodb('in DynamoDB', () => {
    test('does so when it is killed again and again', async () => {
      expect(await purgedInLives(dynamodb, 30)).toBeGreaterThan(1);
    });
  });

  test('of a project leaves its organization, and everything of that', async () => {
    const { context, clock, organization, project, state } = await restored(sqlite);
    await deleteProject(context, { organization, project }, systemActivityOps(context, organization.id), undefined);
    const input = { kind: 'project', id: String(project.id) } as const;
    await walkToTheEnd(input, clock, shortLife(context, input, state, 4));
    const after = await state();

    const ids = [
      ...world.goes.exports,
      `#${project.id}#`,
      `P#${project.id}"`,
      `W#${project.id}"`,
      `ANSWERS#${project.id}"`,
    ];
    const isNamed = (item: Item): boolean => ids.some((id) => JSON.stringify(item).includes(id));
    const isLog = ({ pk }: Item): boolean => pk.startsWith('A#');
    expect(Object.values(after.items).filter((item) => !isLog(item) && isNamed(item))).toEqual([]);
    expect(after.files.filter((path) => path.includes(`team_id=${project.id}/`))).toEqual([]);

    // What is gone is the project's, its tokens, what it ran and the keys that were limited to it; all else is as it was.
    const gone = Object.entries(world.filled.items).filter(([name]) => after.items[name] === undefined);
    const others = new Set(gone.filter(([, item]) => !isNamed(item)).map(([, item]) => item.sk));
    // The keys' and the shared dashboard's tokens; the jobs of alerts and subscriptions; and the project's own items.
    expect(others).toEqual(new Set(['KEY', 'TOKEN', 'PROJECT', 'EXECUTION', 'JOB']));
    const isChanged = (item: Item) => !isDeepStrictEqual(world.filled.items[`${item.pk} ${item.sk}`], item);
    const changed = Object.values(after.items).filter((item) => !isLog(item) && isChanged(item));
    expect(new Set(changed.map(({ sk }) => sk))).toEqual(new Set(['ORG', 'USER']));
  });

  test('leaves nothing when indexes lag, and writes are refused or lose their answers', async () => {
    for (const seed of [1, 2, 3]) {
      let isTrusted = true;
      const random = seeded(seed);
      const vices = { random: () => (isTrusted ? 1 : random()), busy: 0.1, lost: 0.1, lag: 0.5 };
      const open = async (clock: SettableClock) => {
        const tables = await sqlite(clock);
        return { ...tables, executions: tables.table, table: unreliable(tables.table, { ...vices, clock }) };
      };
      const { tables, context, clock, organization, state } = await restored(open);
      await deleteOrganization(context, organization, systemActivityOps(context, organization.id), undefined);
      isTrusted = false;
      const input = { kind: 'organization', id: organization.id } as const;
      await walkToTheEnd(input, clock, async () => {
        try {
          const answer = await purge(context, input);
          if (answer.do === 'rest') await tables.table.settle();
          return answer.do;
        } catch (error) {
          if (error instanceof Busy) return 'busy';
          throw error;
        }
      });
      expect(await state()).toEqual(world.before);
    }
  });
});
