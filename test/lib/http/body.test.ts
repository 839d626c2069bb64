import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import { bodyOf } from '../../../lib/http/body.ts';
import { text } from '../../../lib/http/fields.ts';
import type { Failure } from '../../../lib/ports/errors.ts';
import { proxyEvent } from '../../support/proxy-event.ts';

const schema = z.object({ name: text(), tags: z.array(text()).nullable().optional(), on: text().optional() });
const read = (body: unknown, contentType?: string, more: Record<string, string> = {}): unknown => {
  const headers = contentType === undefined ? more : { 'content-type': contentType, ...more };
  try {
    return bodyOf(proxyEvent({ method: 'POST', paths: ['/'] }, { body, headers }), schema);
  } catch (error) {
    const { status, body: answer } = error as Failure;
    return `${status} ${answer.code}: ${answer.detail}`;
  }
};

test('JSON is read with and without a content type', () => {
  for (const type of [undefined, '', 'application/json', 'Application/JSON; charset=utf-8']) {
    expect(read('{"name":"é 😀"}', type)).toEqual({ name: 'é 😀' });
  }
});

test('an empty body is an empty object, whatever its type', () => {
  for (const type of [undefined, 'application/json', 'text/plain']) expect(read('', type)).toEqual({});
  expect(read(undefined)).toEqual({});
});

test.each(['text/plain', 'multipart/form-data; boundary=x', 'application/xml', 'json'])('%s is 415', (type) => {
  expect(read('{}', type)).toBe(`415 unsupported_media_type: Unsupported media type "${type}" in request.`);
});

test.each(['gzip', 'br', 'gzip, identity'])('a body in the encoding %s is 415, before it is read', (encoding) => {
  const detail = `Unsupported content encoding "${encoding}" in request. None is taken: send the body as it is.`;
  const sent = gzipSync('{"name":"x"}');
  expect(read(sent, 'application/json', { 'content-encoding': encoding })).toBe(
    `415 unsupported_media_type: ${detail}`,
  );
});

test.each(['identity', 'Identity', ''])('a body in no encoding may say so: "%s"', (encoding) => {
  expect(read('{"name":"x"}', 'application/json', { 'content-encoding': encoding })).toEqual({ name: 'x' });
});

test('malformed JSON is 400', () => {
  expect(read('{a}')).toBe(
    '400 parse_error: JSON parse error - Expecting property name enclosed in double quotes: line 1 column 2 (char 1)',
  );
});

test('bytes that are not UTF-8 are 400, in JSON and in a form', () => {
  for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
    expect(read(Buffer.from([0x22, 0xff, 0x22]), type)).toBe('400 parse_error: The request body is not valid UTF-8.');
  }
});

test('base64 is decoded', () => {
  expect(read(Buffer.from('{"name":"ü"}'))).toEqual({ name: 'ü' });
});

const filled = (bytes: number): string => `"${'x'.repeat(bytes - 2)}"`;

test('1 MiB is read, a byte more is 413, counted in bytes', () => {
  expect(read(filled(1024 * 1024))).toHaveLength(1024 * 1024 - 2);
  expect(read(filled(1024 * 1024 + 1))).toMatch(/^413 request_too_large/);
  expect(read(`"${'é'.repeat(1024 * 512)}"`)).toMatch(/^413/);
  expect(read(Buffer.alloc(1024 * 1024 + 1))).toMatch(/^413/);
});

const form = (body: string): unknown => read(body, 'application/x-www-form-urlencoded');

describe('a form', () => {
  test('of more names than a thousand is refused, however often one repeats', () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `a${n}=x`).join('&');
    expect(Object.keys(form(names(1000)) as object)).toHaveLength(1000);
    expect(form(names(1001))).toBe('400 parse_error: The form has more than 1000 fields.');
  });

  test('that begins as a JSON object is one: curl -d names the wrong type, and an encoded form has no brace', () => {
    expect(form(' {"name": "a&name=b", "tags": []}')).toEqual({ name: 'a&name=b', tags: [] });
    expect(form('%7B=x')).toEqual({ '{': 'x' });
    expect(form('{"name": ')).toMatch(/^400 parse_error/);
  });

  test('has the last of repeated values, and all of a list', () => {
    expect(form('name=a&name=b&tags=x')).toEqual({ name: 'b', tags: ['x'] });
    expect(form('tags=x&tags=y+z&on=%C3%A9')).toEqual({ tags: ['x', 'y z'], on: 'é' });
  });

  test('may repeat a name as often as there is room', () => {
    // Where each value costs as much as there are before it, this takes minutes.
    expect(form(`${'a&'.repeat(520_000)}name=b`)).toEqual({ a: '', name: 'b' });
  });

  test('may name anything', () => {
    const value = form('__proto__=x&constructor=y&toString=z') as object;
    expect(Object.entries(value)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['toString', 'z'],
    ]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});
