import { stringify } from 'csv-stringify/sync';
import { chartOfAnswer, remembered } from './drawn.ts';

/** Returns all numbers of an answer as a file for spreadsheets: RFC 4180. Texts that would be formulas begin with an apostrophe. */
export const spreadsheet = remembered(
  (answered): string => {
    const { columns, rows } = chartOfAnswer(answered).table;
    return stringify([columns, ...rows], { escape_formulas: true, record_delimiter: 'windows' });
  },
  (text) => text.length,
);
