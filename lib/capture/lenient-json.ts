/** The JSON text of a request, read as leniently as its senders write it: long numbers, NaN, names of persons by number. */
import { randomUUID } from 'node:crypto';
import { rawNumber } from '../basics/raw-number.ts';
import { isLossyAndLegible } from '../lake/sources/exact-json.ts';
import { type DecodeLimits, tooLarge, Undecodable } from './undecodable.ts';

/**
 * The value of JSON text as JavaScript reads it, but for what Python writes: NaN and infinities are null. A whole number
 * that JavaScript would write with other digits is a `RawNumber`; one that names somebody, whole or not, becomes text.
 * Bytes that are no UTF-8 become U+FFFD. Throws `Undecodable`, and nothing else.
 */
export function parse(bytes: Buffer, limits: DecodeLimits): unknown {
  const sent = bytes.toString('utf8').replace(/^\ufeff/, '');
  // A value has a byte at least, and all but the first a mark before it.
  if (bytes.length > limits.values && mayHold(sent, limits.values) && valuesIn(bytes) > limits.values)
    throw tooLarge(limits);
  const text = MAY_NAME_BY_NUMBER.test(sent) ? sent.replace(NAMING_NUMBER, withExactName) : sent;
  if (/^\s*$/.test(text)) throw new Undecodable('empty', 'The request holds no data.');
  const value = parsed(text);
  // Only of what is JSON it is certain that a number is no name.
  return mayHoldLong(text) ? withLongNumbers(text) : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return JSON.parse(outsideTexts(text, NOT_FINITE, () => 'null'));
    } catch (error) {
      throw new Undecodable('undecodable', `The request is not JSON: ${(error as Error).message}`);
    }
  }
}

/** Of fewer digits a whole number is one that a double holds. */
const LONG_DIGITS = 16;

/**
 * Whether JSON text may hold a whole number that a double does not; what looks so within a text is a false alarm, which costs
 * time. Of so many digits in a row one stands at a multiple of their number, so that a usual request is hardly looked at.
 */
function mayHoldLong(text: string): boolean {
  const isDigit = (at: number): boolean => text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE;
  for (let at = LONG_DIGITS - 1; at < text.length; at += LONG_DIGITS) {
    if (!isDigit(at)) continue;
    let from = at;
    while (isDigit(from - 1)) from -= 1;
    while (isDigit(at + 1)) at += 1;
    if (at - from + 1 >= LONG_DIGITS && /[[:,\s-]/.test(text.charAt(from - 1))) return true;
  }
  return false;
}

const NUMBER = /-?\d[\d.eE+-]*/y;
/** Whether a number is whole, and JavaScript would write it with other digits. One that is not legible is infinite, as `1e400` is. */
const isLong = (number: string): boolean =>
  number.length >= LONG_DIGITS &&
  /^-?[1-9]/.test(number) &&
  !/[.eE+]|\d-/.test(number) &&
  isLossyAndLegible(Number(number), number);

/**
 * The value of JSON text with its long numbers as `RawNumber`s. A text stands for each while JSON is read, for parsing with a
 * function that is told each number's text takes up to fifty times as long; nobody who sends can know what it begins with.
 */
function withLongNumbers(text: string): unknown {
  const mark = `${randomUUID()} `;
  const value = parsed(outsideTexts(text, NUMBER, (number) => (isLong(number) ? `"${mark}${number}"` : number)));
  const left: object[] = [];
  const meant = (inner: unknown): unknown => {
    if (typeof inner === 'object' && inner !== null) left.push(inner);
    return typeof inner === 'string' && inner.startsWith(mark) ? rawNumber(inner.slice(mark.length)) : inner;
  };
  const whole = meant(value);
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    if (Array.isArray(at)) for (let n = 0; n < at.length; n++) at[n] = meant(at[n]);
    else for (const name in at) at[name as keyof typeof at] = meant(at[name as keyof typeof at]) as never;
  }
  return whole;
}

/** A distinct_id, or another name of a person, that is a number. No text within a JSON text can look like this. */
const NAMING_NUMBER = /("(?:\$?distinct_id|\$anon_distinct_id|alias)"\s*:\s*)(-?\d[\d.eE+-]*)/g;

/** The same, found quickly. */
const MAY_NAME_BY_NUMBER = /(?:distinct_id|alias)"\s*:\s*-?\d/;

const withExactName = (all: string, before: string, number: string): string =>
  String(Number(number)) === number ? all : `${before}"${number}"`;

/** How many values and names stand behind each, at most. */
const MARKS = [
  [',', 2],
  ['{', 2],
  ['[', 1],
] as const;

const [QUOTE, BACKSLASH, COMMA, COLON, BRACKET, BRACE, ZERO, NINE, MINUS, NAN, INFINITY] = [
  ...Buffer.from('"\\,:[{09-NI'),
] as [number, number, number, number, number, number, number, number, number, number, number];

/**
 * Whether JSON text may hold so many values and names. It is told much sooner than how many there are: each stands behind a
 * comma, a bracket, a brace or a colon, and of colons there are no more than of commas and braces.
 */
function mayHold(text: string, many: number): boolean {
  let left = many;
  for (const [mark, values] of MARKS)
    for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) {
      left -= values;
      if (left <= 0) return true;
    }
  return false;
}

/** Counts what is between the marks of JSON text; a little too much, never too little. */
function valuesIn(bytes: Buffer): number {
  let values = 1;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === COLON || byte === BRACKET || byte === BRACE) values += 1;
  }
  return values;
}

const NOT_FINITE = /-?(?:NaN|Infinity)/y;

/** JSON text in which something else stands for each of the tokens that are outside of texts; `token` is sticky. */
function outsideTexts(text: string, token: RegExp, replaced: (found: string) => string): string {
  let made = '';
  let taken = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isText = !isText;
    else if (isText) at += code === BACKSLASH ? 1 : 0;
    else if (mayBegin(code)) {
      token.lastIndex = at;
      const found = token.exec(text)?.[0];
      if (found === undefined) continue;
      const other = replaced(found);
      if (other !== found) {
        made += text.slice(taken, at) + other;
        taken = at + found.length;
      }
      at += found.length - 1;
    }
  }
  return made + text.slice(taken);
}

/** Whether a number, NaN or an infinity may begin so. */
const mayBegin = (code: number): boolean =>
  (code >= ZERO && code <= NINE) || code === MINUS || code === NAN || code === INFINITY;
