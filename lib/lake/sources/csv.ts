/**
 * Rows of a CSV file (RFC 4180; between commas, semicolons, tabs or bars, which the header tells) as events. A record
 * may hold line ends in quotes. What is no record costs as little as can be: when a quote is never closed, or a record of
 * several lines is none, only its first line is bad, and those behind it are read one by one.
 */
import { type CsvError, parse } from 'csv-parse/sync';
import { type Line, LONGEST_LINE } from './lines.ts';
import { isBlank, type LineFormat, type SourceRecord } from './record.ts';
import { doubledColumn, type RowReader, rowReader, type TableMapping, textCell } from './table-rows.ts';

const DELIMITERS = [',', ';', '\t', '|'];
/** A record that has more lines is one whose quote is not closed. */
const LINES_OF_A_RECORD = 1000;

interface Table {
  readonly delimiter: string;
  readonly columns: number;
  readonly read: RowReader;
}

/** Reads the records behind a header, which is the first line that is not blank. */
export function csvFormat(mapping: TableMapping): LineFormat {
  let header: Line | undefined;
  let table: Table | string | undefined;
  /** Lines of a record whose quote is open, and how many characters they have. */
  let open: Line[] = [];
  let openLength = 0;

  const give = (line: Line, cells: readonly string[], { columns, read }: Table): SourceRecord =>
    cells.length === columns
      ? { line, ...read(cells) }
      : bad(line, `${cells.length} fields, and the header has ${columns}`);

  /** One record; of several lines that are none the first is bad, and the others are read by themselves. */
  const record = (lines: readonly Line[], found: Table): SourceRecord[] => {
    const whole = joined(lines);
    const cells = cellsOf(whole.text, found.delimiter);
    if (typeof cells !== 'string' && cells.length === 1) return [give(whole, cells[0] as string[], found)];
    const [first = whole, ...others] = lines;
    const reason = typeof cells === 'string' ? cells : 'not one record';
    return [bad(first, reason), ...others.flatMap((line) => (isBlank(line) ? [blank(line)] : record([line], found)))];
  };

  const recordsOf = (groups: readonly (readonly Line[])[], found: Table): SourceRecord[] => {
    const wholes = groups.map(joined);
    const rows = cellsOf(wholes.map(({ text }) => text).join('\n'), found.delimiter);
    if (typeof rows === 'string' || rows.length !== groups.length)
      return groups.flatMap((lines) => record(lines, found));
    return wholes.map((line, n) => give(line, rows[n] as string[], found));
  };

  return {
    header: () => header,
    problem: () => (typeof table === 'string' ? table : undefined),
    take: (lines) => {
      const records: SourceRecord[] = [];
      let groups: Line[][] = [];
      const flush = (): void => {
        if (groups.length > 0) records.push(...recordsOf(groups, table as Table));
        groups = [];
      };
      for (const line of lines) {
        if (open.length === 0 && (isBlank(line) || line.problem !== undefined)) {
          flush();
          records.push(line.problem === undefined ? blank(line) : bad(line, line.problem));
          continue;
        }
        if (table === undefined) {
          header = line;
          table = readableTable(line.text, mapping);
          records.push(blank(line));
          continue;
        }
        if (typeof table === 'string') return records;
        open.push(line);
        openLength += line.text.length;
        const isTooLong = open.length > LINES_OF_A_RECORD || openLength > LONGEST_LINE || line.problem !== undefined;
        if (isTooLong) {
          flush();
          records.push(...record(open, table));
        } else if (hasOpenQuote(line.text) === (open.length === 1)) continue;
        else groups.push(open);
        open = [];
        openLength = 0;
      }
      flush();
      return records;
    },
    end: () => (typeof table === 'object' && open.length > 0 ? record(open, table) : []),
  };
}

/** Says why a line cannot be the header of a table of events; undefined: it can. */
export function headerProblem(line: Line, mapping: TableMapping): string | undefined {
  const found = line.problem ?? tableOf(columnsOf(line.text), mapping);
  return typeof found === 'string' ? found : undefined;
}

const blank = (line: Line): SourceRecord => ({ line, content: null, identity: '' });
const bad = (line: Line, reason: string): SourceRecord => ({ line, content: line.problem ?? reason, identity: '' });

interface Columns {
  readonly names: string[];
  readonly delimiter: string;
}

/** The names of columns that a header has, by the delimiter that makes most of them; undefined: it is none. */
export function columnsOf(header: string): Columns | undefined {
  let widest: Columns | undefined;
  for (const delimiter of DELIMITERS) {
    const rows = cellsOf(header, delimiter);
    const names = typeof rows === 'string' ? [] : (rows[0] ?? []).map((name) => name.trim());
    if (names.length > (widest?.names.length ?? 0)) widest = { names, delimiter };
  }
  return widest;
}

function tableOf(columns: Columns | undefined, mapping: TableMapping): Table | string {
  if (columns === undefined) return 'its first line is no header of a table';
  const { names, delimiter } = columns;
  const read = rowReader(names, mapping, textCell);
  return typeof read === 'string' ? read : { delimiter, columns: names.length, read };
}

/** A table whose columns that are read stand there once each; a text is the reason why it is none. */
function readableTable(header: string, mapping: TableMapping): Table | string {
  const columns = columnsOf(header);
  const twice = columns && doubledColumn(columns.names, mapping);
  return twice === undefined ? tableOf(columns, mapping) : `it has several columns ${twice}`;
}

/** Is a quote open behind the line, when none was before it? */
function hasOpenQuote(text: string): boolean {
  let isOpen = false;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isOpen = !isOpen;
  return isOpen;
}

/** Lines as one, with what was between them. */
function joined(lines: readonly Line[]): Line {
  const [first] = lines as [Line];
  if (lines.length === 1) return first;
  const encoding = lines.every((line) => line.encoding === 'utf8') ? 'utf8' : 'latin1';
  const texts = lines.map((line) =>
    line.encoding === encoding ? line.text : Buffer.from(line.text, line.encoding).toString(encoding),
  );
  return { number: first.number, text: texts.join('\n'), encoding };
}

/** The cells of records, one behind another; a text is the reason why they are none. */
function cellsOf(text: string, delimiter: string): string[][] | string {
  try {
    return parse(text, { delimiter, record_delimiter: '\n', relax_column_count: true });
  } catch (error) {
    return REASONS.get((error as CsvError).code) ?? `not CSV: ${(error as Error).message}`;
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['CSV_QUOTE_NOT_CLOSED', 'a quote is not closed'],
  ['INVALID_OPENING_QUOTE', 'a quote within a field that is not quoted'],
  ['CSV_INVALID_CLOSING_QUOTE', 'a quote within a quoted field that is not doubled'],
]);
