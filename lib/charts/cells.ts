/** The cells of a table in the words of people. */
import type { Cell, NumberTable } from './chart.ts';
import { fullNumber, PRECISE } from './numbers.ts';

/** What is shown of a text has so many characters. */
const MAX_TEXT = 300;

/** Returns the beginning of a text, which may be a whole file. */
export const shownText = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).toWellFormed()}…`;

/** Returns what people read of a cell of a table. */
export function cellText(cell: Cell, { isExact = false }: Pick<NumberTable, 'isExact'>): string {
  if (typeof cell === 'string') return shownText(cell);
  if (cell === null) return '';
  return isExact ? String(cell) : fullNumber(cell, PRECISE);
}
