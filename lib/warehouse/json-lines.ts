/**
 * One event as one line of JSON: the columns that S3 and file destinations get by default, in a fixed order, as an SQL
 * expression over the lake's columns. Joining text takes half the time of building a struct and printing it.
 */

/** JSON text as a nested value; what is not JSON (no batch should hold any) becomes a string, so that no run breaks. */
const nested = (column: string): string =>
  `CASE WHEN NOT json_valid(${column}) THEN to_json(${column})::VARCHAR ` +
  `WHEN contains(${column}, chr(10)) THEN json(${column})::VARCHAR ELSE ${column} END`;

const text = (column: string): string => `to_json(${column})::VARCHAR`;

/** Microseconds since 1970 as `2015-05-17T10:05:03.000000Z`. */
const instant = (column: string): string => `strftime(make_timestamp(${column}), '"%Y-%m-%dT%H:%M:%S.%fZ"')`;

const FIELDS: readonly (readonly [name: string, value: string])[] = [
  ['uuid', text('uuid')],
  ['event', text('event')],
  ['properties', nested('properties')],
  ['distinct_id', text('distinct_id')],
  ['timestamp', instant('timestamp_us')],
  ['created_at', instant('created_us')],
  ['_inserted_at', instant('inserted_us')],
  ['elements_chain', text('elements_chain')],
  ['person_id', text('person_id')],
  ['person_properties', nested('person_properties')],
];

/** The line with its line end. */
export const EVENT_LINE = `concat(${FIELDS.map(
  ([name, value], n) => `'${n === 0 ? '{' : ','}"${name}":', coalesce(${value}, 'null')`,
).join(', ')}, '}', chr(10))`;
