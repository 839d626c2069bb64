/** The numbers of a chart as a file for spreadsheets: RFC 4180. */
import type { Cell, NumberTable } from '../../charts/chart.ts';

/** Returns a table as CSV. Texts that a spreadsheet would take for a formula begin with an apostrophe. */
export const csvOf = ({ columns, rows }: NumberTable): string =>
  [columns, ...rows].map((row) => `${row.map(cellText).join(',')}\r\n`).join('');

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
