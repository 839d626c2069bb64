/** A file as a source of records, whatever format it is in. */
import { isObject } from '../../basics/json.ts';
import type { DatabaseLimits } from '../../duckdb/database.ts';
import { accessLogReader } from './access-log.ts';
import { columnsOf, csvFormat, headerProblem } from './csv.ts';
import type { LineReader } from './event.ts';
import { contentOfJson } from './fields.ts';
import { IMPORT_FORMATS, type ImportFormat, type PageViews } from './formats.ts';
import { type Line, type LinePlace, type LinesOptions, linesOf } from './lines.ts';
import { beginsAsParquet, parquetRows } from './parquet.ts';
import { isBlank, type LineFormat, type SourceRecord } from './record.ts';
import type { TableMapping } from './table-rows.ts';

interface SourceOptions extends LinesOptions {
  readonly path: string;
  /** Of the file, in bytes. */
  readonly size: number;
  /** Default: told by how the file begins. */
  readonly format?: ImportFormat;
  readonly mapping: TableMapping;
  /** Of web server logs. Default: requests for pages by people. */
  readonly pageViews?: PageViews | undefined;
  /** For the reading of Parquet. */
  readonly limits: DatabaseLimits;
}

interface Source {
  /** Records in order, many at a time. Read it once. Never throws for what the file holds. */
  batches(): AsyncGenerator<readonly SourceRecord[]>;
  /** Null: it could not be told. */
  format(): ImportFormat | null;
  /** Bytes of the file read so far. */
  bytesRead(): number;
  /** What is wrong with the file as a whole, once all was read. */
  problem(): string | undefined;
  /** The line that says what the others hold, where the format has one. */
  header(): Line | undefined;
  /** The names of the columns of Parquet, once it is read; null: there are none, or they cannot be read. */
  columns(): string[] | null;
  /** Where it can be read on from later, without what was given; undefined where it cannot. */
  place(): LinePlace | undefined;
}

/** Lines by which a file's format is told. */
const LOOKED_AT = 100;

export async function openSource(options: SourceOptions): Promise<Source> {
  const format = options.format ?? ((await beginsAsParquet(options.path)) ? 'parquet' : undefined);
  return format === 'parquet' ? parquetSource(options) : lineSource({ ...options, format });
}

function parquetSource({ path, size, mapping, limits }: SourceOptions): Source {
  const rows = parquetRows(path, mapping, limits);
  return {
    batches: () => rows.batches(),
    format: () => 'parquet',
    bytesRead: () => Math.round(size * rows.progress()),
    problem: () => rows.problem(),
    header: () => undefined,
    columns: () => rows.columns(),
    place: () => undefined,
  };
}

interface LineSourceOptions extends Omit<SourceOptions, 'format'> {
  readonly format?: Exclude<ImportFormat, 'parquet'> | undefined;
}

function lineSource({ path, format: given, mapping, pageViews, ...options }: LineSourceOptions): Source {
  const lines = linesOf(path, options);
  let name = given ?? null;
  let format: LineFormat | undefined;
  let unknown: string | undefined;
  return {
    batches: async function* () {
      for await (const some of lines.batches()) {
        unknown = noTextIn(some);
        if (unknown !== undefined) return;
        name ??= formatOf(some, mapping);
        if (name === null && some.some(isReadable)) {
          unknown = [
            `its first lines are in no known format (${IMPORT_FORMATS.join(', ')}); nothing of it was imported`,
            ...lackOf(some, mapping),
          ].join('. ');
          return;
        }
        if (name !== null) format ??= FORMATS[name](mapping, pageViews);
        yield (format ?? UNTOLD).take(some);
        if (format?.problem() !== undefined) return;
      }
      yield format?.end() ?? [];
    },
    format: () => name,
    bytesRead: () => lines.bytesRead(),
    problem: () => unknown ?? format?.problem() ?? lines.damage(),
    header: () => format?.header(),
    columns: () => null,
    // A line of a table means nothing without its header, and a record of it may have several.
    place: () => (name === 'csv' || name === null ? undefined : lines.place()),
  };
}

/** A record is a line. A reader keeps what it remembers for one file. */
const eachLine = (read: LineReader, isUtf8Only: boolean): LineFormat => ({
  take: (lines) =>
    lines.map((line) => ({
      line,
      identity: line.text,
      content: isBlank(line) ? null : contentOf(line, read, isUtf8Only),
    })),
  end: () => [],
  problem: () => undefined,
  header: () => undefined,
});

function contentOf({ text, encoding, problem }: Line, read: LineReader, isUtf8Only: boolean): SourceRecord['content'] {
  if (problem !== undefined) return problem;
  return isUtf8Only && encoding !== 'utf8' ? 'not UTF-8' : read(text);
}

const FORMATS: Readonly<
  Record<Exclude<ImportFormat, 'parquet'>, (mapping: TableMapping, pageViews?: PageViews) => LineFormat>
> = {
  combined: (_mapping, pageViews) => eachLine(accessLogReader(pageViews), false),
  jsonl: () => eachLine(contentOfJson, true),
  csv: csvFormat,
};

/** Before the first line by which the format could be told: nothing that can be read. */
const UNTOLD = eachLine(() => 'in no known format', false);

const isReadable = (line: Line): boolean => line.problem === undefined && !isBlank(line);

/** The first line of JSON that is one array. */
const ARRAY = /^\s*\[\s*(\{|\[|$)/;

/** How files begin that hold no text, each byte as a character, and what they are, with what is to be done first. */
const NO_TEXT: readonly (readonly [begins: string, says: string])[] = [
  ['\xff\xfe', 'it is UTF-16: save it as UTF-8'],
  ['\xfe\xff', 'it is UTF-16: save it as UTF-8'],
  ['PK\x03\x04', 'it is a ZIP archive: unpack it'],
];

/** Says what a file is that holds no text, by its first line if that is among these. */
function noTextIn([first]: readonly Line[]): string | undefined {
  if (first?.number !== 1) return undefined;
  const [, says] = NO_TEXT.find(([begins]) => first.text.startsWith(begins)) ?? [];
  return says === undefined ? undefined : `${says} first; nothing of it was imported`;
}

/** Says, in a sentence or none, what lines of no known format lack that may be a table of events, objects or an array of them. */
function lackOf(lines: readonly Line[], mapping: TableMapping): string[] {
  const first = lines.find(isReadable);
  if (first === undefined) return [];
  if (ARRAY.test(first.text)) return ['It is a JSON array: write one object a line'];
  const object = objectIn(first.text);
  if (object !== undefined) return [`As JSON lines, its first one cannot be read: ${lackOfJson(first, object)}`];
  const isTable = Object.keys(mapping.columns ?? {}).length > 0 || (columnsOf(first.text)?.names.length ?? 0) > 1;
  const lack = isTable ? headerProblem(first, mapping) : undefined;
  return lack === undefined ? [] : [`${AS_TABLE}${lack}`];
}

const AS_TABLE = 'As a table, ';

/** Says a problem of a file that it may be a table whose columns somebody has to name? */
export const lacksColumns = (problem: string): boolean => problem.includes(AS_TABLE);

/** The object that a line of JSON is; undefined: it is none. */
function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** So many fields of a line are named, and so many characters of each. */
const NAMED = { fields: 20, length: 40 };

/** Says which fields an object lacks to be an event, and which it has; or why it is none though it has them. */
function lackOfJson({ text, encoding }: Line, object: Readonly<Record<string, unknown>>): string {
  if (encoding !== 'utf8') return 'it is not UTF-8. Save the file as UTF-8';
  const { properties } = object;
  const has = (name: string): boolean =>
    Object.hasOwn(object, name) || (name === 'distinct_id' && isObject(properties) && Object.hasOwn(properties, name));
  const missing = ['event', 'distinct_id', 'timestamp'].filter((name) => !has(name));
  const reason = contentOfJson(text);
  if (missing.length === 0 && typeof reason === 'string') return reason;
  const names = Object.keys(object).map((name) => name.slice(0, NAMED.length).toWellFormed());
  const more = names.length > NAMED.fields ? ` and ${names.length - NAMED.fields} more` : '';
  return `it has no ${missing.join(', ')}; its fields are ${names.slice(0, NAMED.fields).join(', ')}${more}`;
}

/** The format that most of the first lines are in, or a table whose header says what is an event; null: none. */
function formatOf(lines: readonly Line[], mapping: TableMapping): Exclude<ImportFormat, 'parquet'> | null {
  const some = lines.filter(isReadable).slice(0, LOOKED_AT);
  let found: 'combined' | 'jsonl' | null = null;
  let most = 0;
  for (const name of ['combined', 'jsonl'] as const) {
    const events = FORMATS[name](mapping)
      .take(some)
      .filter(({ content }) => typeof content !== 'string').length;
    if (events > most) found = name;
    most = Math.max(most, events);
  }
  const [first] = some;
  return found ?? (first !== undefined && headerProblem(first, mapping) === undefined ? 'csv' : null);
}
