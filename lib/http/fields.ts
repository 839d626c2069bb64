/**
 * The kinds of field that request bodies and queries are made of. They coerce as PostHog does (`"yes"` is true, `5` is
 * the text "5") and refuse with its codes and texts. A kind is required and not null unless it says `.optional()` or
 * `.nullable()`; what is absent stays absent. Lists are `z.array`, nested objects are `z.object`.
 */
import * as z from 'zod';
import { isObject } from '../basics/json.ts';
import { isRawNumber, numberText } from '../basics/raw-number.ts';
import { inQuotes } from '../basics/text.ts';
import { timeZoneOf } from '../basics/time-zones.ts';
import { MINUTE_MS } from '../basics/units.ts';
import { Failure } from '../ports/errors.ts';

/** Reports a fault of the value; what it returns is never seen. */
type Fault = (detail: string, code?: string) => never;

const REQUIRED = 'This field is required.';
const NULL = 'This field may not be null.';
const BLANK = 'This field may not be blank.';
const NUL = 'Null characters are not allowed.';
const UUID = 'Must be a valid UUID.';
const INTEGER = 'A valid integer is required.';
const DATETIME =
  'Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].';
const tooLong = (max: number): string => `Ensure this field has no more than ${max} characters.`;

/** Returns a field that `read` takes from anything but undefined and null. `described` is its JSON Schema. */
function kind<T>(described: Readonly<Record<string, unknown>>, read: (value: unknown, fault: Fault) => T) {
  return z
    .unknown()
    .transform((value, context): T => {
      const fault: Fault = (message, code = 'invalid_input') => {
        context.addIssue({ code: 'custom', message, params: { code } });
        return z.NEVER;
      };
      if (value === undefined) return fault(REQUIRED, 'required');
      if (value === null) return fault(NULL, 'null');
      return read(value, fault);
    })
    .register(z.globalRegistry, described);
}

/**
 * Returns a field of text, with blanks around it trimmed; a number becomes its text. `max` counts code points. `blank`:
 * "" is allowed. Null characters and lone surrogates are refused, so that whatever is stored can be answered.
 */
export function text({ max, blank = false, trim = true }: { max?: number; blank?: boolean; trim?: boolean } = {}) {
  const described = {
    type: 'string',
    ...(blank ? {} : { minLength: 1 }),
    ...(max === undefined ? {} : { maxLength: max }),
  };
  return kind(described, (value, fault) => {
    const raw = textOf(value);
    if (raw === undefined) return fault('Not a valid string.');
    const found = trim ? raw.trim() : raw;
    if (found === '' && !blank) return fault(BLANK, 'blank');
    if (max !== undefined && found.length > max && Array.from(found).length > max) {
      return fault(tooLong(max), 'max_length');
    }
    if (found.includes('\0')) return fault(NUL, 'null_characters_not_allowed');
    if (!found.isWellFormed()) {
      const lone = /[\ud800-\udfff]/u.exec(found)?.[0].charCodeAt(0) ?? 0;
      const detail = `Surrogate characters are not allowed: U+${lone.toString(16).toUpperCase()}.`;
      return fault(detail, 'surrogate_characters_not_allowed');
    }
    return found;
  });
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : numberText(value));

const TRUE = new Set(['t', 'y', 'yes', 'true', 'on', '1']);
const FALSE = new Set(['f', 'n', 'no', 'false', 'off', '0']);
const BOOLEAN = { type: 'boolean' };

function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const word = textOf(value)?.toLowerCase() ?? '';
  if (TRUE.has(word)) return true;
  return FALSE.has(word) ? false : undefined;
}

/** Returns a field of true or false, or one of their spellings in any case: t y yes true on 1, f n no false off 0. */
export function boolean() {
  return kind(BOOLEAN, (value, fault) => booleanOf(value) ?? fault('Must be a valid boolean.'));
}

/** Returns a field as `boolean`, where null, "null" and "" are null. */
export function nullableBoolean() {
  return kind(BOOLEAN, (value, fault) =>
    value === '' || value === 'null' ? null : (booleanOf(value) ?? fault('Must be a valid boolean.')),
  ).nullable();
}

/** Returns a field of a whole number that JavaScript holds exactly; its text is accepted, and `1.0`. */
export function integer({ min, max }: { min?: number; max?: number } = {}) {
  const described = {
    type: 'integer',
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  };
  return kind(described, (value, fault) => {
    const found = typeof value === 'string' && /^\s*[+-]?\d+(\.0*)?\s*$/.test(value) ? Number(value) : value;
    if (typeof found !== 'number' || !Number.isSafeInteger(found)) return fault(INTEGER);
    if (max !== undefined && found > max)
      return fault(`Ensure this value is less than or equal to ${max}.`, 'max_value');
    if (min !== undefined && found < min) {
      return fault(`Ensure this value is greater than or equal to ${min}.`, 'min_value');
    }
    return found;
  });
}

/** Returns a field of one of the values; a number's text is accepted. */
export function choice<const T extends string | number>(values: readonly T[]) {
  const byText = new Map<string, T>(values.map((value) => [String(value), value]));
  const type = values.every((value) => typeof value === 'number') ? 'integer' : 'string';
  return kind({ type, enum: [...values] }, (value, fault) => {
    return byText.get(textOf(value) ?? '') ?? fault(notAChoice(value, values), 'invalid_choice');
  });
}

/** Returns PostHog's text for a value that is none of the choices, and what they are. */
export const notAChoice = (value: unknown, choices: readonly unknown[]): string =>
  `"${echo(value)}" is not a valid choice. Choose one of: ${choices.map(String).join(', ')}.`;

/** Returns a field of a uuid in any of its spellings; it is read as lower case with hyphens. */
export function uuid() {
  return kind({ type: 'string', format: 'uuid' }, (value, fault) => uuidOf(value) ?? fault(UUID));
}

/** Returns a field of the uuid of something else; faults have the texts of a reference. */
export function reference() {
  return kind({ type: 'string', format: 'uuid' }, (value, fault) => {
    if (typeof value === 'boolean') {
      return fault(`Incorrect type. Expected pk value, received ${typeName(value)}.`, 'incorrect_type');
    }
    return uuidOf(value) ?? fault(`“${echo(value)}” is not a valid UUID.`);
  });
}

const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the lower-case, hyphenated form of a uuid's text; undefined when it is none. */
export function uuidOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (CANONICAL_UUID.test(value)) return value;
  const hex = value.replace(/^urn:uuid:|[{}-]/gi, '').toLowerCase();
  return /^[0-9a-f]{32}$/.test(hex) ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : undefined;
}

/** With hyphens and colons or without; of a time the hour is enough. */
const INSTANT =
  /^(\d{4})(-?)(\d\d)\2(\d\d)(?:[T ](\d\d)(?:(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d+))?)?)? ?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** Returns a field of an ISO 8601 instant, in milliseconds since 1970 (no finer digits); by default UTC, midnight. */
export function datetime() {
  return kind({ type: 'string', format: 'date-time' }, (value, fault) => {
    const instant = typeof value === 'string' ? instantOf(value) : undefined;
    if (instant === undefined) return fault(DATETIME);
    if (instant < FIRST_INSTANT || instant > LAST_INSTANT) return fault('Datetime value out of range.', 'overflow');
    return instant;
  });
}

const FIRST_INSTANT = Date.parse('0001-01-01T00:00:00Z');
/** The last instant that answers and fields can hold: years have four digits. */
export const LAST_INSTANT = Date.parse('9999-12-31T23:59:59.999Z');

function instantOf(value: string): number | undefined {
  const [, year, , month, day, hour = '00', , minute = '00', second = '00', fraction = '', zone = 'Z'] =
    INSTANT.exec(value.trim()) ?? [];
  if (year === undefined || year === '0000') return undefined;
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const instant = Date.parse(local);
  // Date.parse takes 30 February for 2 March, and 24:00 for the next day.
  if (Number.isNaN(instant) || new Date(instant).toISOString() !== local) return undefined;
  if (zone.toUpperCase() === 'Z') return instant;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', ''))];
  if (hours > 23 || minutes > 59) return undefined;
  return instant - (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * MINUTE_MS;
}

/** Returns a field of the name of a time zone. */
export function timeZone() {
  return kind({ type: 'string' }, (value, fault) => {
    if (typeof value === 'string' && timeZoneOf(value) !== undefined) return value;
    return fault('A valid time zone is required, such as "Europe/Berlin".');
  });
}

/** Says in the reference that a body has one of these fields at least; what reads them refuses one without. */
export const oneOf = (...names: readonly string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) });

/** Returns a field of an object with any keys, handed on as it was sent; `__proto__` is a key like any other. */
export function freeObject() {
  return kind({ type: 'object', additionalProperties: true }, (value, fault) => {
    if (!isObject(value)) return fault(notADictionary(value));
    if (holdsNul(value)) return fault(NUL, 'null_characters_not_allowed');
    return value;
  });
}

/** Returns whether a value holds a null character. It is recursive: bodies are at most 64 levels deep. */
function holdsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (typeof value !== 'object' || value === null) return false;
  // Entries of a list would be a list for each of its elements.
  if (Array.isArray(value)) return value.some(holdsNul);
  return Object.entries(value).some(([key, inner]) => key.includes('\0') || holdsNul(inner));
}

const notADictionary = (value: unknown): string => `Invalid data. Expected a dictionary, but got ${typeName(value)}.`;

/** Returns PostHog's name for the type of a JSON value. A whole number that is not exact was written as none. */
export function typeName(value: unknown): 'str' | 'bool' | 'int' | 'float' | 'list' | 'dict' | 'NoneType' {
  if (value === null || value === undefined) return 'NoneType';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (isRawNumber(value)) return /^-?\d+$/.test(value.rawJSON) ? 'int' : 'float';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'int' : 'float';
  return Array.isArray(value) ? 'list' : 'dict';
}

/** Returns a value as an error text repeats it: at most 200 characters. */
function echo(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return (textOf(value) ?? JSON.stringify(value)).slice(0, 200).toWellFormed();
}

/**
 * Returns the failure that a caller reads about a body or a query that does not fit: the first fault in the order of
 * the fields. Faults of plain zod types get the texts of the kinds; parse with `reportInput`, the texts need the value.
 */
export function failureOfIssues(error: z.ZodError): Failure {
  const [issue] = error.issues;
  if (issue === undefined) return new Failure('validation');
  const attr = issue.path.length === 0 ? null : issue.path.map(String).join('__');
  const [detail, code] = explain(issue);
  return new Failure('validation', { attr, detail, ...(code === undefined ? {} : { code }) });
}

type Text = readonly [detail: string, code?: string | undefined];

function explain(issue: z.core.$ZodIssue): Text {
  switch (issue.code) {
    case 'custom':
      return [issue.message, issue.params?.['code'] as string | undefined];
    case 'invalid_type':
      return wrongType(issue.expected, issue.input, issue.path.length === 0);
    case 'invalid_value':
      return issue.input === undefined || issue.input === null
        ? wrongType('string', issue.input, issue.path.length === 0)
        : [notAChoice(issue.input, issue.values), 'invalid_choice'];
    case 'invalid_format':
      return FORMATS[issue.format] ?? ['Enter a valid value.'];
    case 'too_big':
      return tooBig(issue.origin, Number(issue.maximum));
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum));
    case 'not_multiple_of':
      return [INTEGER];
    case 'unrecognized_keys':
      return [`Unknown fields: ${inQuotes(issue.keys)}`];
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    default:
      return ['Invalid input.'];
  }
}

const FORMATS: Readonly<Record<string, Text>> = {
  uuid: [UUID],
  datetime: [DATETIME],
  email: ['Enter a valid email address.'],
  url: ['Enter a valid URL.'],
};

function wrongType(expected: string, value: unknown, isBody: boolean): Text {
  if (value === undefined) return [REQUIRED, 'required'];
  if (value === null) return isBody ? ['No data provided', 'null'] : [NULL, 'null'];
  switch (expected) {
    case 'string':
      return ['Not a valid string.'];
    case 'boolean':
      return ['Must be a valid boolean.'];
    case 'int':
      return [INTEGER];
    case 'number':
      return ['A valid number is required.'];
    case 'array':
      return [`Expected a list of items but got type "${typeName(value)}".`, 'not_a_list'];
    case 'object':
    case 'record':
      return [notADictionary(value)];
    default:
      return ['Invalid input.'];
  }
}

function tooBig(origin: string, max: number): Text {
  if (origin === 'string') return [tooLong(max), 'max_length'];
  if (origin === 'array') return [`Ensure this field has no more than ${max} elements.`, 'max_length'];
  return [`Ensure this value is less than or equal to ${max}.`, 'max_value'];
}

function tooSmall(origin: string, min: number): Text {
  if (origin === 'string' && min === 1) return [BLANK, 'blank'];
  if (origin === 'string') return [`Ensure this field has at least ${min} characters.`, 'min_length'];
  if (origin === 'array') return [`Ensure this field has at least ${min} elements.`, 'min_length'];
  return [`Ensure this value is greater than or equal to ${min}.`, 'min_value'];
}
