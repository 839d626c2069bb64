/** The program of the worker that lands captured events, joins files, or deletes persons: it opens the data directory beside the service. */

import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { type LandingSegment, land } from '../../../lib/capture/land.ts';
import { LandingTurns } from '../../../lib/capture/landing-turns.ts';
import { compact } from '../../../lib/lake/compact.ts';
import { lakeDatabases } from '../../../lib/lake/databases.ts';
import { type Deletion, deleteNow } from '../../../lib/lake/import/delete-person.ts';
import { walkDeletions } from '../../../lib/lake/import/person-deletions.ts';
import { UuidLists } from '../../../lib/lake/import/uuid-lists.ts';
import { folderInbox } from '../../../lib/ports/inbox/folder.ts';
import { logTo } from '../../../lib/ports/log.ts';
import { LOCAL_SETTINGS } from '../../../lib/ports/settings.ts';
import { serveTasks } from '../../../lib/workers/serve.ts';
import { inboxIn, openStores, uuidListsIn } from '../data/data-stores.ts';

/** A walk through a project's files begins nothing more then. */
const WALK_MS = 10 * MINUTE_MS;

export interface LandWorkerOptions {
  /** The data directory. */
  readonly home: string;
  /** Which run of the service the worker lands for; without it, it lands nothing. */
  readonly service?: string;
}

void serveTasks<LandWorkerOptions>(async ({ folder, options: { home, service } }) => {
  const log = logTo((line) => process.stderr.write(`${JSON.stringify(line)}\n`), Date.now);
  const stores = openStores(home, LOCAL_SETTINGS, log);
  const databases = lakeDatabases(stores.lake, { folder, places: [uuidListsIn(home)] });
  const context = { ...stores, databases, inbox: await folderInbox(inboxIn(home)) };
  const turns = new LandingTurns();
  return {
    compact: (project: number) => compact(context, project, { until: Date.now() + WALK_MS }),
    'delete-now': (deletion: Deletion) => deleteNow(context, deletion),
    'walk-deletions': (project: number) => walkDeletions(context, project, { until: Date.now() + WALK_MS }),
    land: (segments: readonly LandingSegment[]) =>
      land(context, segments, { lists: new UuidLists(uuidListsIn(home)), turns, service }),
  };
});
