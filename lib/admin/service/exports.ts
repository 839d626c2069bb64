/** Batch exports, their runs and their logs. */
import type * as z from 'zod';
import { plain } from '../../basics/plain.ts';
import { HOUR_MS } from '../../basics/units.ts';
import type { BatchExportLogEntry } from '../../exports/records/log-entry/model.ts';
import type { BatchExport } from '../../exports/records/model.ts';
import type { CommandResult } from '../command-result.ts';
import { type Addressed, type Asked, exportPath, LOOK_MS, listing, type ServiceCommand, withLimit } from './command.ts';
import { details } from './table.ts';

type Export = z.output<typeof BatchExport>;
type Run = Export['latest_runs'][number];
type LogEntry = z.output<typeof BatchExportLogEntry>;

const EXPORTS = ['exports', 'Batch exports'] as const;
const RUNS = ['runs', 'Runs of a batch export'] as const;

const runPath = (asked: Addressed): string => `${exportPath(asked)}/runs/${encodeURIComponent(asked.words[1] ?? '')}`;

const exportText = (one: Export): string =>
  details({
    id: one.id,
    name: one.name,
    model: one.model,
    destination: one.destination.type,
    interval: one.interval,
    state: stateOf(one),
    'last run': runWords(one.latest_runs[0]),
    config: one.destination.config,
  });

const stateOf = ({ paused }: Export): string => (paused ? 'paused' : 'running');

const runWords = (run: Run | undefined): string =>
  run === undefined ? 'none' : `${run.status}, ${run.records_completed ?? 0} rows, until ${run.data_interval_end}`;

const runText = (run: Run): string =>
  details({
    id: run.id,
    status: run.status,
    from: run.data_interval_start,
    until: run.data_interval_end,
    rows: run.records_completed,
    error: run.latest_error,
    begun: run.created_at,
    ended: run.finished_at,
  });

/** Does something to an export, and shows how it is then. */
const changed =
  (action: 'pause' | 'unpause', word: string) =>
  async (asked: Asked<{ readonly backfill?: true }>): Promise<CommandResult> => {
    const { backfill } = asked.options;
    await asked.client.send('POST', `${exportPath(asked)}/${action}/`, { backfill });
    const found = await asked.client.get<Export>(`${exportPath(asked)}/`);
    return { object: found, text: `${word} ${plain(found.name)} (${found.id})` };
  };

/** A list of runs is of the last seven days unless it is told since when. */
const EVER = '1970-01-01';

interface LogsOptions {
  readonly run?: string;
  readonly level?: string;
  readonly follow?: boolean;
  readonly limit: number;
}

const logLine = ({ timestamp, level, message }: LogEntry): string =>
  `${timestamp}  ${level.padEnd(7)}  ${plain(message)}`;

/** Lines that were written in one moment may be read in two looks. */
const OVERLAP_MS = 1_000;

/** What a run says is written when a step of it ends, so lines may come that are older than others by this much. */
const LATE_MS = HOUR_MS;

/** Shows the lines in the order in which they were written, and with `--follow` those that come. */
async function logs(asked: Asked<LogsOptions>): Promise<undefined> {
  const { client, options, show, pause } = asked;
  const { level } = options;
  const run = options.run === undefined ? '' : `/runs/${encodeURIComponent(options.run)}`;
  const path = `${exportPath(asked)}${run}/logs/`;
  let known = new Set<string>();
  let after: string | undefined;
  // Where nothing is shown at first, what comes is looked for behind what is there by now.
  const [newest] = options.follow === true && level !== undefined ? await client.list<LogEntry>(path, 1) : [];
  for (;;) {
    const limit = after === undefined ? options.limit : Number.POSITIVE_INFINITY;
    const newestFirst = await client.list<LogEntry>(path, limit, { level, after });
    const entries = newestFirst.toReversed();
    for (const entry of entries) if (!known.has(JSON.stringify(entry))) show(entry, logLine(entry));
    known = new Set(entries.map((entry) => JSON.stringify(entry)));
    const last = entries.at(-1);
    if (last !== undefined) after = new Date(Date.parse(last.timestamp) - OVERLAP_MS).toISOString();
    else if (newest !== undefined) after ??= new Date(Date.parse(newest.timestamp) - LATE_MS).toISOString();
    if (options.follow !== true) return undefined;
    await pause(LOOK_MS);
  }
}

export const EXPORT_COMMANDS: readonly ServiceCommand[] = [
  listing<Export>({
    group: EXPORTS,
    spec: 'list',
    description: 'List the batch exports of a project',
    path: ({ of }) => of('/batch_exports/'),
    header: ['ID', 'NAME', 'DESTINATION', 'INTERVAL', 'STATE', 'LAST RUN'],
    row: (one) => [one.id, one.name, one.destination.type, one.interval, stateOf(one), runWords(one.latest_runs[0])],
    empty: 'No batch exports.',
  }),
  {
    group: EXPORTS,
    spec: 'show <export>',
    description: 'Show a batch export, without its secrets',
    run: async (asked) => {
      const found = await asked.client.get<Export>(`${exportPath(asked)}/`);
      return { object: found, text: exportText(found) };
    },
  },
  {
    group: EXPORTS,
    spec: 'create <file>',
    description: 'Make a batch export of a JSON object; - reads it from standard input',
    run: async (asked) => {
      const body: unknown = JSON.parse(await asked.read(asked.words[0] ?? '-'));
      const made = await asked.client.send<Export>('POST', asked.of('/batch_exports/'), body);
      return { object: made, text: `Made ${plain(made.name)}: ${made.id}` };
    },
  },
  {
    group: EXPORTS,
    spec: 'pause <export>',
    description: 'Start no more runs by itself',
    run: changed('pause', 'Paused'),
  },
  {
    group: EXPORTS,
    spec: 'unpause <export>',
    description: 'Start runs again',
    options: (command) => command.option('--backfill', 'deliver what has come while it was paused, too'),
    run: changed('unpause', 'Unpaused'),
  },
  {
    group: EXPORTS,
    spec: 'delete <export>',
    description: 'Delete a batch export; what it has delivered stays',
    run: async (asked) => {
      await asked.client.send('DELETE', `${exportPath(asked)}/`);
      return { object: { id: asked.words[0] }, text: `Deleted ${asked.words[0]}` };
    },
  },
  listing<Run, { readonly status?: string }>({
    group: RUNS,
    spec: 'list <export>',
    description: 'List runs, newest first',
    options: (command) => command.option('--status <status>', 'only those, such as Failed'),
    path: (asked) => `${exportPath(asked)}/runs/`,
    filter: ({ status }) => ({ status, after: EVER }),
    header: ['ID', 'STATUS', 'FROM', 'UNTIL', 'ROWS', 'ERROR'],
    row: (run) => [
      run.id,
      run.status,
      run.data_interval_start,
      run.data_interval_end,
      run.records_completed,
      run.latest_error ?? '',
    ],
    empty: 'No runs.',
  }),
  {
    group: RUNS,
    spec: 'show <export> <run>',
    description: 'Show a run',
    run: async (asked) => {
      const run = await asked.client.get<Run>(`${runPath(asked)}/`);
      return { object: run, text: runText(run) };
    },
  },
  {
    group: RUNS,
    spec: 'retry <export> <run>',
    description: 'Run an interval again',
    run: async (asked) => {
      const answer = await asked.client.send<{ backfill_id: string }>('POST', `${runPath(asked)}/retry/`);
      return { object: answer, text: `Run ${asked.words[1]} is tried again, by backfill ${answer.backfill_id}` };
    },
  },
  {
    group: RUNS,
    spec: 'cancel <export> <run>',
    description: 'End a run; nothing of it becomes visible',
    run: async (asked) => {
      const answer = await asked.client.send('POST', `${runPath(asked)}/cancel/`);
      return { object: answer, text: `Run ${asked.words[1]} is cancelled.` };
    },
  },
  {
    spec: 'logs <export>',
    description: 'Show what an export logs, oldest first',
    options: (command) =>
      withLimit(command)
        .option('--run <run>', 'only of this run')
        .option('--level <level>', 'only of this level, such as ERROR')
        .option('--follow', 'show lines as they come, until Ctrl-C'),
    run: logs,
  },
];
