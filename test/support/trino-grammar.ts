/** The grammar of Trino, which is what Athena runs, by a parser that is kept for editors of SQL. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { temporaryFolder } from './context.ts';

interface Fault {
  readonly message: string;
}

/**
 * Returns a function that names the faults of a statement by the grammar alone; none, and Trino can read it. Athena's
 * own UNLOAD is not in the grammar.
 * The package's modules name one another in a way that only bundlers follow, so it is bundled first.
 */
export function trinoGrammar(): (sql: string) => readonly string[] {
  const outfile = join(temporaryFolder(), 'trino.cjs');
  buildSync({
    stdin: {
      contents: "export { TrinoSQL } from 'dt-sql-parser/dist/parser/trino/index.js'",
      resolveDir: join(import.meta.dirname, '../..'),
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile,
  });
  const { TrinoSQL } = createRequire(import.meta.url)(outfile) as {
    readonly TrinoSQL: new () => { validate(sql: string): readonly Fault[] };
  };
  const parser = new TrinoSQL();
  return (sql) => parser.validate(sql).map(({ message }) => message);
}
