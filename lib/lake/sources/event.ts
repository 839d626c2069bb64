/** What a record of a source becomes: the content of an event, before it has a project, a uuid of its own, an arrival. */
import { hash } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '../../basics/units.ts';

export interface SourceEvent {
  /** The uuid that the event carries, lower case; null: it gets one made of its record. */
  readonly uuid: string | null;
  /** Null: no event, only what a source says of a person. */
  readonly event: string | null;
  readonly distinctId: string;
  /** Compact JSON text of an object. */
  readonly properties: string;
  /** Microseconds since 1970, a safe integer. */
  readonly timestamp: number;
  /** Microseconds since 1970; null where the source does not say. */
  readonly created: number | null;
  readonly personId: string | null;
  /** Compact JSON text of an object. */
  readonly personProperties: string | null;
  readonly elementsChain: string | null;
  /** What it changes of a person, as `personChangeOf` writes it; null: nothing. */
  readonly personChange: string | null;
}

/** Reads one line (not blank, without its line end). A text is the reason why the line is no event. Never throws. */
export type LineReader = (line: string) => SourceEvent | string;

interface Years {
  readonly first: number;
  readonly last: number;
}

/** Microseconds are safe integers from 1685 to 2255; beyond this a time is a mistake. */
export const YEARS: Years = { first: 1700, last: 2199 };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A uuid in the form in which it is stored, or undefined when it is none. */
export const canonicalUuid = (value: unknown): string | undefined =>
  typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : undefined;

/** A uuid of version 8, made of the SHA-256 of a text: the same text gives the same uuid. */
export function contentUuid(text: string): string {
  const hex = hash('sha256', text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

type DatePart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'sign' | 'hours' | 'minutes';

/** After so many milliseconds dates fall on the same days again. */
const FOUR_CENTURIES_MS = 146_097 * DAY_MS;

/**
 * The date of these texts, as microseconds since 1970; undefined when there is no such date, or not in these years. A month
 * is a number or three letters; `sign`, `hours` and `minutes` are of the zone. What is not there is 0, a finer fraction is
 * cut off, and second 60 (a leap second) is the next minute's first.
 */
export function microsecondsOf(
  texts: Readonly<Partial<Record<DatePart, string | undefined>>>,
  years: Years = YEARS,
): number | undefined {
  const [year, day] = [numberOf(texts.year), numberOf(texts.day)];
  const [hour, minute, second] = [numberOf(texts.hour), numberOf(texts.minute), numberOf(texts.second)];
  const { month: named = '', fraction = '', sign } = texts;
  const month = /^\d/.test(named) ? Number(named) : MONTHS.indexOf(named.toLowerCase()) + 1;
  if (year < years.first || year > years.last || hour > 23 || minute > 59 || second > 60) return undefined;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  // Date.UTC takes the years below 100 for those of the twentieth century.
  const local = Date.UTC(year + 400, month - 1, day, hour, minute, second) - FOUR_CENTURIES_MS;
  const zone = numberOf(texts.hours) * 60 + numberOf(texts.minutes);
  const micros = Number(fraction.padEnd(6, '0').slice(0, 6));
  return (local - (sign === '-' ? -zone : zone) * MINUTE_MS) * 1000 + micros;
}

/** Returns the number of a part of a date; what is not there is 0. */
const numberOf = (text: string | undefined): number => Number(text ?? 0);

const daysIn = (year: number, month: number): number =>
  month === 2
    ? year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
      ? 29
      : 28
    : [4, 6, 9, 11].includes(month)
      ? 30
      : 31;

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)? ?(?:Z|UTC|([+-])(\d\d)(?::?(\d\d))?)?$/i;

/** An ISO 8601 instant as microseconds; without a zone it is UTC, a finer fraction is cut off. */
export function isoMicroseconds(text: string, years: Years = YEARS): number | undefined {
  const match = ISO.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction, sign, hours, minutes] = match;
  return microsecondsOf({ year, month, day, hour, minute, second, fraction, sign, hours, minutes }, years);
}

const DAY = /^((?:19|20)\d\d)(\d\d)(\d\d)(?:\.0)?$/;

/** Whether a text is written as `dayMicroseconds` reads it, be there such a day or not. */
export const isWrittenAsDay = (text: string): boolean => DAY.test(text);

/**
 * A day of the 20th or 21st century that is written as eight digits (`20261101`, or `20261101.0` as programs write a column
 * of numbers), as microseconds of its beginning, UTC. A number of that size may be seconds, too, of some days of August 1970:
 * only what is known to be text is to be read so.
 */
export const dayMicroseconds = (text: string): number | undefined => {
  const [, year, month, day] = DAY.exec(text) ?? [];
  return year === undefined ? undefined : isoMicroseconds(`${year}-${month}-${day}`);
};

/**
 * JSON text as it can be stored everywhere: an escaped NUL or lone surrogate, which databases refuse, becomes U+FFFD.
 * For the output of `JSON.stringify` only.
 */
export const storable = (json: string): string =>
  /\\u(?:0000|d[89a-f])/.test(json)
    ? json.replace(/\\(u(?:0000|d[89a-f][0-9a-f]{2})|.)/g, (all, escape: string) =>
        escape.length > 1 ? '\\ufffd' : all,
      )
    : json;

/** The same for text. */
export const storableText = (text: string): string => {
  const formed = text.toWellFormed();
  return formed.includes('\0') ? formed.replaceAll('\0', '\ufffd') : formed;
};
