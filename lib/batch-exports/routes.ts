import * as z from 'zod';
import { choice, datetime, integer, text, uuid } from '../http/fields.ts';
import { cursorPageOf, pageOf, route } from '../http/route.ts';
import {
  BatchExport,
  BatchExportBackfill,
  BatchExportInput,
  BatchExportLogEntry,
  BatchExportPatch,
  BatchExportRunDetail,
  LOG_LEVELS,
  RUN_STATUSES,
} from './model.ts';

const tag = 'Batch exports';

/** Both addresses of what lies below the exports: by organization, and by project. */
const below = (path: string) =>
  [
    `/api/organizations/{organization_id}/batch_exports${path}`,
    `/api/projects/{project_id}/batch_exports${path}`,
  ] as const;

/** A path names one of the two; that it is the caller's is proved before the operation runs. */
const place = { organization_id: z.string().optional(), project_id: z.string().optional() };
const inPlace = z.object(place);
const ofExport = z.object({ ...place, id: uuid() });
const ofRun = z.object({ ...place, id: uuid(), run_id: uuid() });
const ofBackfill = z.object({ ...place, id: uuid(), backfill_id: uuid() });

export const listBatchExports = route({
  handler: 'batch-exports/list',
  method: 'GET',
  paths: below(''),
  scope: 'batch_export:read',
  summary: 'List batch exports',
  description: "The organization's, or the project's, newest first; at most 100 a page.",
  tag,
  params: inPlace,
  response: pageOf(BatchExport),
  status: 200,
  paging: { kind: 'offset', max: 100 },
});

export const createBatchExport = route({
  handler: 'batch-exports/create',
  method: 'POST',
  paths: below(''),
  scope: 'batch_export:write',
  summary: 'Create a batch export',
  description:
    'Nothing is exported at once: the first run starts when the current interval is over. To export what came ' +
    "before, start a backfill. On the organization's address the export belongs to the project that `team_id` " +
    'names, or to the oldest.',
  tag,
  params: inPlace,
  body: BatchExportInput,
  response: BatchExport,
  status: 201,
  idempotent: true,
  needs: ['vault'],
});

export const retrieveBatchExport = route({
  handler: 'batch-exports/retrieve',
  method: 'GET',
  paths: below('/{id}'),
  scope: 'batch_export:read',
  summary: 'Retrieve a batch export',
  description: 'With its ten latest runs. Secrets of the destination are never returned.',
  tag,
  params: ofExport,
  response: BatchExport,
  status: 200,
});

export const updateBatchExport = route({
  handler: 'batch-exports/update',
  method: 'PATCH',
  paths: below('/{id}'),
  scope: 'batch_export:write',
  summary: 'Change a batch export',
  description:
    'Changes the fields that are sent. `destination` needs its `type`, which stays, and a `config`, which is laid over ' +
    'the stored one: keys and secrets that it omits stay. Secrets must be sent again when the address that they are ' +
    'for changes.',
  tag,
  params: ofExport,
  body: BatchExportPatch,
  response: BatchExport,
  status: 200,
  needs: ['vault'],
});

export const destroyBatchExport = route({
  handler: 'batch-exports/destroy',
  method: 'DELETE',
  paths: below('/{id}'),
  scope: 'batch_export:write',
  summary: 'Delete a batch export',
  description: 'It is gone at once, and its runs and backfills are cancelled. What was delivered stays where it is.',
  tag,
  params: ofExport,
  status: 204,
  needs: ['workflow'],
});

/** Read by `backfillRange`, whose refusals are those of backfills, not of fields. */
const bound = () => z.unknown().optional().meta({ type: 'string', format: 'date-time' });

export const backfillBatchExport = route({
  handler: 'batch-exports/backfill',
  method: 'POST',
  paths: below('/{id}/backfill'),
  scope: 'batch_export:write',
  summary: 'Backfill a batch export',
  description:
    'Exports every interval that touches [start_at, end_at) and has ended; intervals that were exported before are ' +
    'delivered again, to the same places. The answer has no body; `Location` is the address of the backfill.',
  tag,
  params: ofExport,
  body: z
    .object({
      start_at: bound().describe('Required: ISO 8601, with an offset.'),
      end_at: bound().describe('Required: ISO 8601, with an offset; not in the future.'),
    })
    .meta({ id: 'BackfillInput' }),
  status: 200,
  idempotent: true,
  needs: ['workflow'],
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
  method: 'GET',
  scope: 'batch_export:read',
  tag,
  response: pageOf(BatchExportLogEntry),
  status: 200,
  paging: { kind: 'offset', limit: 50, max: 500 },
} as const;

export const listLogs = route({
  ...logs,
  handler: 'batch-exports/logs',
  paths: below('/{id}/logs'),
  summary: 'List log lines of a batch export',
  description: 'Newest first. Lines are kept for 30 days unless the deployment says otherwise.',
  params: ofExport,
  query: LogQuery,
});

export const listRunLogs = route({
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
  handler: 'runs/list',
  method: 'GET',
  paths: below('/{id}/runs'),
  scope: 'batch_export:read',
  summary: 'List runs of a batch export',
  description: 'A hundred a page. Times are ISO 8601, or relative to now: `-24h`, `-7d`.',
  tag,
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
  status: 200,
  paging: { kind: 'cursor', limit: 100, max: 100 },
});

export const retrieveRun = route({
  handler: 'runs/retrieve',
  method: 'GET',
  paths: below('/{id}/runs/{run_id}'),
  scope: 'batch_export:read',
  summary: 'Retrieve a run',
  tag,
  params: ofRun,
  response: BatchExportRunDetail,
  status: 200,
});

export const listBackfills = route({
  handler: 'backfills/list',
  method: 'GET',
  paths: below('/{id}/backfills'),
  scope: 'batch_export:read',
  summary: 'List backfills of a batch export',
  description: 'Fifty a page.',
  tag,
  params: ofExport,
  query: z.object({
    ordering: choice(['-created_at', 'created_at', '-start_at', 'start_at'])
      .optional()
      .describe('Default: -created_at.'),
  }),
  response: cursorPageOf(BatchExportBackfill),
  status: 200,
  paging: { kind: 'cursor', limit: 50, max: 50 },
});

export const retrieveBackfill = route({
  handler: 'backfills/retrieve',
  method: 'GET',
  paths: below('/{id}/backfills/{backfill_id}'),
  scope: 'batch_export:read',
  summary: 'Retrieve a backfill',
  description: 'With its progress.',
  tag,
  params: ofBackfill,
  response: BatchExportBackfill,
  status: 200,
});
