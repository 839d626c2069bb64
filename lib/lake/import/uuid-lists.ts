/**
 * Which files of events may hold one that is about to be added. Of each file there is a list of its uuids on the local
 * disk, eight bytes of each, in an order in which uuids that carry their time (version 7) lie by time: a batch of events of
 * now reads nothing of what is older. A list that is lacking is made of its file, so all of them may be lost at any time. One
 * may name a file that does not hold the event, which is looked into then; never does it fail to name one that does.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { DAY_MS } from '../../basics/units.ts';
import { literal, parquet, pathList } from '../../duckdb/database.ts';
import { isOfParquetFile } from '../../duckdb/failures.ts';
import type { LakeFile } from '../catalog.ts';

/** The time that a uuid of version 7 carries, to a minute or so, and 32 bits of what is random in any; null: it is no uuid. */
const KEY = "TRY_CAST(('0x' || substr(uuid, 1, 8) || substr(uuid, 29, 8)) AS UBIGINT)";
const IS_TIMED = "(substr(uuid, 15, 1) = '7')";

/** The lists of a project that has not been asked about for so long go. */
const KEPT_MS = 3 * DAY_MS;

/** What of a batch files may hold already. */
interface MayHold {
  readonly files: readonly LakeFile[];
  /** SQL of those rows of `staged`. */
  readonly rows: string;
}

/** A batch whose rows are in the table `staged`, and where it is to be looked for. */
interface Sought {
  readonly connection: DuckDBConnection;
  readonly projectId: number;
  readonly files: readonly LakeFile[];
  /** Returns local copies of files, each found intact. */
  readonly copies: (files: readonly LakeFile[]) => Promise<readonly string[]>;
}

/** Lists in a folder of the local disk. Nothing is synced there: it is to be emptied when the machine has been off. */
export class UuidLists {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    // Of a project for which nothing comes any more nobody asks.
    for (const project of readdirSync(folder))
      if (Date.now() - statSync(join(folder, project)).mtimeMs > KEPT_MS)
        rmSync(join(folder, project), { recursive: true, force: true });
  }

  /** Returns which files may hold events of the batch, and which of its rows they are. Each file that holds one is told. */
  async mayHold(sought: Sought): Promise<MayHold> {
    try {
      return await this.#mayHold(sought);
    } catch (error) {
      if (!isOfParquetFile(error)) throw error;
      // A list that was damaged is made anew, as one that is lacking.
      await this.keep(sought.projectId, []);
      return this.#mayHold(sought);
    }
  }

  async #mayHold({ connection, projectId, files, copies }: Sought): Promise<MayHold> {
    const folder = join(this.#folder, String(projectId));
    mkdirSync(folder, { recursive: true });
    const lists = new Map(files.map((file) => [join(folder, basename(file.path)), file]));
    const lacking = [...lists].filter(([list]) => !existsSync(list));
    const found = await copies(lacking.map(([, file]) => file));
    for (const [n, [list]] of lacking.entries()) await make(connection, found[n] as string, list);
    await connection.run(`CREATE OR REPLACE TABLE sought AS
      SELECT row, ${KEY} AS key, ${IS_TIMED} AS is_timed FROM staged WHERE event IS NOT NULL`);
    const all = `read_parquet(${pathList([...lists.keys()])}, filename = 'list', hive_partitioning = false)`;
    // Each kind by itself: the least and the greatest of what is sought tell which parts of the lists are read.
    const held = ['is_timed', 'NOT is_timed'].map(
      (kind) => `SELECT list, row FROM (FROM ${all} WHERE ${kind}) JOIN (FROM sought WHERE ${kind}) USING (key)`,
    );
    await connection.run(`CREATE OR REPLACE TABLE may_hold AS ${held.join(' UNION ALL ')}`);
    const named = await connection.runAndReadAll('SELECT DISTINCT list FROM may_hold');
    return {
      files: named.getRows().flatMap(([list]) => lists.get(String(list)) ?? []),
      rows: '(SELECT * FROM staged WHERE row IN (SELECT row FROM may_hold))',
    };
  }

  /** Forgets the lists of all but these files of a project: others were joined since, or are not asked about any more. */
  async keep(projectId: number, files: readonly LakeFile[]): Promise<void> {
    const folder = join(this.#folder, String(projectId));
    const kept = new Set(files.map(({ path }) => basename(path)));
    for (const name of await readdir(folder).catch(() => []))
      if (!kept.has(name)) await rm(join(folder, name), { force: true });
  }
}

/** Makes the list of a file. It is there whole, or not at all. */
async function make(connection: DuckDBConnection, file: string, list: string): Promise<void> {
  const part = `${list}.${randomUUID()}`;
  await connection.run(`COPY (
      FROM (SELECT ${KEY} AS key, ${IS_TIMED} AS is_timed FROM ${parquet([file])}) WHERE key IS NOT NULL ORDER BY is_timed, key
    ) TO ${literal(part)} (FORMAT parquet, COMPRESSION uncompressed)`);
  await rename(part, list);
}
