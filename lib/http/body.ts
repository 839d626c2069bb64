import { parse } from 'node:querystring';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import * as z from 'zod';
import { beginningOf } from '../basics/text.ts';
import { MIB } from '../basics/units.ts';
import { Failure, fail } from '../ports/errors.ts';
import { headerOf } from './header.ts';
import { BadJson, parseJson } from './json.ts';

const MAX_BYTES = MIB;

/** More than any schema has. A form of 1 MB may hold 200,000 names, which take half a second as an object. */
const MAX_NAMES = 1000;

/** Returns the bytes of the body as it was sent. */
export function bytesOf({ body, isBase64Encoded }: Pick<APIGatewayProxyEvent, 'body' | 'isBase64Encoded'>): Buffer {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
}

/**
 * Returns the value of a request's body: JSON, or a form whose names may repeat for lists. An empty body is `{}`.
 * A form that begins as a JSON object is one; one of more than a thousand names is refused. Throws a 413, a 415, or the 400 of a
 * body that cannot be read. `schema`
 * says which fields of a form are lists.
 */
export function bodyOf(event: APIGatewayProxyEvent, schema: z.ZodType): unknown {
  const bytes = bytesOf(event);
  if (bytes.length > MAX_BYTES) fail('request_too_large');
  if (bytes.length === 0) return {};
  checkEncoding(headerOf(event.headers, 'content-encoding') ?? '');
  const sent = headerOf(event.headers, 'content-type') ?? '';
  const mediaType = (sent.split(';')[0] ?? '').trim().toLowerCase();
  if (mediaType === '' || mediaType === 'application/json') return json(bytes);
  if (mediaType === 'application/x-www-form-urlencoded') {
    return isJsonObject(bytes) ? json(bytes) : fields(formOf(utf8(bytes)), schema);
  }
  return fail('unsupported_media_type', `Unsupported media type "${beginningOf(sent, 200)}" in request.`);
}

/** Returns the values of a form. Throws the 400 of one with more names than a form has. */
function formOf(text: string): NamedValues {
  const names = new Set<string>();
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf('&', at);
    const end = found < 0 ? text.length : found;
    names.add(text.slice(at, end).split('=', 1)[0] ?? '');
    if (names.size > MAX_NAMES) fail('parse_error', `The form has more than ${MAX_NAMES} fields.`);
    at = end + 1;
  }
  // `URLSearchParams` takes seconds for a form of many names that have no value.
  return parse(text, '&', '=', { maxKeys: 0 });
}

/**
 * Returns whether a body begins as a JSON object. `curl -d` says of everything that it is a form; in one that was encoded
 * a brace is %7B, and read as a form the object would be one unknown field, which is passed over.
 */
const isJsonObject = (bytes: Buffer): boolean => /^\s*\{/.test(bytes.toString('latin1', 0, 64));

/** Throws the 415 of a body that is packed: unpacked it may be of any size. */
function checkEncoding(sent: string): void {
  const encoding = sent.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return;
  const detail = `Unsupported content encoding "${beginningOf(sent, 200)}" in request. None is taken: send the body as it is.`;
  fail('unsupported_media_type', detail);
}

function json(bytes: Buffer): unknown {
  try {
    return parseJson(utf8(bytes));
  } catch (error) {
    throw error instanceof BadJson ? new Failure('parse_error', { detail: error.message }) : error;
  }
}

function utf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail('parse_error', 'The request body is not valid UTF-8.');
  }
}

/** The values of a form or a query string by their names: of a repeated name all of them. */
export type NamedValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns named values as an object: of a repeated name all for a list, else the last. Any name is an own key. */
export function fields(values: NamedValues, schema: z.ZodType): unknown {
  const shape = schema instanceof z.ZodObject ? (schema.shape as Readonly<Record<string, z.ZodType>>) : {};
  return Object.fromEntries(
    Object.entries(values).map(([name, sent = '']) => {
      const all = [sent].flat();
      return [name, Object.hasOwn(shape, name) && isList(shape[name]) ? all : all.at(-1)];
    }),
  );
}

function isList(schema: z.ZodType | undefined): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return isList(schema.unwrap() as z.ZodType);
  }
  return schema instanceof z.ZodArray;
}
