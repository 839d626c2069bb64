/** Rows of a table (CSV, Parquet) as events: which column is which field, and what becomes of the other columns. */

import { isObject } from '../../basics/json.ts';
import { invalid } from '../../ports/errors.ts';
import { isWrittenAsDay, type SourceEvent } from './event.ts';
import { exactNumberOf, parseAsWritten } from './exact-json.ts';
import { contentOf } from './fields.ts';

/** What is in a cell. `number`: what looks like a number there is one; `instant`: the same, unless it is written as a day. */
type CellType = 'text' | 'number' | 'instant';

/** Fields that a column may be, besides `properties.<name>`. */
const FIELDS: ReadonlyMap<string, CellType> = new Map([
  ['uuid', 'text'],
  ['event', 'text'],
  ['distinct_id', 'text'],
  ['timestamp', 'instant'],
  ['properties', 'text'],
  ['created_at', 'instant'],
  ['person_id', 'text'],
  ['person_properties', 'text'],
  ['elements_chain', 'text'],
  // Of rows of the model `persons`.
  ['person_version', 'number'],
  ['person_distinct_id_version', 'number'],
  ['_inserted_at', 'instant'],
  ['is_deleted', 'text'],
]);
const PROPERTY = 'properties.';

/**
 * How a table is read. Each field of an event is in the column named here, or in the one of its own name, or the same
 * text in all rows. A column that is no field is a property of its name, unless the table has a column `properties`.
 */
export interface TableMapping {
  /** Names of columns by field, or by `properties.<name>`. */
  readonly columns?: Readonly<Record<string, string>>;
  /** Texts by field, or by `properties.<name>`. */
  readonly values?: Readonly<Record<string, string>>;
}

/** Throws `Failure` for a mapping that names what is no field. */
export function checkMapping({ columns = {}, values = {} }: TableMapping): void {
  for (const field of [...Object.keys(columns), ...Object.keys(values)])
    if (!FIELDS.has(field) && !(field.startsWith(PROPERTY) && field !== PROPERTY))
      invalid('columns', `${field} is no field. Fields: ${[...FIELDS.keys()].join(', ')}, ${PROPERTY}<name>.`);
}

/** Reads one row, given by its cells: what it is, and the text that its uuid is made of. */
export type RowReader = (cells: readonly unknown[]) => { content: SourceEvent | string; identity: string };

/** What a cell holds; undefined: nothing. */
type CellValue = (cell: unknown, type: CellType) => unknown;

/** A cell of text: empty is nothing, numbers and truth values are what they look like where that is asked for. */
export const textCell: CellValue = (cell, type) => {
  if (cell === '') return undefined;
  const isText = type === 'text' || (type === 'instant' && isWrittenAsDay(String(cell)));
  return isText ? cell : typed(String(cell));
};

/** A cell that has a type already. */
export const typedCell: CellValue = (cell) => cell ?? undefined;

const NUMBER = /^-?(?:0|[1-9]\d{0,40})(?:\.\d{1,40})?$/;

const typed = (text: string): unknown =>
  NUMBER.test(text) ? exactNumberOf(text) : text === 'true' ? true : text === 'false' ? false : text;

interface Target {
  readonly field: string;
  /** Undefined: the same in all rows, which is `value`. */
  readonly column: number | undefined;
  readonly value?: unknown;
}

/** A reader of rows with these columns; a text is the reason why they cannot be events. */
export function rowReader(
  header: readonly string[],
  { columns = {}, values = {} }: TableMapping,
  valueOf: CellValue,
): RowReader | string {
  const known = new Set(header);
  const missing = Object.values(columns).filter((name) => !known.has(name));
  const has = `its columns are ${header.join(', ')}`;
  if (missing.length > 0) return `it has no column ${missing.join(', ')}; ${has}`;
  const targets = targetsOf(header, columns, values);
  const fields = new Set(targets.map(({ field }) => field));
  const needed = fields.has('person_version') && !fields.has('event') ? ['person_id'] : ['event', 'timestamp'];
  const lacking = ['distinct_id', ...needed].filter((field) => !fields.has(field));
  if (lacking.length > 0) return `no column says what ${lacking.join(', ')} is; ${has}`;

  return (cells) => {
    const row: Record<string, unknown> = {};
    const extra: [name: string, value: unknown][] = [];
    for (const { field, column, value: same } of targets) {
      const value = column === undefined ? same : valueOf(cells[column], FIELDS.get(field) ?? 'number');
      if (value === undefined) continue;
      if (FIELDS.has(field)) row[field] = value;
      else extra.push([field.slice(PROPERTY.length), value]);
    }
    if (extra.length > 0) row['properties'] = withProperties(row['properties'], extra);
    const content = contentOf(row);
    // What is no event may be nested so deeply that it cannot be written.
    return { content, identity: typeof content === 'string' ? '' : JSON.stringify(row) };
  };
}

/** The name of a column that would be read and stands twice; undefined: none does. */
export function doubledColumn(header: readonly string[], { columns = {}, values = {} }: TableMapping) {
  const read = targetsOf(header, columns, values).map(({ column }) =>
    column === undefined ? undefined : header[column],
  );
  const lastOf = new Map(header.map((name, at) => [name, at]));
  const doubled = new Set(header.filter((name, at) => lastOf.get(name) !== at));
  return read.find((name) => name !== undefined && doubled.has(name));
}

/** In an order that does not depend on that of the columns. */
function targetsOf(
  header: readonly string[],
  columns: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Target[] {
  const found = new Map<string, Target>();
  const used = new Set(Object.values(columns));
  const isWhole = header.includes('properties') || Object.hasOwn(columns, 'properties');
  for (const [column, name] of header.entries()) {
    if (name === '' || used.has(name)) continue;
    const field = FIELDS.has(name) ? name : isWhole ? undefined : `${PROPERTY}${name}`;
    if (field !== undefined) found.set(field, { field, column });
  }
  const columnOf = new Map(header.map((name, column) => [name, column]));
  for (const [field, name] of Object.entries(columns)) found.set(field, { field, column: columnOf.get(name) });
  for (const [field, text] of Object.entries(values))
    found.set(field, { field, column: undefined, value: textCell(text, FIELDS.get(field) ?? 'number') });
  return [...found.values()].toSorted((a, b) => (a.field < b.field ? -1 : 1));
}

/** What is there already, with these beside it; what is no object stays for `contentOf` to refuse. */
function withProperties(whole: unknown, extra: readonly (readonly [string, unknown])[]): unknown {
  const found = typeof whole === 'string' ? jsonOf(whole) : (whole ?? {});
  return isObject(found) ? Object.assign(Object.create(null), found, Object.fromEntries(extra)) : whole;
}

function jsonOf(text: string): unknown {
  try {
    return parseAsWritten(text);
  } catch {
    return undefined;
  }
}
