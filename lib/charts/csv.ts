import { stringify } from 'csv-stringify/sync';
import type { NumberTable } from './chart.ts';

/** Returns a table as a file for spreadsheets: RFC 4180. Texts that would be formulas begin with an apostrophe. */
export const csvOf = ({ columns, rows }: NumberTable): string =>
  stringify([columns, ...rows], { escape_formulas: true, record_delimiter: 'windows' });
