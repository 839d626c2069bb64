/** Backfills: what they would cost, how far they are. */
import type { Command } from 'commander';
import type * as z from 'zod';
import type { BackfillEstimate, BatchExportBackfill } from '../../exports/records/backfills/model.ts';
import type { CommandResult } from '../command-result.ts';
import { type Addressed, type Asked, exportPath, LOOK_MS, listing, type ServiceCommand } from './command.ts';
import { details } from './table.ts';

type Backfill = z.output<typeof BatchExportBackfill>;
type Estimate = z.output<typeof BackfillEstimate>;

const BACKFILLS = ['backfill', 'Backfills of a batch export'] as const;

const backfillPath = (asked: Addressed): string =>
  `${exportPath(asked)}/backfills/${encodeURIComponent(asked.words[1] ?? '')}`;

const backfillText = (one: Backfill): string =>
  details({
    id: one.id,
    status: one.status,
    from: one.start_at,
    until: one.end_at,
    runs: one.progress === null ? '-' : `${one.progress.finished_runs} of ${one.progress.total_runs}`,
    rows: one.total_records_count,
    begun: one.created_at,
    ended: one.finished_at,
  });

/** Watches a backfill until it ends. */
async function watched(asked: Pick<Asked, 'client' | 'progress' | 'pause'>, path: string): Promise<CommandResult> {
  const bar = asked.progress();
  try {
    for (;;) {
      const found = await asked.client.get<Backfill>(`${path}/`);
      if (found.finished_at !== null) {
        return { object: found, text: backfillText(found), failed: found.status !== 'Completed' };
      }
      const { finished_runs = 0, total_runs = 0 } = found.progress ?? {};
      bar.update(finished_runs, Math.max(total_runs, 1), note(found));
      await asked.pause(LOOK_MS);
    }
  } finally {
    bar.end();
  }
}

const note = ({ total_records_count, estimated_end_at }: Backfill): string =>
  `${total_records_count} rows${estimated_end_at === null ? '' : `, ends about ${estimated_end_at}`}`;

interface Range {
  readonly from: string;
  readonly until: string;
  readonly wait?: boolean;
}

const withRange = (command: Command): Command =>
  command
    .requiredOption('--from <time>', 'where it begins, such as 2026-01-31T00:00:00Z')
    .requiredOption('--until <time>', 'where it ends, exclusive');

const rangeOf = ({ from, until }: Range): object => ({ start_at: from, end_at: until });

export const BACKFILL_COMMANDS: readonly ServiceCommand[] = [
  {
    group: BACKFILLS,
    spec: 'estimate <export>',
    description: 'Tell what a backfill would deliver',
    options: withRange,
    run: async (asked: Asked<Range>) => {
      const path = `${exportPath(asked)}/backfill_estimate/`;
      const found = await asked.client.send<Estimate>('POST', path, rangeOf(asked.options));
      const { intervals, rows, bytes, warnings } = found;
      const lines = [details({ intervals, rows, bytes }), ...warnings.map((warning) => `warning: ${warning}`)];
      return { object: found, text: lines.join('\n') };
    },
  },
  {
    group: BACKFILLS,
    spec: 'start <export>',
    description: 'Deliver a range again, or for the first time',
    options: (command) => withRange(command).option('--wait', 'stay until it has ended'),
    run: async (asked: Asked<Range>) => {
      const path = exportPath(asked);
      const body = rangeOf(asked.options);
      const { backfill_id } = await asked.client.send<{ backfill_id: string }>('POST', `${path}/backfills/`, body);
      if (asked.options.wait === true) return watched(asked, `${path}/backfills/${backfill_id}`);
      return { object: { backfill_id }, text: `Began backfill ${backfill_id}` };
    },
  },
  listing<Backfill>({
    group: BACKFILLS,
    spec: 'list <export>',
    description: 'List backfills, newest first',
    path: (asked) => `${exportPath(asked)}/backfills/`,
    header: ['ID', 'STATUS', 'FROM', 'UNTIL', 'ROWS'],
    row: (one) => [one.id, one.status, one.start_at, one.end_at, one.total_records_count],
    empty: 'No backfills.',
  }),
  {
    group: BACKFILLS,
    spec: 'show <export> <backfill>',
    description: 'Show how far a backfill is',
    options: (command) => command.option('--wait', 'stay until it has ended'),
    run: async (asked: Asked<{ wait?: boolean }>) => {
      const path = backfillPath(asked);
      if (asked.options.wait === true) return watched(asked, path);
      const found = await asked.client.get<Backfill>(`${path}/`);
      return { object: found, text: backfillText(found) };
    },
  },
  {
    group: BACKFILLS,
    spec: 'cancel <export> <backfill>',
    description: 'End a backfill; what it has delivered stays',
    run: async (asked) => {
      const answer = await asked.client.send('POST', `${backfillPath(asked)}/cancel/`);
      return { object: answer, text: `Backfill ${asked.words[1]} is cancelled.` };
    },
  },
];
