/**
 * The columns that a customer sees, and the fields that they are made of. A field is an SQL expression of DuckDB over the
 * lake's columns (for the fields of a model) or a column of the export's own query; a form writes it by the column's type.
 */
import { identifier } from '../duckdb/database.ts';

/**
 * What a column holds, and how its field gives it: `json`, JSON text; `instant`, microseconds since 1970 (BIGINT);
 * `texts`, JSON text of an array of texts; the others, DuckDB's VARCHAR, BIGINT, DOUBLE and BOOLEAN.
 */
export type ColumnType = 'text' | 'json' | 'integer' | 'float' | 'boolean' | 'instant' | 'texts';

/** A column of what is delivered. Every one may be null. */
export interface Column {
  /** As the customer sees it. Names of one list differ, also without regard to case. */
  readonly name: string;
  readonly type: ColumnType;
  /** A field of the model, or else a column of the query's rows. */
  readonly field: string;
}

/** A member of `properties` as JSON; null where there is none, or where they are not JSON. */
const member = (name: string): string =>
  `CASE WHEN json_valid(properties) THEN nullif(json_extract(properties, '$."${name}"')::VARCHAR, 'null') END`;

const CAPTURE = `concat('"$geoip_disable":true', CASE WHEN event = '$autocapture' AND elements_chain IS NOT NULL
  THEN concat(',"$elements_chain":', to_json(elements_chain)::VARCHAR) END)`;

/**
 * `properties` (compact JSON of an object) with what capture is told beside them. Added as text: that takes a fifth of
 * the time, and numbers stay as they are written. Only where one of the names is there already, the parser replaces it.
 */
const CAPTURED = `CASE
  WHEN properties IS NULL OR NOT json_valid(properties) OR NOT starts_with(properties, '{') THEN concat('{', ${CAPTURE}, '}')
  WHEN contains(properties, '"$geoip_disable"') OR contains(properties, '"$elements_chain"')
    THEN json_merge_patch(properties, concat('{', ${CAPTURE}, '}'))::VARCHAR
  ELSE concat(left(properties, -1), CASE WHEN properties <> '{}' THEN ',' END, ${CAPTURE}, '}') END`;

/** The text in `$ip`: an address has 45 characters at most, but a sender may say anything, and columns have 200. */
const IP = `CASE WHEN json_valid(properties)
  THEN left(nullif(json_extract_string(properties, '$."$ip"'), ''), 200) END`;

/** Fields that are not just the lake's column of their name. */
const FIELDS: ReadonlyMap<string, string> = new Map([
  ['timestamp', 'timestamp_us'],
  ['created_at', 'created_us'],
  ['_inserted_at', 'inserted_us'],
  ['elements', 'to_json(elements_chain)::VARCHAR'],
  ['set', member('$set')],
  ['set_once', member('$set_once')],
  ['ip', IP],
  ['site_url', "''"],
  ['capture_properties', CAPTURED],
]);

/** A field as an expression of DuckDB over the rows of a query. */
export const fieldOf = ({ field }: Column): string => FIELDS.get(field) ?? identifier(field);
