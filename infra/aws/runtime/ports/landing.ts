import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { CaptureCounts } from '../../../../lib/capture/counts.ts';
import { land } from '../../../../lib/capture/land.ts';
import { Lander } from '../../../../lib/capture/lander.ts';
import type { Landing } from '../../../../lib/capture/landing.ts';
import { LandingTurns } from '../../../../lib/capture/landing-turns.ts';
import { lakeDatabases } from '../../../../lib/lake/databases.ts';
import { UuidLists } from '../../../../lib/lake/import/uuid-lists.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { WALK_MS } from '../timeouts.ts';

/** Who lands, in the one function that does: with DuckDB, on the function's own disk. One at a time. */
export const landing = (context: Context, listsFolder = mkdtempSync(join(tmpdir(), 'uuids-'))): Landing => {
  const { inbox, log, clock, metrics } = context;
  if (inbox === null) throw new Error('there is no inbox here');
  const counts = new CaptureCounts(context);
  const lists = new UuidLists(listsFolder);
  const databases = lakeDatabases(context.lake, { places: [listsFolder] });
  const turns = new LandingTurns();
  const lander = new Lander({
    inbox,
    land: (segments) => land({ ...context, databases, inbox }, segments, { lists, turns }),
    log,
    clock,
    metrics,
    counts,
  });
  return {
    walk: async () => {
      const until = clock() + WALK_MS;
      const waiting = await inbox.segments();
      const [oldest] = waiting;
      metrics.record({
        InboxBytes: waiting.reduce((sum, { bytes }) => sum + bytes, 0),
        // Should all of this fail, or the process die, it is told that something waits.
        ...(oldest === undefined ? {} : { LandingDelay: (clock() - oldest.writtenAt) / SECOND_MS }),
      });
      let left = waiting.length;
      while (left > 0 && clock() < until) {
        await lander.pass();
        // A walk may take longer than the five minutes that an alarm looks at.
        metrics.record({ InboxBytes: lander.waitingBytes });
        left = lander.left;
      }
      await counts.flush();
      return { found: waiting.length, isCut: left > 0 };
    },
  };
};
