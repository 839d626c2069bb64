import * as z from 'zod';
import { wireInstant } from '../../../http/instant.ts';

export const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR'] as const;

export const BatchExportLogEntry = z
  .object({
    log_source_id: z.uuid(),
    instance_id: z.string(),
    timestamp: z.iso.datetime(),
    level: z.enum(LOG_LEVELS),
    message: z.string(),
  })
  .meta({ id: 'BatchExportLogEntry' });

/** Returns the public object of a log line (`at` in milliseconds since 1970) about a run, a backfill or the export. */
export function logEntryObject(
  exportId: string,
  line: { at: number; level: (typeof LOG_LEVELS)[number]; message: string; instance: string },
): z.output<typeof BatchExportLogEntry> {
  return {
    log_source_id: exportId,
    instance_id: line.instance,
    timestamp: wireInstant(line.at),
    level: line.level,
    message: line.message,
  };
}
