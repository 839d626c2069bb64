import * as z from 'zod';
import { integer, uuid } from '../http/fields.ts';
import { pageOf, route } from '../http/route.ts';
import { Import, ImportInput, PART_BYTES, Preview, ReadingInput, Upload } from './model.ts';

const tag = 'Imports';
const read = { method: 'GET', scope: 'batch_import:read', tag, needs: ['imports'] } as const;
const write = { scope: 'batch_import:write', tag, needs: ['imports'] } as const;
const all = { paths: ['/api/projects/{project_id}/imports'], params: z.object({ project_id: integer() }) } as const;
const ofImport = z.object({ project_id: integer(), id: uuid() });
const one = { paths: ['/api/projects/{project_id}/imports/{id}'], params: ofImport } as const;
const below = <const P extends string>(path: P) =>
  ({ paths: [`/api/projects/{project_id}/imports/{id}/${path}`], params: ofImport }) as const;

export const listImports = route({
  ...read,
  ...all,
  handler: 'imports/list',
  summary: 'List imports',
  description: 'The newest first; those that have ended are kept for 90 days, unless they are deleted.',
  response: pageOf(Import),
  paging: { kind: 'offset', max: 100 },
});

export const createImport = route({
  ...write,
  ...all,
  handler: 'imports/create',
  method: 'POST',
  summary: 'Create an import',
  description:
    'Of one file, which is uploaded then, in parts, and started. 413 when it is larger than an import may be, 429 when ' +
    'ten imports of the organization have not ended, or several take more than half of the room on the disk; one that ' +
    'has failed counts for a day, unless it is cancelled, but of the ten none that was interrupted five times.',
  body: ImportInput,
  example: { name: 'events.jsonl.gz', bytes: 52_428 },
  response: Import,
  status: 201,
  idempotent: true,
});

export const retrieveImport = route({
  ...read,
  ...one,
  handler: 'imports/retrieve',
  summary: 'Retrieve an import',
  description: 'With how far it is.',
  response: Import,
});

export const uploadImport = route({
  ...write,
  ...below('content'),
  handler: 'imports/upload',
  method: 'PUT',
  table: 'read',
  summary: 'Upload a part of a file',
  description:
    'Parts are sent in order, each of 1 to 8 MiB, but for the last one. A part whose answer was lost is sent again. A ' +
    'part that does not begin where the last one ended is a 409, which says where that was.',
  query: z.object({
    offset: integer({ min: 0 }).optional().describe('Where the part begins in the file, in bytes. Default: 0.'),
  }),
  maxBytes: PART_BYTES.max,
  response: Upload,
});

export const previewImport = route({
  ...read,
  ...below('preview'),
  handler: 'imports/preview',
  method: 'POST',
  table: 'read',
  summary: 'Read the first records of a file',
  description: 'Of what is uploaded so far; Parquet when it is all there. Nothing is imported.',
  body: ReadingInput,
  example: { format: 'jsonl' },
  response: Preview,
});

export const startImport = route({
  ...write,
  ...below('start'),
  handler: 'imports/start',
  method: 'POST',
  summary: 'Start an import',
  description:
    'When its file is there; one that has failed may be started again for a day. What is in the project already is not ' +
    'added again. 429 for one that was interrupted five times, when ten others of the organization have not ended.',
  body: ReadingInput,
  example: { format: 'jsonl' },
  response: Import,
});

export const cancelImport = route({
  ...write,
  ...below('cancel'),
  handler: 'imports/cancel',
  method: 'POST',
  summary: 'Cancel an import',
  description:
    'What it has added stays. One that has failed is given up, and its file removed. 409 when it has ended otherwise.',
  response: Import,
});

export const destroyImport = route({
  ...write,
  ...one,
  handler: 'imports/destroy',
  method: 'DELETE',
  summary: 'Delete an import',
  description: 'One that has ended, with what was rejected of it. What it has added stays. 409 while it is open.',
  status: 204,
});

export const rejectedOfImport = route({
  ...read,
  ...below('rejected'),
  handler: 'imports/rejected',
  summary: 'Download the rejected lines of an import',
  description:
    'As they were in the file, to be mended and imported again: of CSV with the header, of Parquet as JSON lines. At most ' +
    '4 MiB; the header X-Next-Offset says where the rest begins. They are kept for 90 days, or until the import is ' +
    'deleted. Of a file 100 MB of them are kept.',
  query: z.object({ offset: integer({ min: 0 }).optional().describe('Where to begin, in bytes. Default: 0.') }),
  content: ['text/plain'],
});
