/** The program of the worker that lands captured events, or deletes a person: it opens the data directory beside the service. */
import { type LandingSegment, land } from '../../lib/capture/land.ts';
import { type DeletedPerson, deletePerson } from '../../lib/lake/import/delete-person.ts';
import { folderInbox } from '../../lib/ports/inbox/folder.ts';
import { logTo } from '../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../lib/ports/settings.ts';
import { serveTasks } from '../../lib/workers/serve.ts';
import { inboxIn, openDataDirectory } from './data-directory.ts';

export interface LandWorkerOptions {
  /** The data directory. */
  readonly home: string;
}

void serveTasks<LandWorkerOptions>(async ({ folder, options: { home } }) => {
  const log = logTo((line) => process.stderr.write(`${JSON.stringify(line)}\n`), Date.now);
  const context = { ...openDataDirectory(home, LOCAL_SETTINGS, log), inbox: await folderInbox(inboxIn(home)) };
  return {
    'delete-person': (person: DeletedPerson) => deletePerson(context, person, folder),
    land: (segments: readonly LandingSegment[]) => land(context, segments, { temporaryFolder: folder }),
  };
});
