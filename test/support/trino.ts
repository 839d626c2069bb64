/**
 * What stands for Trino: DuckDB, on Trino's text as it is printed, with the few functions that it has in another form.
 * What needs more of Trino fails here.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';

/** Functions of Trino. A name that DuckDB has too is DuckDB's own within the macro (`system.main`). */
const MACROS = [
  `regexp_replace(s, p) AS system.main.regexp_replace(s, p, '', 'g'),
    (s, p, r) AS system.main.regexp_replace(s, p, replace(system.main.regexp_replace(r, '(^|[^\\\\])\\$(\\d)', '\\1\\\\\\2', 'g'), '\\$', '$'), 'g')`,
  `regexp_extract(s, p) AS CASE WHEN regexp_matches(s, p) THEN system.main.regexp_extract(s, p) END,
    (s, p, g) AS CASE WHEN regexp_matches(s, p) THEN system.main.regexp_extract(s, p, g) END`,
  'regexp_like(s, p) AS regexp_matches(s, p)',
  `json_extract(j, p) AS system.main.json_extract(j, trino_path(p))`,
  `json_extract_scalar(j, p) AS CASE WHEN json_valid(j) THEN CASE WHEN json_type(j, trino_path(p)) NOT IN ('OBJECT', 'ARRAY')
    THEN json_extract_string(j, trino_path(p)) END END`,
  `json_size(j, p) AS CASE json_type(j, trino_path(p)) WHEN 'ARRAY' THEN json_array_length(j, trino_path(p))
    WHEN 'OBJECT' THEN len(json_keys(j, trino_path(p))) WHEN NULL THEN NULL ELSE 0 END`,
  `json_format(j) AS CASE WHEN json_type(j) = 'DOUBLE' THEN java_double(CAST(j AS DOUBLE)) ELSE CAST(j AS VARCHAR) END`,
  'concat(a, b) AS a || b',
  'sequence(a, b) AS range(a, b + 1)',
  'slice(x, a, n) AS list_slice(x, a, a + n - 1)',
  'array_distinct(x) AS list_filter(x, lambda e, n: n = list_position(x, e))',
  'array_intersect(a, b) AS list_filter(a, lambda e: list_contains(b, e))',
  'array_except(a, b) AS list_filter(a, lambda e: NOT list_contains(b, e))',
  'to_utf8(x) AS encode(x)',
  // Instants with a zone are shown in UTC.
  'from_unixtime_nanos(n) AS make_timestamp(CAST(CAST(n AS HUGEINT) // 1000 AS BIGINT))',
  'to_unixtime(t) AS epoch(t)',
  `at_timezone(t, z) AS timezone(z, timezone('UTC', t))`,
  `with_timezone(t, z) AS timezone('UTC', timezone(z, t))`,
  `from_iso8601_timestamp_nanos(s) AS timezone('UTC', CAST(s AS TIMESTAMPTZ))`,
  'date_add(u, n, t) AS t + to_months(CAST(n AS INTEGER))',
  `date_format(t, f) AS strftime(t, trino_format(f))`,
  'day_of_week(t) AS isodow(t)',
  'day_of_year(t) AS dayofyear(t)',
];

const BEFORE = [
  // A double that Trino has read in JSON, or makes JSON of, is written as Java does: with an exponent from 10^7 on and below 10^-3.
  `java_digits(t) AS ltrim(system.main.regexp_replace(t, '[-.]', '', 'g'), '0')`,
  `java_scaled(x, digits, exponent) AS CASE WHEN x < 0 THEN '-' ELSE '' END || digits[1] || '.' ||
    coalesce(nullif(rtrim(digits[2:], '0'), ''), '0') || 'E' || exponent`,
  `java_double(x) AS CASE WHEN abs(x) BETWEEN 1e-4 AND 1e16 AND abs(x) NOT BETWEEN 1e-3 AND 9999999
    THEN java_scaled(x, java_digits(CAST(x AS VARCHAR)), CAST(floor(log10(abs(x))) AS BIGINT))
    ELSE replace(CAST(x AS VARCHAR), 'e', 'E') END`,
  // Steps of Trino's paths are quoted in brackets.
  `trino_path(p) AS replace(system.main.regexp_replace(p, '\\["((?:[^"\\\\]|\\\\.)*)"\\]', '."\\1"', 'g'), '\\\\', '\\')`,
  `trino_format(f) AS replace(replace(replace(replace(replace(f, '%M', '%B'), '%i', '%M'), '%h', '%I'), '%s', '%S'), '%W', '%A')`,
];

/** Names that mean the same here; a list is taken by them in both. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/\barray\((\w+)\)/g, '$1[]'],
  [/\brow\((?=f1 )/g, 'STRUCT('],
  [/\barray\((STRUCT\([^()]*\))\)/g, '$1[]'],
  // UNNEST makes one column of a row here, and needs no row around it.
  [/\bv -> ROW\(v\)/g, 'v -> v'],
  [/\btransform\(/g, 'list_transform('],
  [/\bfilter\(/g, 'list_filter('],
  [/\belement_at\(/g, 'list_extract('],
  [/\barray_min\(/g, 'list_min('],
  [/\barray_max\(/g, 'list_max('],
  [/\barray_sort\(/g, 'list_sort('],
  [/\barray_join\(/g, 'array_to_string('],
  [/\bcardinality\(/g, 'len('],
  [/\barbitrary\(/g, 'any_value('],
  [/\bis_finite\(/g, 'isfinite('],
  [/\) IGNORE NULLS OVER/g, ' IGNORE NULLS) OVER'],
  [/\btruncate\(/g, 'trunc('],
  [/\blength\(to_utf8\(/g, 'octet_length(to_utf8('],
  [/\b(\w+) -> /g, 'lambda $1: '],
];

/** Literals of either kind, names in quotes, and what is between them. */
const TOKENS = /U&'(?:[^']|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?:(?!U&')[^'"])+/g;

const codePoints = (inner: string): string =>
  inner.replaceAll(/\\(?:([0-9A-F]{4})|\\)/g, (_, code?: string) =>
    code === undefined ? '\\' : String.fromCharCode(Number.parseInt(code, 16)),
  );

/** Returns Trino's text as DuckDB reads it, once the connection is prepared. */
export const asDuckdb = (trino: string): string =>
  (trino.match(TOKENS) ?? [])
    .map((token) => {
      if (token.startsWith('U&')) return codePoints(token.slice(2));
      if (/^['"]/.test(token)) return token;
      return NAMES.reduce((text, [name, by]) => text.replace(name, by), token);
    })
    .join('');

export type Trino = DuckDBConnection & { readonly end: () => void };

/** Opens a database that answers `asDuckdb` of what Trino is asked. */
export async function openTrino(): Promise<Trino> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  await connection.run("SET integer_division = true; SET TimeZone = 'UTC'");
  for (const macro of [...BEFORE, ...MACROS]) await connection.run(`CREATE MACRO ${macro}`);
  const end = (): void => {
    connection.closeSync();
    instance.closeSync();
  };
  return Object.assign(connection, { end });
}
