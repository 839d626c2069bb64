import { routes } from '../../lib/api/routes.ts';
import { endWithReader } from '../local/terminal.ts';

endWithReader(process.stdout);

/** Prints the table of endpoints. */
const lines = routes.flatMap(({ handler, method, paths, scope, status }) =>
  paths.map((path) => [method, path, scope, String(status), handler] as const),
);
const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
for (const line of lines.toSorted((a, b) => (a[1] < b[1] ? -1 : 1))) {
  process.stdout.write(`${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`);
}
