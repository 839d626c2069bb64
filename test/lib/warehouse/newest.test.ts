import { join } from 'node:path';
import * as fc from 'fast-check';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { FILE_COLUMNS } from '../../../lib/exports/destinations/files/config.ts';
import { folderFiles } from '../../../lib/ports/files/folder.ts';
import { duckdbWarehouse } from '../../../lib/warehouse/duckdb.ts';
import { temporaryFolder } from '../../support/context.ts';
import { planOf, writePersons } from '../../support/lake-rows.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const START = Date.UTC(2026, 0, 1);
const FORM = { format: 'JSONLines', columns: FILE_COLUMNS.persons } as const;
const never = new AbortController().signal;

/** Who changed in which minute, in the files of a lake; of a distinct_id there is one row of a minute. */
const histories = fc
  .uniqueArray(fc.record({ who: fc.constantFrom('a', 'b', 'c', 'd', 'e'), minute: fc.nat(20), file: fc.nat(3) }), {
    selector: ({ who, minute }) => `${who} ${minute}`,
    minLength: 1,
    maxLength: 30,
  })
  .map((rows) => [0, 1, 2, 3].map((n) => rows.filter(({ file }) => file === n)).filter((file) => file.length > 0));

test('of each distinct_id the newest row of the interval is read, in order, however files overlap', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.nat(10), fc.integer({ min: 1, max: 11 }), async (history, from, length) => {
      const lake = folderFiles(join(temporaryFolder(), "it's [a] lake"));
      const files = await writePersons(
        lake,
        history.map((rows) =>
          rows.map(({ who, minute }) => ({ distinct_id: who, inserted_us: (START + minute * MINUTE_MS) * 1000 })),
        ),
      );
      const interval = { start: START + from * MINUTE_MS, end: START + (from + length) * MINUTE_MS };
      const newest = new Map<string, number>();
      for (const { who, minute } of history.flat().filter((row) => row.minute >= from && row.minute < from + length))
        newest.set(who, Math.max(minute, newest.get(who) ?? 0));
      const expected = [...newest].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));

      const warehouse = duckdbWarehouse({ lake });
      const plan = planOf({ files, intervals: [interval] }, { model: 'persons' });
      let text = '';
      for await (const piece of warehouse.read(plan, interval, FORM, never)) text += piece.toString();
      const read = text
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .map((row) => [row.distinct_id, (Date.parse(row._inserted_at) - START) / MINUTE_MS]);
      expect(read).toEqual(expected);
      expect(await warehouse.count(plan, interval, never)).toBe(expected.length);
      await warehouse.close();
    }),
    { numRuns: propertyRuns(20) },
  );
});
