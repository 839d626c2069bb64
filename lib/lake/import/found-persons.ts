/** Which distinct_ids persons had when they were found, however many: read of the lake again, as often as it is asked. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeTable, parquet } from '../../duckdb/database.ts';
import { allFiles } from '../catalog.ts';
import { intactCopies, intactFiles } from '../intact.ts';
import type { LakeWriter } from '../lease.ts';
import type { FoundPerson } from '../persons/change.ts';

/**
 * Returns the SHA-256 of each distinct_id that these persons had when they were found, in their order. What becomes of them
 * later changes nothing of it. Files are read one at a time, so that no disk must hold all.
 */
export async function foundDistinctIds(
  { table, lake, databases }: Pick<LakeWriter, 'table' | 'lake' | 'databases'>,
  projectId: number,
  persons: readonly FoundPerson[],
): Promise<string[][]> {
  const files = await allFiles(table, projectId, 'persons');
  return databases.use(async ({ connection, folder }) => {
    const copies = join(folder, 'copies');
    const isIntact = intactFiles();
    const ofEach = async (sql: (rows: string) => string): Promise<void> => {
      for (const file of files) {
        try {
          await connection.run(sql(parquet(await intactCopies(lake, isIntact, [file], copies))));
        } finally {
          await rm(copies, { recursive: true, force: true });
        }
      }
    };
    const columns = 'n INTEGER, found_id VARCHAR, found_version BIGINT';
    const sought = persons.map(({ id, version }, n) => [n, id, version]);
    await makeTable(connection, 'found_persons', columns, sought);
    await connection.run(`CREATE OR REPLACE TABLE found_once (n INTEGER, distinct_id VARCHAR);
      CREATE OR REPLACE TABLE found_states (n INTEGER, distinct_id VARCHAR, at_us BIGINT, is_theirs BOOLEAN)`);
    await ofEach(
      (rows) => `INSERT INTO found_once SELECT DISTINCT n, distinct_id
        FROM ${rows} JOIN found_persons ON person_id = found_id WHERE inserted_us <= found_version`,
    );
    await connection.run('CREATE OR REPLACE TABLE found_once AS SELECT DISTINCT * FROM found_once');
    // A distinct_id that they had once may have been another's then.
    await ofEach(
      (rows) => `INSERT INTO found_states
        SELECT n, distinct_id, max(inserted_us), arg_max(person_id = found_id AND NOT is_deleted, inserted_us)
        FROM ${rows} JOIN found_once USING (distinct_id) JOIN found_persons USING (n)
        WHERE inserted_us <= found_version GROUP BY n, distinct_id`,
    );
    const found: string[][] = persons.map(() => []);
    const read = await connection.runAndReadAll(`SELECT n, sha256(distinct_id) FROM found_states
      GROUP BY n, distinct_id HAVING arg_max(is_theirs, at_us) ORDER BY ALL`);
    for (const [n, sha256] of read.getRows()) found[Number(n)]?.push(String(sha256));
    for (const name of ['persons', 'once', 'states']) await connection.run(`DROP TABLE found_${name}`);
    return found;
  });
}
