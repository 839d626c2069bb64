/** An hourly export whose lake holds what a test says, and a destination in memory: for tests of single steps. */

import { Readable } from 'node:stream';
import { createOrganization } from '../../lib/accounts/organizations/store.ts';
import { createUser } from '../../lib/accounts/users/store.ts';
import type { Destination } from '../../lib/exports/destinations/destination.ts';
import { folder } from '../../lib/exports/destinations/folder.ts';
import type { BatchExportItem } from '../../lib/exports/records/model.ts';
import type { RunItem } from '../../lib/exports/records/runs/model.ts';
import { createBatchExport } from '../../lib/exports/resource/create.ts';
import { beginRun } from '../../lib/exports/runs/begin.ts';
import type { Plan } from '../../lib/exports/runs/plan.ts';
import { sendInterval } from '../../lib/exports/runs/send.ts';
import { exportWithPlan } from '../../lib/exports/runs/store.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { keys, ranges } from '../../lib/ports/table/keys.ts';
import { listAll } from '../../lib/ports/table/list-all.ts';
import type { Warehouse } from '../../lib/warehouse/warehouse.ts';
import type { BeginInput, BeginOutput, Deliverable } from '../../lib/workflow/messages.ts';
import { testContext } from './context.ts';

/** The calls of a destination, and the texts that it shows to readers. */
interface Remembered {
  readonly calls: string[];
  readonly shown: Map<number, string>;
  /** Is called inside each call, before that has any effect. */
  inside: (call: 'deliver' | 'commit' | 'discard', signal: AbortSignal) => Promise<void> | void;
}

export async function hourlyExport() {
  /** Rows by the start of their hour. */
  const rows = new Map<number, string[]>();
  const warehouse: Warehouse = {
    unload: () => Promise.resolve(null),
    count: (_plan, interval) => Promise.resolve(rows.get(interval.start)?.length ?? 0),
    read: (_plan, interval) => Readable.from((rows.get(interval.start) ?? []).map((row) => Buffer.from(`${row}\n`))),
    files: () => {
      throw new Error('this destination takes lines');
    },
  };
  const settings = { ...LOCAL_SETTINGS, strictAnswers: true, cancelSeconds: 0.005 };
  const context = testContext({ warehouse, settings });
  const { table, clock } = context;
  clock.set(Date.UTC(2026, 0, 7, 13, 20));
  const owner = await createUser(context, { email: 'exporter@example.com' });
  const { organization, project } = await createOrganization(context, { name: 'Acme', owner });
  const tenant = { organization, project, membership: undefined as never };
  const destination = { type: 'Folder', config: { path: context.folder } };
  const { id } = await createBatchExport(
    context,
    tenant,
    { name: 'x', interval: 'hour', destination },
    () => [],
    () => [],
  );

  const remembered: Remembered = { calls: [], shown: new Map(), inside: () => {} };
  const memory: Destination = {
    ...(folder as unknown as Destination),
    async deliver(delivery) {
      const { signal, interval } = delivery;
      remembered.calls.push('deliver');
      await remembered.inside('deliver', signal);
      const pieces: Buffer[] = [];
      for await (const piece of delivery.rows({ format: 'JSONLines', columns: [] })) pieces.push(piece);
      const text = Buffer.concat(pieces).toString();
      return { receipt: { bytes: text.length, text, interval: interval.start } };
    },
    async commit({ signal }, { receipt }) {
      remembered.calls.push('commit');
      await remembered.inside('commit', signal);
      remembered.shown.set(Number(receipt['interval']), String(receipt['text']));
    },
    async discard({ signal }, prepared) {
      remembered.calls.push(prepared === undefined ? 'discard' : 'discard receipt');
      await remembered.inside('discard', signal);
    },
  };

  return {
    context,
    id,
    owner,
    organization,
    project,
    remembered,
    findDestination: () => memory,
    begin: (fields: Partial<BeginInput> = {}): Promise<BeginOutput> =>
      beginRun(context, { export: id, trigger: 'schedule', execution: 'execution', ...fields }),
    /** Sends an interval of what begin answered. */
    send: (begun: BeginOutput, interval = 0, stopped = new AbortController().signal) =>
      sendInterval(
        context,
        { export: id, execution: 'execution', attempt: (begun as Deliverable).attempt, interval, unloaded: null },
        stopped,
        () => memory,
      ),
    /** Puts rows that arrived in an hour into the lake. */
    arrive: async (start: number, ...texts: string[]): Promise<void> => {
      rows.set(start, [...(rows.get(start) ?? []), ...texts]);
      const hours = Array.from({ length: 24 }, (_, hour) =>
        new Date(start).getUTCHours() === hour ? texts.length : 0,
      );
      const day = new Date(start).toISOString().slice(0, 10);
      const key = keys.lakeFile(project.id, 'events', day, start, 'batch', rows.get(start)?.length ?? 0);
      const about = { min_arrival: start, max_arrival: start, min_timestamp: start, max_timestamp: start };
      const path = `events/${start}.parquet`;
      await table.write([
        { put: { ...key, path, rows: texts.length, bytes: 1, ...about, hours: JSON.stringify(hours) } },
      ]);
    },
    read: async () => (await exportWithPlan(table, id)) as { item: BatchExportItem; plan: Plan },
    runs: async (): Promise<RunItem[]> => {
      const found = await listAll(table, ranges.runsByCreation(id));
      return found.toSorted((a, b) => a.data_interval_start - b.data_interval_start || a.created_at - b.created_at);
    },
    job: (kind: string, of: string = id) => table.get(keys.job(kind, of)),
  };
}
