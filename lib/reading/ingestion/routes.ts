import * as z from 'zod';
import { integer } from '../../http/fields.ts';
import { route } from '../../http/route.ts';
import { IngestionNumbers, IngestionWarning } from './model.ts';

const read = {
  method: 'GET',
  scope: 'project:read',
  tag: 'Ingestion',
  params: z.object({ project_id: integer() }),
} as const;

/** A day of minutes, at most. */
const MAX_MINUTES = 1_440;

export const listIngestionWarnings = route({
  ...read,
  handler: 'ingestion/warnings',
  paths: ['/api/projects/{project_id}/ingestion_warnings'],
  summary: 'List ingestion warnings',
  description:
    'Why events that SDKs sent, or what they change of persons, were not taken, or not as they were meant, in the last 30 ' +
    'days: for each reason how many, and the last of each day. ' +
    'Counts hold about: a process that is killed loses those of its last ten seconds.',
  response: z.array(IngestionWarning),
});

export const retrieveIngestionNumbers = route({
  ...read,
  handler: 'ingestion/numbers',
  paths: ['/api/projects/{project_id}/ingestion_numbers'],
  summary: 'Retrieve ingestion numbers',
  description:
    'What became of the events that SDKs sent, minute by minute, the latest first; the last minutes are counted on. ' +
    'They are kept for eight days.',
  query: z.object({
    minutes: integer({ min: 1, max: MAX_MINUTES }).optional().describe('How many minutes. Default: 60.'),
  }),
  response: IngestionNumbers,
});
