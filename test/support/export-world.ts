/**
 * Exports from end to end in a world that a test holds in its hand: the real table, lake, warehouse, machines and steps,
 * a folder or a server of the test's as destination, time that moves only when told, and a process that can be killed
 * before or after any durable act, after which another one goes on over the same files.
 */

import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runtimeOf } from '../../infra/local/runtime.ts';
import { createOrganization } from '../../lib/accounts/organizations/store.ts';
import { createUser } from '../../lib/accounts/users/store.ts';
import type { Destination } from '../../lib/exports/destinations/destination.ts';
import { destinationOf } from '../../lib/exports/destinations/index.ts';
import type { BackfillItem } from '../../lib/exports/records/backfills/model.ts';
import { readLines } from '../../lib/exports/records/logs.ts';
import type { BatchExportItem } from '../../lib/exports/records/model.ts';
import type { RunItem } from '../../lib/exports/records/runs/model.ts';
import { changeBatchExport } from '../../lib/exports/resource/change.ts';
import { createBatchExport } from '../../lib/exports/resource/create.ts';
import type { DestinationOf } from '../../lib/exports/runs/delivery.ts';
import { finishRun } from '../../lib/exports/runs/finish.ts';
import { type Plan, type PlanItem, planOf } from '../../lib/exports/runs/plan.ts';
import { sendInterval } from '../../lib/exports/runs/send.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';
import { tick } from '../../lib/jobs/tick.ts';
import { allFiles } from '../../lib/lake/catalog.ts';
import { importEvents } from '../../lib/lake/import/import.ts';
import type { Context } from '../../lib/ports/context.ts';
import type { FileStore } from '../../lib/ports/files/files.ts';
import { folderFiles } from '../../lib/ports/files/folder.ts';
import { LOCAL_SETTINGS, type Settings } from '../../lib/ports/settings.ts';
import { keys, ranges } from '../../lib/ports/table/keys.ts';
import { listAll } from '../../lib/ports/table/list-all.ts';
import { sqliteTable } from '../../lib/ports/table/sqlite.ts';
import type { Table } from '../../lib/ports/table/table.ts';
import { keyfileVault } from '../../lib/ports/vault/keyfile.ts';
import { duckdbWarehouse } from '../../lib/warehouse/duckdb.ts';
import type { FinishInput, SendInput } from '../../lib/workflow/messages.ts';
import { type StepRunner, step } from '../../lib/workflow/step.ts';
import { temporaryFolder, testContext } from './context.ts';
import { type Death, never, settableTime } from './engine-world.ts';
import { type Act, killableOutbound } from './killable-outbound.ts';

/** Stands between the steps and the destination: it is called before each call of the destination. */
type Intrude = (call: 'deliver' | 'commit' | 'discard', signal: AbortSignal) => Promise<void>;

export interface ExportWorldOptions {
  readonly now: number;
  readonly intrude?: Intrude;
  readonly settings?: Partial<Settings>;
  /** Puts something between the steps and their table. */
  readonly wrap?: (table: Table, clock: () => number) => Table;
  /** Where exports deliver to; by default into the world's own folder. */
  readonly destination?: { readonly type: string; readonly config: Readonly<Record<string, unknown>> };
  /** A state that `save` kept. */
  readonly from?: string;
}

export type ExportWorld = Awaited<ReturnType<typeof exportWorld>>;

export async function exportWorld({
  now,
  intrude = async () => {},
  settings = {},
  wrap = (table) => table,
  destination,
  from,
}: ExportWorldOptions) {
  const folder = temporaryFolder();
  if (from !== undefined) cpSync(from, folder, { recursive: true });
  const target = join(folder, 'delivered');
  const time = settableTime();
  time.clock.set(now);
  const table = sqliteTable(join(folder, 'table.db'), { clock: time.clock });
  const lake = folderFiles(join(folder, 'lake'));
  const warehouse = duckdbWarehouse({ lake, threads: 1 });
  const base = testContext({
    clock: time.clock,
    table,
    lake,
    warehouse,
    runFiles: folderFiles(join(folder, 'runs')),
    vault: keyfileVault(join(folder, 'vault-key')),
    settings: { ...LOCAL_SETTINGS, strictAnswers: true, ...settings },
  });
  const wrapped = wrap(table, time.clock);
  const outbounds: { close(): void }[] = [];
  let imports = 0;

  /** Starts a process; the one before must be dead or closed. */
  function boot(death?: Death) {
    let acts = 0;
    let dead = false;
    const died = Promise.withResolvers<void>();
    const trace: string[] = [];
    const die = (): Promise<never> => {
      dead = true;
      time.clear();
      died.resolve();
      return never();
    };
    const alive = <T>(work: () => Promise<T>): Promise<T> => (dead ? never() : work());
    const act: Act = async (what, work) => {
      if (dead) return never();
      acts += 1;
      const mine = acts;
      trace.push(what);
      if (death?.at === mine && death.when === 'before') return die();
      const done = await work();
      if (dead) return never();
      return death?.at === mine ? die() : done;
    };
    const killableTable = (one: Table): Table => ({
      get: (key) => alive(() => one.get(key)),
      many: (all) => alive(() => one.many(all)),
      list: (range, page) => alive(() => one.list(range, page)),
      write: (ops, options) => act(`write ${ops.length}`, () => one.write(ops, options)),
    });
    const killableFiles = (runFiles: FileStore): FileStore => ({
      ...runFiles,
      read: (path) => alive(() => runFiles.read(path)),
      write: (path, content) => act(`run files ${path}`, () => runFiles.write(path, content)),
      remove: (path) => act(`run files remove ${path}`, () => runFiles.remove(path)),
    });
    const killable = (one: Destination): Destination => ({
      ...one,
      deliver: (delivery) =>
        act('deliver', async () => {
          await intrude('deliver', delivery.signal);
          return one.deliver(delivery);
        }),
      commit: (delivery, prepared) =>
        act('commit', async () => {
          await intrude('commit', delivery.signal);
          return one.commit(delivery, prepared);
        }),
      discard: (delivery, prepared) =>
        act('discard', async () => {
          await intrude('discard', delivery.signal);
          return one.discard(delivery, prepared);
        }),
    });
    const findDestination: DestinationOf = (type) => {
      const found = destinationOf(type);
      return found && killable(found);
    };
    const outbound = killableOutbound(act, died.promise);
    outbounds.push(outbound);
    const ports = { ...base, table: killableTable(wrapped), runFiles: killableFiles(base.runFiles), outbound };
    /** The steps that reach a destination, over the one that may die. */
    const delivering: Readonly<Record<string, (context: Context) => StepRunner>> = {
      'send-interval': step('send-interval', (input: SendInput, over, signal) =>
        sendInterval(over, input, signal, findDestination),
      ),
      'finish-run': step('finish-run', (input: FinishInput, over) => finishRun(over, input, { findDestination })),
    };
    const { context, engine } = runtimeOf(ports, {
      // The engine of one machine lives on its own disk, whatever the table of the steps is like.
      table: killableTable(table),
      timer: (milliseconds, ring) => (dead ? () => {} : time.timer(milliseconds, ring)),
      random: () => 0.5,
      steps: (own, over) => (name) => (input, signal) =>
        dead ? never() : (delivering[name]?.(over) ?? own(name))(input, signal),
    });

    /** Lets everything happen that is due until the instant, and leaves the clock there; false: the process died. */
    const run = async (until = time.clock()): Promise<boolean> => {
      const calm = async (): Promise<boolean> => {
        await Promise.race([engine.idle(), died.promise]);
        return !dead;
      };
      for (;;) {
        if (!(await calm())) return false;
        // A tick that fails is made up for by the next one.
        await Promise.race([tick(context).catch(() => {}), died.promise]);
        if (!(await calm())) return false;
        const [due] = (await table.list(ranges.dueJobs(Date.UTC(9000, 0)), { limit: 1 })).items;
        const next = due === undefined ? Number.POSITIVE_INFINITY : Date.parse(due.second_sk.slice(0, 24));
        if (next <= time.clock() || time.ring(Math.min(next, until))) continue;
        time.clock.set(Math.max(time.clock(), Math.min(next, until)));
        if (next > until) return true;
      }
    };
    return { context, engine, run, trace, died: died.promise, acts: () => acts };
  }

  return {
    folder,
    target,
    time,
    table,
    context: base,
    boot,
    /** Makes an organization with a project, and returns both. */
    async tenant(name = 'Acme') {
      const owner = await createUser(base, { email: `owner@${name.toLowerCase()}.example.com` });
      const { organization, project } = await createOrganization(base, { name, owner });
      return { organization, project, membership: undefined as never };
    },
    /** Makes an hourly export of events to the world's destination. */
    createExport: (
      context: Context,
      tenant: Parameters<typeof createBatchExport>[1],
      fields: Partial<Parameters<typeof createBatchExport>[2]> = {},
    ): Promise<BatchExportItem> =>
      createBatchExport(
        context,
        tenant,
        {
          name: 'x',
          interval: 'hour',
          destination: destination ?? { type: 'Folder', config: { path: target } },
          ...fields,
        },
        () => [],
        () => [],
      ),
    /** Changes an export as a PATCH does. */
    async patch(context: Context, id: string, patch: Parameters<typeof changeBatchExport>[2]) {
      const read = await exportWithPlan(table, id);
      return changeBatchExport(context, read as NonNullable<typeof read>, patch, undefined, () => []);
    },
    /** Imports events by their instants; the uuid of each is made of it. */
    async arrive(projectId: number, instants: readonly number[], arrived?: 'now' | 'then'): Promise<void> {
      imports += 1;
      const file = join(folder, `events-${imports}.jsonl`);
      const line = (at: number, n: number): string =>
        JSON.stringify({
          event: 'e',
          distinct_id: `d${n}`,
          timestamp: new Date(at).toISOString(),
          properties: { imports },
        });
      writeFileSync(file, instants.map(line).join('\n'));
      const options = { projectId, files: [file], rejectedFolder: join(folder, 'rejected') };
      // Through the wrapped table: the job that it leaves is found in the indexes that the engine looks at.
      await importEvents({ ...base, table: wrapped }, { ...options, ...(arrived === undefined ? {} : { arrived }) });
    },
    /** Returns where the files of a project's events lie. */
    async lakeFiles(projectId: number): Promise<string[]> {
      return (await allFiles(table, projectId, 'events')).map(({ path }) => lake.address(path));
    },
    /** Returns delivered files by name, each with the uuids of its rows, in order. */
    delivered(): Map<string, string[]> {
      if (!existsSync(target)) return new Map();
      const names = readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.endsWith('.jsonl'),
      );
      const uuids = (name: string): string[] =>
        readFileSync(join(target, name), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).uuid);
      return new Map(names.toSorted().map((name) => [name, uuids(name)]));
    },
    /**
     * Returns what runs and deaths left: hidden folders of the destination, marks of owners without the files that
     * they are about, and files of the run files.
     */
    leftovers(): string[] {
      const below = (root: string): string[] =>
        existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
      const there = new Set(below(target));
      const owned = (name: string): string => /^\.(.+)\..{36}\.owner$/.exec(name)?.[1] ?? '';
      return [
        ...[...there].filter((name) => !name.endsWith('.jsonl') && !there.has(owned(name))),
        ...below(join(folder, 'runs')).filter((name) => name !== '.unfinished'),
      ];
    },
    /** All runs by their intervals, oldest first. */
    async runs(exportId: string): Promise<RunItem[]> {
      const found = await listAll(table, ranges.runsByCreation(exportId));
      return found.toSorted((a, b) => a.data_interval_start - b.data_interval_start || a.created_at - b.created_at);
    },
    /** What the log of an export says, oldest first. */
    async messages(exportId: string): Promise<string[]> {
      const all = { after: 0, before: Date.UTC(2100, 0), levels: [], search: '', limit: 1000, offset: 0 };
      return (await readLines(table, exportId, all)).lines.map(({ message }) => message).toReversed();
    },
    async plan(exportId: string): Promise<Plan> {
      return planOf((await table.get(keys.plan(exportId))) as PlanItem);
    },
    /** Lets the export of a saved state deliver into this world's own folder. */
    async retarget(exportId: string): Promise<void> {
      const set = {
        destination_config: JSON.stringify({
          ...JSON.parse((await this.item(exportId)).destination_config),
          path: target,
        }),
      };
      await table.write([{ change: keys.batchExport(exportId), set }]);
    },
    async backfills(exportId: string): Promise<BackfillItem[]> {
      return listAll(table, ranges.backfillsByCreation(exportId));
    },
    async item(exportId: string): Promise<BatchExportItem> {
      return (await table.get(keys.batchExport(exportId))) as BatchExportItem;
    },
    /** Keeps the state so far, for worlds that go on from it; this one is over. */
    async save(): Promise<string> {
      for (const outbound of outbounds) outbound.close();
      table.close();
      await warehouse.close();
      const kept = temporaryFolder();
      cpSync(folder, kept, { recursive: true });
      return kept;
    },
    async close(): Promise<void> {
      for (const outbound of outbounds) outbound.close();
      table.close();
      await warehouse.close();
    },
  };
}
