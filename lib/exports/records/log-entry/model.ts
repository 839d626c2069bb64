import * as z from 'zod';
import { wireInstant } from '../../../http/instant.ts';
import type { LogLine } from '../logs.ts';

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

/** Returns the public object of a log line about a run, a backfill or the export. */
export function logEntryObject(exportId: string, line: LogLine): z.output<typeof BatchExportLogEntry> {
  return {
    log_source_id: exportId,
    instance_id: line.instance,
    timestamp: wireInstant(line.at),
    level: line.level,
    message: line.message,
  };
}
