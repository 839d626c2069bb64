/** What stands for Athena: its tables are the lake's files, its SQL is answered by what stands for Trino. */
import type { DuckDBValue } from '@duckdb/node-api';
import { literal, pathList } from '../../lib/duckdb/database.ts';
import { LAKE_MODELS, MODELS } from '../../lib/lake/schema.ts';
import type { FileStore } from '../../lib/ports/files/files.ts';
import type { TextRow } from '../../lib/ports/queries/athena.ts';
import { asDuckdb, openTrino } from './trino.ts';

interface AthenaHere {
  /** Returns the rows of a SELECT, as Athena writes their values. */
  rows(sql: string): Promise<TextRow[]>;
  end(): void;
}

interface AthenaOptions {
  readonly lake: Pick<FileStore, 'list' | 'local' | 'address'>;
  readonly database: string;
  /** Where copies of the lake's files may lie. */
  readonly folder: string;
}

/** Opens a database whose tables have all that lies in the lake, also what others have taken the place of. */
export async function athenaHere({ lake, database, folder }: AthenaOptions): Promise<AthenaHere> {
  const connection = await openTrino();
  await connection.run(`CREATE SCHEMA "${database}"`);

  const lookAgain = async (): Promise<void> => {
    for (const model of MODELS) {
      const paths: string[] = [];
      for await (const { path } of lake.list(model)) paths.push(path);
      if (paths.length === 0) continue;
      const copies = await lake.local(paths, folder);
      const places = `MAP {${copies.map((copy, n) => `${literal(copy)}: ${literal(lake.address(paths[n] ?? ''))}`).join(', ')}}`;
      const partition = (name: string): string => `regexp_extract(filename, '/${name}=([^/]+)/', 1) AS "${name}"`;
      // Glue knows these columns alone, and the project as a partition.
      const columns = LAKE_MODELS[model].columns.flatMap(({ name }) => (name === 'team_id' ? [] : [name]));
      await connection.run(`CREATE OR REPLACE VIEW "${database}".${model} AS
        SELECT ${[...columns, ...['team_id', 'day', 'gen'].map(partition)].join(', ')},
          list_extract(map_extract(${places}, filename), 1) AS "$path"
        FROM read_parquet(${pathList(copies)}, union_by_name = true, hive_partitioning = false, filename = true)`);
    }
  };

  return {
    rows: async (sql) => {
      await lookAgain();
      const found = await connection.runAndReadAll(asDuckdb(sql));
      return found.getRows().map((row) => row.map(textOf));
    },
    end: connection.end,
  };
}

const textOf = (value: DuckDBValue): string | null => (value === null ? null : String(value));
