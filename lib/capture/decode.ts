/**
 * The JSON value that a request of an SDK holds, however it is wrapped. What a layer is, its first bytes say: names of
 * encodings in headers, forms and queries are wrong, or missing, too often to decide anything, but where bytes tell nothing.
 */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import {
  brotliDecompressSync,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  constants as zlib,
  zstdDecompressSync,
} from 'node:zlib';
import { rawNumber } from '../basics/raw-number.ts';
import { MIB } from '../basics/units.ts';
import { isLossy } from '../lake/sources/exact-json.ts';

export interface DecodeLimits {
  /** Bytes of a request without its wrapping. */
  readonly bytes: number;
  /** Values and names in it: each may take 150 bytes and a microsecond. */
  readonly values: number;
}

/** Five times what the largest request has as it is sent. SDKs send up to 13 MB, our own HTTP destination up to 50. */
export const DECODE_LIMITS: DecodeLimits = { bytes: 100 * MIB, values: 2_500_000 };

/** Why nothing of a request can be read. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
  readonly reason: 'empty' | 'undecodable' | 'too_large' | 'unsupported_encoding';

  /** `message` is a sentence for the sender. */
  constructor(reason: Undecodable['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** A form that holds base64 of gzip of base64 has four. */
const MAX_LAYERS = 4;

/** What bytes hold. */
interface Decoded {
  readonly value: unknown;
  /** How many bytes it has without its wrapping. */
  readonly bytes: number;
}

/**
 * Returns the value that the bytes hold. `encoding` is what a header names the outermost wrapping; null: none does. Throws
 * `Undecodable`, and nothing else, when they hold no value, or too much, or the name is not known.
 */
export function decode(bytes: Buffer, limits: DecodeLimits = DECODE_LIMITS, encoding: string | null = null): Decoded {
  let inner = encoding === null ? bytes : withoutEncoding(bytes, encoding.trim().toLowerCase(), limits);
  for (let layer = 0; layer <= MAX_LAYERS; layer++) {
    if (inner.length > limits.bytes) throw tooLarge(limits);
    const head = inner.toString('latin1', 0, HEAD_BYTES);
    const unwrap = WRAPPINGS.find(({ looksSo }) => looksSo(head))?.unwrap;
    if (unwrap === undefined) return { value: parse(inner, limits), bytes: inner.length };
    inner = unwrap(inner, limits);
  }
  throw new Undecodable('undecodable', `The request is wrapped more than ${MAX_LAYERS} times.`);
}

const tooLarge = ({ bytes, values }: DecodeLimits): Undecodable =>
  new Undecodable('too_large', `The request holds more than ${bytes} bytes or ${values} values when it is decoded.`);

interface Wrapping {
  /** Of its first `HEAD_BYTES`, as Latin-1. No other wrapping, and no JSON object or list, looks the same. */
  readonly looksSo: (head: string) => boolean;
  readonly unwrap: (bytes: Buffer, limits: DecodeLimits) => Buffer;
}

/** A form, to where its first `data` begins. */
const FORM = /^(?:[\w$.-]+=[^&{["]*&)*?data=/;

/** So many bytes tell what a request is wrapped in. */
const HEAD_BYTES = 512;

/** In pieces of so many bytes at least. */
const LEAST_PIECE = 4 * 1024;

type Unpack = (bytes: Buffer, options: { readonly maxOutputLength: number; readonly chunkSize: number }) => Buffer;

/** Unpacks in one piece where the data says, or is like to be, so many bytes; that costs no more than 16 times what is sent. */
const unpacking =
  (name: string, unpack: Unpack, bytesIn = (bytes: Buffer): number => 8 * bytes.length): Wrapping['unwrap'] =>
  (bytes, limits) => {
    const chunkSize = Math.max(LEAST_PIECE, Math.min(bytesIn(bytes) + 1, 16 * bytes.length, limits.bytes));
    try {
      return unpack(bytes, { maxOutputLength: limits.bytes, chunkSize });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limits);
      throw new Undecodable('undecodable', `The ${name} data of the request is damaged.`);
    }
  };

/** Its last four bytes say how much it is. */
const gunzip = unpacking('gzip', gunzipSync, (bytes) => (bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4)));
const inflate = unpacking('deflate', inflateSync);
const inflateRaw = unpacking('deflate', inflateRawSync);
const unbrotli = unpacking('br', brotliDecompressSync);
/** A window of 8 MiB is the largest that what is sent over HTTP may have (RFC 9659). */
const unzstd = unpacking('zstd', (bytes, options) =>
  zstdDecompressSync(bytes, { ...options, params: { [zlib.ZSTD_d_windowLogMax]: 23 } }),
);

/** What says how hard it was packed follows the letter. */
const isZlib = (head: string): boolean => ['x\x01', 'x\x5e', 'x\x9c', 'x\xda'].includes(head.slice(0, 2));

/** As headers name them. */
const ENCODINGS: readonly string[] = ['gzip', 'deflate', 'br', 'zstd', 'identity'];

const WRAPPINGS: readonly Wrapping[] = [
  { looksSo: (head) => head.startsWith('\x1f\x8b\x08'), unwrap: gunzip },
  { looksSo: isZlib, unwrap: inflate },
  { looksSo: (head) => head.startsWith('\x28\xb5\x2f\xfd'), unwrap: unzstd },
  // The field `data`, perhaps behind others: `compression`, `ver`, `ip`, `_`.
  { looksSo: (head) => FORM.test(head), unwrap: formData },
  // The first character that lz-string has packed is a bracket or a brace.
  { looksSo: (head) => /^N[4-7o-r][\w+/]/.test(head), unwrap: unpackLz64 },
  { looksSo: (head) => /^[\w+/-][\w+/= \r\n-]*$/.test(head), unwrap: base64 },
];

/**
 * Removes what only its name tells: data of brotli looks like anything, and so does that of deflate without a head. What a
 * proxy has unpacked on its way is JSON already: packed data may begin with a bracket, too, but is no text.
 */
function withoutEncoding(bytes: Buffer, encoding: string, limits: DecodeLimits): Buffer {
  if (!ENCODINGS.includes(encoding))
    throw new Undecodable(
      'unsupported_encoding',
      `The Content-Encoding of the request is none of these: ${ENCODINGS.join(', ')}.`,
    );
  if (isJsonText(bytes)) return bytes;
  if (encoding === 'br') return unbrotli(bytes, limits);
  if (encoding === 'deflate' && !isZlib(bytes.toString('latin1', 0, 2))) return inflateRaw(bytes, limits);
  return bytes;
}

const isJsonText = (bytes: Buffer): boolean =>
  /^\s*[{[]/.test(bytes.toString('latin1', 0, HEAD_BYTES)) && isUtf8(bytes);

/** Reads that one field alone: `URLSearchParams` takes minutes for a megabyte of names that have no value. */
function formData(bytes: Buffer): Buffer {
  const { length } = FORM.exec(bytes.toString('latin1', 0, HEAD_BYTES))?.[0] ?? '';
  const end = bytes.indexOf('&', length);
  const field = bytes.toString('utf8', length - 'data='.length, end < 0 ? bytes.length : end);
  return Buffer.from(new URLSearchParams(field).get('data') ?? '', 'utf8');
}

/** Of a form that did not escape its `+` they have become spaces. */
function base64(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').replaceAll(' ', '+'), 'base64');
}

/** As it is sent; what it holds may be any multiple of it. Nobody sends it any more, and pages never sent so much. */
const LARGEST_LZ64 = 4 * MIB;

/**
 * What lz-string's `compressToBase64` has packed. That package has no bound: a few kilobytes of it can be gigabytes.
 * A bit stream of codes, each as wide as the dictionary needs: 0 and 1 bring a new character (8 or 16 bits), 2 ends it,
 * all others name an entry of the dictionary, which grows by one with each.
 */
function unpackLz64(bytes: Buffer, limits: DecodeLimits): Buffer {
  if (bytes.length > LARGEST_LZ64) throw tooLarge(limits);
  const packed = base64(bytes);
  let at = 0;
  const read = (width: number): number => {
    let code = 0;
    for (let bit = 0; bit < width; bit++, at++) code |= (((packed[at >> 3] ?? 0) >> (7 - (at & 7))) & 1) << bit;
    return code;
  };
  const dictionary = ['', '', ''];
  const texts: string[] = [];
  let length = 0;
  let before = '';
  let width = 2;
  /** The first size of the dictionary that codes of this width cannot name. */
  let wide = 4;
  for (;;) {
    if (at > packed.length * 8) throw new Undecodable('undecodable', 'The lz64 data of the request is cut off.');
    let code = read(width);
    if (code === 2) return Buffer.from(texts.join(''), 'utf8');
    if (code < 2) {
      dictionary.push(String.fromCharCode(read(code === 0 ? 8 : 16)));
      code = dictionary.length - 1;
    }
    const entry = dictionary[code] ?? (code === dictionary.length ? before + before.charAt(0) : '');
    if (entry === '') throw new Undecodable('undecodable', 'The lz64 data of the request is damaged.');
    texts.push(entry);
    length += entry.length;
    if (length > limits.bytes) throw tooLarge(limits);
    if (before !== '') dictionary.push(before + entry.charAt(0));
    before = entry;
    while (dictionary.length >= wide) {
      wide *= 2;
      width += 1;
    }
  }
}

/**
 * The value of JSON text as JavaScript reads it, but for what Python writes: NaN and infinities are null. A whole number
 * that JavaScript would write with other digits is a `RawNumber`; one that names somebody, whole or not, becomes text.
 * Bytes that are no UTF-8 become U+FFFD.
 */
function parse(bytes: Buffer, limits: DecodeLimits): unknown {
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
/** Whether a number is whole, and JavaScript would write it with other digits. It may have millions of them. */
const isLong = (number: string): boolean =>
  number.length >= LONG_DIGITS &&
  /^-?[1-9]/.test(number) &&
  !/[.eE+]|\d-/.test(number) &&
  isLossy(Number(number), number);

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
