/** The tree as SQL of DuckDB, over the columns of the lake's files. No query that was checked fails on any row. */
import { literal } from '../duckdb/database.ts';
import {
  type Expression,
  elementType,
  type FormatCode,
  type List,
  type Part,
  type Path,
  type Selected,
} from './expression.ts';
import { likePattern } from './patterns.ts';
import { alike, boundBy, type Dialect, formatText, heldTime, INSTANT_TEXT, print, typeText } from './print.ts';
import { MAX_RANGE } from './size.ts';

/** Codes of a date's format that are others here. */
const CODES: Partial<Record<FormatCode, string>> = { i: '%M', M: '%B', W: '%A' };

const PARTS: Partial<Record<Part, string>> = {
  day_of_month: 'day',
  day_of_week: 'isodow',
  day_of_year: 'doy',
  iso_week: 'week',
};

const time = (instant: string): string => `make_timestamp(${instant})`;

const bound = boundBy((value, body) => `list_extract(list_transform([${value}], lambda bound: ${body}), 1)`);

/** DuckDB takes `*` for a pattern, even in quotes, and knows no empty key; it takes both in a JSON pointer. */
const needsPointer = (key: string | number): boolean => key === '' || key === '*';

/** The steps to the last document but one, and the last step. */
function steps(path: Path): readonly string[] {
  const found: string[] = [];
  let open = '$';
  for (const key of path) {
    if (needsPointer(key)) {
      if (open !== '$') found.push(open);
      found.push(`/${key}`);
      open = '$';
    } else open += typeof key === 'number' ? `[${key}]` : `."${key.replace(/["\\]/g, '\\$&')}"`;
  }
  return open === '$' && found.length > 0 ? found : [...found, open];
}

/** A function of a JSON document and a path, applied at the end of the path. */
function atPath(name: string, document: string, path: Path): string {
  const all = steps(path);
  const last = all.at(-1) ?? '$';
  const inner = all.slice(0, -1).reduce((found, step) => `json_extract(${found}, ${literal(step)})`, document);
  return `${name}(${inner}, ${literal(last)})`;
}

/** The elements of a list in JSON; null where there is none, which DuckDB does not know for a list of a constant document. */
const elementsAt = (document: string, path: Path): string =>
  `CAST(TRY(json_extract(${atPath('json_extract', document, path)}, '$[*]')) AS JSON[])`;

/** TRY does not catch what fails in a condition of CASE. */
const whenJson = (document: string, sql: string): string => `CASE WHEN json_valid(${document}) THEN ${sql} END`;

const jsonText = (document: string, path: Path): string =>
  `CAST(TRY(${atPath('json_extract', document, path)}) AS VARCHAR)`;

/** A condition on two lists; false where one is missing. */
const both = ([a, b]: readonly string[], holds: (a: string, b: string) => string): string =>
  bound(`{a: ${a}, b: ${b}}`, (v) => `coalesce(${holds(`${v}.a`, `${v}.b`)}, FALSE)`);
/** Whether an element of a list is missing. */
const lacking = (list: string): string => `(list_count(${list}) < len(${list}))`;
/** Of a missing list null. */
const sumOf = (list: string): string =>
  bound(list, (v) => `CASE WHEN ${v} IS NOT NULL THEN coalesce(list_sum(${v}), 0) END`);

/**
 * What else than a number DuckDB takes for one has spaces, underscores, letters or two signs; of texts without these it
 * knows the numbers itself.
 */
const FLOAT_CHARACTERS = String.raw`^[-+]?[.0-9][-+.0-9eE]*\z`;

const whole = (text: string, pattern: string): string => `nullif(regexp_extract(${text}, '${pattern}'), '')`;

/** DuckDB wants seconds before an offset. */
const strictInstant = (text: string): string =>
  `regexp_replace(${whole(text, INSTANT_TEXT)}, '^(.{16})([Z+-])', '\\1:00\\2')`;

/** As `\1`; a backslash is two. */
const replacementOf = (pieces: readonly (string | number)[]): string =>
  pieces.map((piece) => (typeof piece === 'number' ? `\\${piece}` : piece.replaceAll('\\', '\\\\'))).join('');

/** Texts behind one another, by halves: what is made on the way is longer the more of it was joined before. */
function joined(of: readonly string[]): string {
  if (of.length <= 2) return `(${of.join(' || ')})`;
  const half = Math.ceil(of.length / 2);
  return `(${joined(of.slice(0, half))} || ${joined(of.slice(half))})`;
}

/**
 * Whether a pattern is found. DuckDB's LIKE takes exponential time with each `%`, and its optimizer makes a LIKE of a
 * pattern that looks like one; it does not where a group is around it.
 */
const matched = (text: string, pattern: string): string => `regexp_matches(${text}, ${literal(`(${pattern})`)})`;

/** A LIKE; one that only looks for a text at the beginning, at the end or anywhere is quicker as what it is. */
function likened(text: string, like: string): string {
  const [, before = '', plain, after = ''] = /^(%?)((?:[^%_\\]|\\[^])+)(%?)$/.exec(like) ?? [];
  if (plain === undefined) return matched(text, likePattern(like));
  const what = literal(plain.replace(/\\([^])/g, '$1'));
  const where = { '%%': 'contains', '%': before === '%' ? 'ends_with' : 'starts_with', '': undefined }[before + after];
  return where === undefined ? `${text} = ${what}` : `${where}(${text}, ${what})`;
}

const TYPES: Dialect['types'] = {
  text: 'VARCHAR',
  json: 'VARCHAR',
  integer: 'BIGINT',
  float: 'DOUBLE',
  boolean: 'BOOLEAN',
  instant: 'BIGINT',
  date: 'BIGINT',
  list: (element) => `${element}[]`,
  tuple: (parts) => `STRUCT(${parts.map((part, n) => `f${n + 1} ${part}`).join(', ')})`,
};

export const DUCKDB: Dialect = {
  literal,
  types: TYPES,
  operators: {
    ...alike({
      slash: '//',
      startOf: (instant, unit) => `epoch_us(date_trunc('${unit}', ${time(instant)}))`,
      unitsSince1970: (instant, unit) => `date_diff('${unit}', TIMESTAMP '1970-01-01', ${time(instant)})`,
      addMonths: (instant, months) => `epoch_us(${time(instant)} + to_months(CAST(${months} AS INTEGER)))`,
      local: (instant, zone) => `TRY(epoch_us(timezone('${zone}', make_timestamptz(${instant}))))`,
      fromLocal: (local, zone) => `TRY(epoch_us(timezone('${zone}', ${time(local)})))`,
      bound,
      literal,
      whole,
      writtenInstant: (text) => `TRY(epoch_us(TRY_CAST(${strictInstant(text)} AS TIMESTAMPTZ)))`,
      truncate: 'trunc',
    }),
    concat: (of) => joined(of.map((one) => (one.startsWith("'") ? one : `coalesce(${one}, '')`))),
    least: (of) => `least(${of.join(', ')})`,
    greatest: (of) => `greatest(${of.join(', ')})`,

    finite: ([x]) => `CASE WHEN isfinite(${x}) THEN ${x} END`,

    float_of_text: ([x]) => `TRY_CAST(regexp_extract(${x}, '${FLOAT_CHARACTERS}') AS DOUBLE)`,
    text_of_float: ([x]) => `regexp_replace(CAST(${x} AS VARCHAR), '\\.0$', '')`,
    text_of_instant: ([x]) => `TRY(strftime(${time(x)}, '%Y-%m-%d %H:%M:%S.%f'))`,
    text_of_date: ([x]) => `TRY(strftime(${time(x)}, '%Y-%m-%d'))`,

    trim: ([x], { side }) => `${{ both: 'trim', left: 'ltrim', right: 'rtrim' }[side]}(${x}, ' ')`,
    bytes: ([x]) => `strlen(${x})`,
    replace_pattern: ([x], { pattern, replacement }) =>
      `regexp_replace(${x}, ${literal(pattern)}, ${literal(replacementOf(replacement))}, 'g')`,
    replace_pattern_once: ([x], { pattern, replacement }) =>
      `regexp_replace(${x}, ${literal(pattern)}, ${literal(replacementOf(replacement))})`,
    matches: ([x], { pattern }) => matched(x, pattern),
    extract: ([x], { pattern, group }) => `regexp_extract(${x}, ${literal(pattern)}, ${group})`,
    like: ([x], { like }) => `coalesce(${likened(x, like)}, FALSE)`,
    ends_with: (of) => `ends_with(${of.join(', ')})`,

    split: ([x], { text }) => `string_split(${x}, ${literal(text)})`,
    join: ([x], { text }) => `array_to_string(${x}, ${literal(text)})`,
    list: (of, _, __, type) => `CAST([${of.join(', ')}] AS ${typeText(type, TYPES)})`,
    tuple: (of) => `struct_pack(${of.map((one, n) => `f${n + 1} := ${one}`).join(', ')})`,
    tuple_part: ([x], { place }) => `struct_extract(${x}, 'f${place}')`,
    element: (of) => `list_extract(${of.join(', ')})`,
    has: (of) => `coalesce(list_contains(${of.join(', ')}), FALSE)`,
    // DuckDB's own leave out what is missing.
    has_any: (of) => both(of, (a, b) => `list_has_any(${a}, ${b}) OR (${lacking(a)} AND ${lacking(b)})`),
    has_all: (of) => both(of, (a, b) => `list_has_all(${a}, ${b}) AND (${lacking(a)} OR NOT ${lacking(b)})`),
    list_length: ([x]) => `len(${x})`,
    map: ([x], _, each) => `list_transform(${x}, lambda ${each.variable}: ${each.body})`,
    filter: ([x], _, each) => `list_filter(${x}, lambda ${each.variable}: ${each.body})`,
    sort: ([x]) => `list_sort(${x}, 'ASC', 'NULLS LAST')`,
    reverse: ([x]) => `list_reverse(${x})`,
    // DuckDB's own is in no order. By values and places, the first of each value, by places.
    distinct: ([x], _, __, type) => {
      // DuckDB does not know what a list of nothing but a constant null would be of.
      const present = `list_filter(${x}, lambda one: one IS NOT NULL)`;
      const placed = `STRUCT(v ${typeText(elementType(type as List), TYPES)}, n BIGINT)[]`;
      const sorted = `CAST(list_sort(list_transform(${present}, lambda one, n: {v: one, n: n})) AS ${placed})`;
      return bound(sorted, (all) => {
        const firsts = `list_filter(${all}, lambda one, n: n = 1 OR one.v IS DISTINCT FROM list_extract(${all}, n - 1).v)`;
        return `list_transform(list_sort(list_transform(${firsts}, lambda one: {n: one.n, v: one.v})), lambda one: one.v)`;
      });
    },
    list_uniq: ([x]) => bound(x, (all) => `CAST(list_unique(${all}) + CAST(${lacking(all)} AS INTEGER) AS BIGINT)`),
    list_sum: ([x]) => `TRY_CAST(${sumOf(x)} AS BIGINT)`,
    list_sum_float: ([x]) => sumOf(x),
    range: ([from, to]) =>
      bound(
        `{a: ${from}, b: ${to}}`,
        (v) =>
          `CASE WHEN TRY(${v}.b - ${v}.a) BETWEEN 1 AND ${MAX_RANGE} THEN range(${v}.a, ${v}.b) WHEN ${v}.b <= ${v}.a THEN [] END`,
      ),

    property: ([x], { path }) => `regexp_replace(nullif(${jsonText(x, path)}, 'null'), '^"|"$', '', 'g')`,
    property_value: ([x], { path }) => `TRY(${atPath('json_extract_string', x, path)})`,
    json_raw: ([x], { path }) => jsonText(x, path),
    json_scalar: ([x], { path }) =>
      bound(x, (v) => {
        const [type, text] = [atPath('json_type', v, path), atPath('json_extract_string', v, path)];
        return whenJson(v, `CASE WHEN ${type} NOT IN ('OBJECT', 'ARRAY') THEN ${text} END`);
      }),
    json_has: ([x], { path }) => `coalesce(TRY(${atPath('json_exists', x, path)}), FALSE)`,
    json_length: ([x], { path }) =>
      bound(x, (v) => {
        const [type, length] = [atPath('json_type', v, path), atPath('json_array_length', v, path)];
        const keys = `len(${atPath('json_keys', v, path)})`;
        return `coalesce(${whenJson(v, `CASE ${type} WHEN 'ARRAY' THEN ${length} WHEN 'OBJECT' THEN ${keys} END`)}, 0)`;
      }),
    json_elements: ([x], { path }) => `list_transform(${elementsAt(x, path)}, lambda bound: CAST(bound AS VARCHAR))`,
    json_texts: ([x], { path }) =>
      `list_transform(${elementsAt(x, path)}, lambda bound: coalesce(json_extract_string(bound, '$'), ''))`,
    json_keys: ([x], { path }) => `TRY(${atPath('json_keys', x, path)})`,

    part: ([x], { part }) => `TRY(CAST(date_part('${PARTS[part] ?? part}', ${time(x)}) AS BIGINT))`,
    format: ([x], { format }) => `TRY(strftime(${time(x)}, ${literal(formatText(format, CODES))}))`,
  },
};

/** An expression as DuckDB's SQL; `now` in microseconds. */
export const duckdbText = (expression: Expression, now: bigint): string => print(expression, DUCKDB, `BIGINT '${now}'`);

/** The value that a column delivers: instants in microseconds or null, numbers finite or null, lists as JSON text. */
export function duckdbColumn({ expression, type }: Selected, now: bigint): string {
  const text = duckdbText(expression, now);
  if (type === 'float') return `CASE WHEN isfinite(${text}) THEN ${text} END`;
  if (type === 'instant') return bound(text, heldTime);
  return type === 'texts' ? `CAST(to_json(${text}) AS VARCHAR)` : text;
}
