import * as z from 'zod';
import { boolean, choice, datetime, integer, text, uuid } from '../../http/fields.ts';
import { cursorPageOf, pageOf, route } from '../../http/route.ts';
import { BackfillEstimate, BatchExportBackfill } from '../records/backfills/model.ts';
import { BatchExportLogEntry, LOG_LEVELS } from '../records/log-entry/model.ts';
import { BatchExport, BatchExportInput, BatchExportPatch, MAX_EXPORTS } from '../records/model.ts';
import { BatchExportRunDetail, RUN_STATUSES } from '../records/runs/model.ts';
import { DestinationTestStep } from './model.ts';

const tag = 'Batch exports';

/** Returns both addresses of what lies below the exports: by organization, and by project. */
const below = (path: string) =>
  [
    `/api/organizations/{organization_id}/batch_exports${path}`,
    `/api/projects/{project_id}/batch_exports${path}`,
  ] as const;

/** The tenant in a path, which names one of the two; that it is the caller's is proved before the operation runs. */
const place = { organization_id: uuid().optional(), project_id: integer().optional() };
const inPlace = z.object(place);
const ofExport = z.object({ ...place, id: uuid() });
const ofRun = z.object({ ...place, id: uuid(), run_id: uuid() });
const ofBackfill = z.object({ ...place, id: uuid(), backfill_id: uuid() });

const all = { paths: below(''), params: inPlace } as const;
const one = { paths: below('/{id}'), params: ofExport } as const;
const read = { method: 'GET', scope: 'batch_export:read', tag } as const;
const write = { scope: 'batch_export:write', tag } as const;
const readRun = { ...read, tag: 'Batch export runs' } as const;
const readBackfill = { ...read, tag: 'Batch export backfills' } as const;
const changeBackfill = { ...write, method: 'POST', tag: 'Batch export backfills', needs: ['workflow'] } as const;
const changeRun = { ...changeBackfill, tag: 'Batch export runs', params: ofRun } as const;

const BackfillBegun = z.object({ backfill_id: z.uuid() }).meta({ id: 'BackfillBegun' });
const Cancelled = z.object({ cancelled: z.literal(true) }).meta({ id: 'Cancelled' });

/** Days and weeks are UTC's; credentials stand in the config; there is no model `hogql`. */
const UNSUPPORTED = {
  timezone: 'UTC',
  offset_day: null,
  offset_hour: null,
  'destination.integration': null,
  'destination.integration_id': null,
  hogql_modifiers: null,
  primary_key: null,
  version_key: null,
  incremental_mode: 'APPEND',
} as const;

export const listBatchExports = route({
  ...read,
  ...all,
  handler: 'batch-exports/list',
  summary: 'List batch exports',
  description: "The organization's, or the project's, newest first; at most 100 a page.",
  query: z.object({
    search: text({ blank: true }).optional().describe("Part of the name, or of the destination's type."),
  }),
  response: pageOf(BatchExport),
  paging: { kind: 'offset', max: 100 },
});

export const createBatchExport = route({
  ...write,
  ...all,
  handler: 'batch-exports/create',
  method: 'POST',
  summary: 'Create a batch export',
  description:
    'Nothing is exported at once: the first run starts when the current interval is over. To export what came ' +
    "before, start a backfill. On the organization's address the export belongs to the project that `team_id` " +
    `names, or to the oldest. An organization has at most ${MAX_EXPORTS} exports.`,
  body: BatchExportInput,
  example: { name: 'Events', interval: 'hour', destination: { type: 'NoOp', config: {} } },
  unsupported: UNSUPPORTED,
  response: BatchExport,
  status: 201,
  idempotent: true,
  needs: ['vault', 'compiler'],
  seals: true,
});

export const retrieveBatchExport = route({
  ...read,
  ...one,
  handler: 'batch-exports/retrieve',
  summary: 'Retrieve a batch export',
  description: 'With its ten latest runs. Secrets of the destination are never returned.',
  response: BatchExport,
});

const change = {
  ...write,
  ...one,
  unsupported: UNSUPPORTED,
  response: BatchExport,
  needs: ['vault', 'compiler'],
  seals: true,
} as const;

export const updateBatchExport = route({
  ...change,
  handler: 'batch-exports/update',
  method: 'PATCH',
  summary: 'Change a batch export',
  description:
    'Changes the fields that are sent. `destination` needs its `type`, which stays, and a `config`, which is laid over ' +
    'the stored one: keys and secrets that it omits stay. Secrets must be sent again when the address that they are ' +
    'for changes.',
  body: BatchExportPatch,
  example: { name: 'Events of every day', interval: 'day' },
});

export const replaceBatchExport = route({
  ...change,
  handler: 'batch-exports/replace',
  method: 'PUT',
  summary: 'Change a batch export, with what it must have',
  description:
    'As PATCH, for clients that send the whole: `name`, `destination` and `interval` are needed. What else is not sent ' +
    'stays as it is, and so do keys of `config`.',
  body: BatchExportInput,
  example: { name: 'Events of every day', interval: 'day', destination: { type: 'NoOp', config: {} } },
});

export const destroyBatchExport = route({
  ...write,
  ...one,
  handler: 'batch-exports/destroy',
  method: 'DELETE',
  summary: 'Delete a batch export',
  description: 'It is gone at once, and its runs and backfills are cancelled. What was delivered stays where it is.',
  status: 204,
  needs: ['workflow'],
});

/** A bound is read by `requestedRange`, whose refusals are those of backfills, not of fields. */
const bound = () => z.unknown().optional().meta({ type: 'string', format: 'date-time' });

const BackfillRange = z
  .object({
    start_at: bound().describe('ISO 8601, with an offset.'),
    end_at: bound().describe('ISO 8601, with an offset; not in the future.'),
  })
  .meta({ id: 'BackfillInput', required: ['start_at', 'end_at'] });

/** An example of a range. */
const RANGE = { start_at: '2015-05-17T00:00:00Z', end_at: '2015-05-21T00:00:00Z' };

export const backfillBatchExport = route({
  ...changeBackfill,
  handler: 'batch-exports/backfill',
  paths: below('/{id}/backfill'),
  summary: 'Backfill a batch export',
  description:
    'Exports every interval that touches [start_at, end_at) and has ended; intervals that were exported before are ' +
    'delivered again, to the same places. The answer has no body; `Location` is the address of the backfill.',
  params: ofExport,
  body: BackfillRange,
  example: RANGE,
  idempotent: true,
});

export const pauseBatchExport = route({
  ...write,
  handler: 'batch-exports/pause',
  method: 'POST',
  paths: below('/{id}/pause'),
  conditional: true,
  summary: 'Pause a batch export',
  description:
    'The schedule starts no runs from now on; what runs goes on, and backfills may be started. Pausing a paused ' +
    'export changes nothing.',
  params: ofExport,
  response: z.object({ paused: z.literal(true) }),
});

export const unpauseBatchExport = route({
  ...write,
  handler: 'batch-exports/unpause',
  method: 'POST',
  paths: below('/{id}/unpause'),
  conditional: true,
  summary: 'Unpause a batch export',
  description:
    'The schedule goes on with the interval that now is in. Intervals that ended while the export was paused are left ' +
    'out, unless `backfill` is true: then they are exported by a backfill, which `Location` names. Unpausing an export ' +
    'that is not paused changes nothing.',
  params: ofExport,
  body: z
    .object({ backfill: boolean().optional().describe('Export what the pause left out? Default: false.') })
    .meta({ id: 'Unpause' }),
  example: { backfill: false },
  response: z.object({ paused: z.literal(false) }),
  needs: ['workflow'],
});

export const estimateBackfill = route({
  handler: 'batch-exports/backfill-estimate',
  method: 'POST',
  paths: below('/{id}/backfill_estimate'),
  scope: 'batch_export:read',
  summary: 'Estimate a backfill',
  description:
    'What a backfill of the range would run and read, from what is known of the stored files: nothing is queried, and ' +
    'nothing is started. Refused as the backfill itself would be, but for other backfills that are under way.',
  tag: 'Batch export backfills',
  params: ofExport,
  body: BackfillRange,
  example: RANGE,
  table: 'read',
  response: BackfillEstimate,
});

export const listTestSteps = route({
  ...read,
  handler: 'batch-exports/test',
  paths: below('/test'),
  summary: 'List the test steps of a destination type',
  description: 'In the order in which they are to be run; after one that failed the others say nothing.',
  params: inPlace,
  query: z.object({ destination: text().describe('The type, such as S3.') }),
  response: z.object({ steps: z.array(DestinationTestStep) }),
});

/** The number of the step of the destination's test that is run. */
const step = integer({ min: 0 }).optional().describe('Which one, from 0. Default: 0.');

const testing = { ...write, method: 'POST', response: DestinationTestStep, table: 'read' } as const;

export const runNewTestStep = route({
  ...testing,
  handler: 'batch-exports/run-test-step-new',
  paths: below('/run_test_step_new'),
  summary: 'Test the destination of a batch export that is not made yet',
  description: 'Takes what a create takes, and checks it like that; then runs one step. Nothing is stored.',
  params: inPlace,
  body: BatchExportInput.extend({ step }).meta({ id: 'NewTestStep' }),
  unsupported: UNSUPPORTED,
  needs: ['outbound', 'testTurns', 'compiler'],
});

export const runTestStep = route({
  ...testing,
  handler: 'batch-exports/run-test-step',
  paths: below('/{id}/run_test_step'),
  summary: 'Test the destination of a batch export',
  description:
    'As it is stored, or as it would be after a PATCH of what is sent, and checked like that; then runs one step. ' +
    'Nothing is stored.',
  params: ofExport,
  body: BatchExportPatch.extend({ step }).meta({ id: 'TestStep' }),
  unsupported: UNSUPPORTED,
  needs: ['vault', 'outbound', 'testTurns', 'compiler'],
});

const LogQuery = z.object({
  limit: integer({ min: 1, max: 500 }).optional().describe('Default: 50.'),
  offset: integer({ min: 0 }).optional(),
  after: datetime().optional().describe('Only lines later than this.'),
  before: datetime().optional().describe('Only lines earlier than this.'),
  level: z
    .array(z.preprocess((value) => (typeof value === 'string' ? value.toUpperCase() : value), choice(LOG_LEVELS)))
    .optional()
    .describe('Only lines of these levels.'),
  search: text({ max: 200, blank: true, trim: false })
    .optional()
    .describe('Only lines whose message holds this, in any letter case; % stands for any text, _ for any character.'),
  instance_id: text({ blank: true }).optional().describe('Only lines of this run.'),
});

const logs = {
  response: pageOf(BatchExportLogEntry),
  paging: { kind: 'offset', limit: 50, max: 500 },
} as const;

export const listLogs = route({
  ...read,
  ...logs,
  handler: 'batch-exports/logs',
  paths: below('/{id}/logs'),
  summary: 'List log lines of a batch export',
  description: 'Newest first. Lines are kept for 30 days unless the deployment says otherwise.',
  params: ofExport,
  query: LogQuery,
});

export const listRunLogs = route({
  ...readRun,
  ...logs,
  handler: 'runs/logs',
  paths: below('/{id}/runs/{run_id}/logs'),
  summary: 'List log lines of a run',
  description: 'Newest first.',
  params: ofRun,
  query: LogQuery.omit({ instance_id: true }),
});

const time = () => text().optional();

export const listRuns = route({
  ...readRun,
  handler: 'runs/list',
  paths: below('/{id}/runs'),
  summary: 'List runs of a batch export',
  description: 'A hundred a page. Times are ISO 8601, or relative to now: `-24h`, `-7d`.',
  params: ofExport,
  query: z.object({
    ordering: choice(['-created_at', 'created_at', '-data_interval_start', 'data_interval_start'])
      .optional()
      .describe('Default: -created_at.'),
    after: time().describe('By creation: only runs made since then. Default: -7d.'),
    before: time().describe('By creation: only runs made until then. Default: now.'),
    start: time().describe('By data_interval_start: only intervals that start then or later. Default: -7d.'),
    end: time().describe('By data_interval_start: only intervals that end then or earlier. Default: now.'),
    status: z.array(choice(RUN_STATUSES)).optional().describe('Only runs with one of these.'),
  }),
  response: cursorPageOf(BatchExportRunDetail),
  paging: { kind: 'cursor', limit: 100, max: 100 },
});

export const retrieveRun = route({
  ...readRun,
  handler: 'runs/retrieve',
  paths: below('/{id}/runs/{run_id}'),
  summary: 'Retrieve a run',
  params: ofRun,
  response: BatchExportRunDetail,
});

export const retryRun = route({
  ...changeRun,
  handler: 'runs/retry',
  paths: below('/{id}/runs/{run_id}/retry'),
  summary: 'Retry a run',
  description: "Backfills the run's interval, whatever became of the run, which stays as it is.",
  response: BackfillBegun,
  status: 201,
  idempotent: true,
});

export const cancelRun = route({
  ...changeRun,
  handler: 'runs/cancel',
  paths: below('/{id}/runs/{run_id}/cancel'),
  summary: 'Cancel a run',
  description:
    'It is cancelled at once, and leaves the destination as it was before; only a destination over HTTP keeps what it ' +
    'has accepted. A run that has ended, or is being committed, cannot be cancelled: 400.',
  response: Cancelled,
});

export const listBackfills = route({
  ...readBackfill,
  handler: 'backfills/list',
  paths: below('/{id}/backfills'),
  summary: 'List backfills of a batch export',
  description: 'Fifty a page.',
  params: ofExport,
  query: z.object({
    ordering: choice(['-created_at', 'created_at', '-start_at', 'start_at'])
      .optional()
      .describe('Default: -created_at.'),
  }),
  response: cursorPageOf(BatchExportBackfill),
  paging: { kind: 'cursor', limit: 50, max: 50 },
});

export const retrieveBackfill = route({
  ...readBackfill,
  handler: 'backfills/retrieve',
  paths: below('/{id}/backfills/{backfill_id}'),
  summary: 'Retrieve a backfill',
  description: 'With its progress.',
  params: ofBackfill,
  response: BatchExportBackfill,
});

export const createBackfill = route({
  ...changeBackfill,
  handler: 'backfills/create',
  paths: below('/{id}/backfills'),
  summary: 'Create a backfill',
  description:
    'Exports every interval that touches [start_at, end_at) and has ended; intervals that were exported before are ' +
    'delivered again, to the same places.',
  params: ofExport,
  body: BackfillRange,
  example: RANGE,
  response: BackfillBegun,
  status: 201,
  idempotent: true,
});

export const cancelBackfill = route({
  ...changeBackfill,
  handler: 'backfills/cancel',
  paths: below('/{id}/backfills/{backfill_id}/cancel'),
  summary: 'Cancel a backfill',
  description: 'With its runs, as a run is cancelled; a run that is being committed is finished.',
  params: ofBackfill,
  response: Cancelled,
});
