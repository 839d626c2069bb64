/** Counts the events of a project in the lake of a data directory, beside the service that has it. */
import { openDataDirectory } from '../../../infra/local/data/data-directory.ts';
import { allFiles } from '../../../lib/lake/catalog.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { input, tell } from '../program.ts';

const { dataDirectory, projectId } = input as { dataDirectory: string; projectId: number };
const context = openDataDirectory(
  dataDirectory,
  LOCAL_SETTINGS,
  logTo(() => {}, Date.now),
);
const files = await allFiles(context.table, projectId, 'events');
tell({ events: files.reduce((rows, file) => rows + file.rows, 0), files: files.length });
await context.close();
