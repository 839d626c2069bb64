/** Rows as a person reads them on a terminal. */
import { plain } from '../../basics/plain.ts';

const cell = (value: unknown): string =>
  plain(typeof value === 'string' ? value : value === null || value === undefined ? '-' : JSON.stringify(value));

/** Returns a header and rows in columns; without rows, `empty`. */
export function table(header: readonly string[], rows: readonly (readonly unknown[])[], empty: string): string {
  if (rows.length === 0) return empty;
  const lines = [header, ...rows].map((row) => row.map(cell));
  const widths = header.map((_, n) => Math.max(...lines.map((line) => line[n]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, n) => text.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Returns names and values, a line each. */
export function details(entries: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(entries).map((name) => name.length));
  return Object.entries(entries)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n');
}
