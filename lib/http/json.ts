/** JSON as callers send it: parsed with nothing lost, refused with PostHog's texts. */
import type * as z from 'zod';
import { parseWithRawNumbers } from '../basics/raw-number.ts';

/** Deeper bodies are refused (decisions: 64 levels). */
const MAX_DEPTH = 64;

/** Malformed JSON, with the text that the caller reads. */
export class BadJson extends Error {
  override readonly name = 'BadJson';
}

/** 16 digits may pass 2^53, three digits of exponent may pass 1.8e308. */
const MAY_HOLD_RAW_NUMBER = /\d{16}|\d[eE]\+?\d{3}/;

const isLossy = (value: number, source: string): boolean =>
  !Number.isFinite(value) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(value));

/**
 * Parses JSON. Integers beyond 2^53 and numbers beyond 1.8e308 become a `RawNumber`; every key, `__proto__` too, is an
 * own property. Throws `BadJson` when the text is malformed or nested over 64 levels.
 */
export function parseJson(text: string): unknown {
  if (depthOf(text) > MAX_DEPTH) throw new BadJson(`JSON parse error - Nested over ${MAX_DEPTH} levels`);
  try {
    return MAY_HOLD_RAW_NUMBER.test(text) ? parseWithRawNumbers(text, isLossy) : JSON.parse(text);
  } catch {
    throw new BadJson(`JSON parse error - ${explain(text)}`);
  }
}

/** Returns what a schema reads of JSON; undefined where it is none, or not of the schema. */
export function readJson<S extends z.ZodType>(schema: S, text: string): z.output<S> | undefined {
  try {
    return schema.safeParse(parseJson(text)).data;
  } catch (error) {
    if (error instanceof BadJson) return undefined;
    throw error;
  }
}

/** Returns the deepest nesting of brackets outside strings. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{' || char === '[') deepest = Math.max(deepest, ++depth);
    else if (char === '}' || char === ']') depth--;
  }
  return deepest;
}

const BLANK = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/uy;
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

/** Returns where and why malformed JSON breaks, in the words of PostHog's parser. Only for text that does not parse. */
function explain(text: string): string {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const length = pattern.exec(text)?.[0].length;
    at += length ?? 0;
    return length !== undefined;
  };
  const next = (char: string): boolean => {
    take(BLANK);
    if (text[at] !== char) return false;
    at++;
    return true;
  };
  class Broken extends Error {}
  const broken = (why: string): never => {
    throw new Broken(why);
  };
  const string = (): boolean => {
    const start = at;
    if (!take(STRING)) return false;
    if (text[at] === '"') {
      at++;
      return true;
    }
    if (at >= text.length) {
      at = start;
      return broken('Unterminated string starting at');
    }
    if (text[at] !== '\\') return broken('Invalid control character at');
    return text[at + 1] === 'u' ? (at++, broken('Invalid \\uXXXX escape')) : broken('Invalid \\escape');
  };
  const member = (): void => {
    take(BLANK);
    if (!string()) broken('Expecting property name enclosed in double quotes');
    if (!next(':')) broken("Expecting ':' delimiter");
    value();
  };
  const list = (end: string, one: () => void): void => {
    if (next(end)) return;
    do one();
    while (next(','));
    if (!next(end)) broken("Expecting ',' delimiter");
  };
  const value = (): void => {
    if (next('{')) list('}', member);
    else if (next('[')) list(']', value);
    else if (!string() && !take(SCALAR)) broken('Expecting value');
  };
  try {
    if (text.startsWith('\ufeff')) broken('Unexpected UTF-8 BOM (decode using utf-8-sig)');
    value();
    take(BLANK);
    return broken('Extra data');
  } catch (error) {
    const lines = text.slice(0, at).split('\n');
    const why = error instanceof Broken ? error.message : 'Malformed';
    return `${why}: line ${lines.length} column ${(lines.at(-1) ?? '').length + 1} (char ${at})`;
  }
}
