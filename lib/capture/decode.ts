/**
 * The JSON value that a request of an SDK holds, however it is wrapped. What a layer is, its first bytes say: names of
 * encodings in headers, forms and queries are wrong, or missing, too often to decide anything, but where bytes tell nothing.
 */
import { isUtf8 } from 'node:buffer';
import {
  brotliDecompressSync,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  constants as zlib,
  zstdDecompressSync,
} from 'node:zlib';
import { MIB } from '../basics/units.ts';
import { parse } from './lenient-json.ts';
import { DECODE_LIMITS, type DecodeLimits, tooLarge, Undecodable } from './undecodable.ts';

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
