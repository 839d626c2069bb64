/** The cells of a table in the words of people. */
import type { Cell, NumberTable } from './chart.ts';
import { fullNumber, PRECISE, valueText } from './numbers.ts';

/** What is shown of a text has so many characters. */
const MAX_TEXT = 300;

/** Returns the beginning of a text, which may be a whole file. */
export const shownText = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT).toWellFormed()}…`;

/** What stands for a value that is not there, where an empty text may be. */
const NO_VALUE = 'null';

/** Ends of names of columns whose whole numbers tell one thing from another: none is more or less than another one. */
const ID =
  /(?:^|[^a-z])(?:ids?|uid|key|code|zip|postcode|phone_?number|phone|mobile|msisdn|number|no|ts|year|yyyymm(?:dd)?|epoch|unix)$/i;
const CAMEL_ID = /[a-z](?:I[dD]s?|Year|Number|Phone|Code|Key)$/;
/** Functions of HogQL that give such a number. */
const ID_CALL = /^to(?:Year|YYYYMM|UnixTimestamp)/;

const FIRST_YEAR = 1900;
const LAST_YEAR = 2100;

/** Are the numbers of a column ids or years, by its name or as all of them could be years? */
function areIds({ columns, rows }: NumberTable, at: number): boolean {
  const name = columns[at] ?? '';
  if (ID.test(name) || CAMEL_ID.test(name) || ID_CALL.test(name)) return true;
  return rows.every(({ [at]: cell }) => typeof cell !== 'number' || (cell >= FIRST_YEAR && cell <= LAST_YEAR));
}

/** What people read of a cell of a table. */
export interface ShownCell {
  readonly text: string;
  /** The whole value, where the text has less of it. */
  readonly exact: string | null;
  /** Whether there is no value, which the text says. */
  readonly isMissing: boolean;
}

const shown = (text: string): ShownCell => ({ text, exact: null, isMissing: false });

/** Returns what tells of each cell of a table, in the column at a place, what people read of it. */
export function cellsShown(table: NumberTable): (cell: Cell, at: number) => ShownCell {
  const { isExact = false } = table;
  const ids = isExact ? table.columns.map((_, at) => areIds(table, at)) : [];
  return (cell, at) => {
    if (typeof cell === 'string') return shown(shownText(cell));
    if (cell === null) return { ...shown(isExact ? NO_VALUE : ''), isMissing: isExact };
    if (!isExact) return shown(fullNumber(cell, PRECISE));
    const exact = String(cell);
    if (ids[at] === true && Number.isInteger(cell)) return shown(exact);
    const text = valueText(cell);
    return { ...shown(text), exact: text.replaceAll(',', '') === exact ? null : exact };
  };
}
