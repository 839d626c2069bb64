import * as z from 'zod';
import { choice, freeObject, integer, text } from '../../../lib/http/fields.ts';
import { parseJson } from '../../../lib/http/json.ts';
import { parse } from '../../../lib/http/parse.ts';
import { Failure } from '../../../lib/ports/errors.ts';
import { refusal } from '../../support/refusals.ts';

/** What is told of a value, and how many items of its lists were read. */
function told(value: unknown): { readonly attr: string | null | undefined; readonly read: number } {
  let read = 0;
  const item = z.unknown().transform((sent, context) => {
    read += 1;
    if (sent === 'bad') context.addIssue({ code: 'custom', message: 'bad' });
    return sent;
  });
  const schema = z.object({ name: text(), tags: z.array(item), tiles: z.array(z.object({ tags: z.array(item) })) });
  try {
    parse(schema, value);
    return { attr: undefined, read };
  } catch (error) {
    return { attr: error instanceof Failure ? error.body.attr : undefined, read };
  }
}

const good = { name: 'a', tags: ['a', 'b'], tiles: [{ tags: ['c'] }] };

test('of many faults the first is told, and what stands behind it is not read', () => {
  const bad = Array.from({ length: 100 }, () => 'bad');
  expect(told(good)).toEqual({ attr: undefined, read: 3 });
  expect(told({ ...good, tags: ['a', ...bad] })).toEqual({ attr: 'tags__1', read: 2 });
  expect(told({ ...good, name: [], tags: bad })).toEqual({ attr: 'name', read: 0 });
  expect(told({ ...good, tiles: [...good.tiles, { tags: bad }, { tags: bad }] })).toEqual({
    attr: 'tiles__1__tags__0',
    read: 4,
  });
});

describe('a number with more digits than JavaScript has', () => {
  const Inner = z.object({ level: integer().optional() });
  const Body = z.object({
    id: text().optional(),
    size: choice(['s']).optional(),
    inner: Inner.nullable().optional(),
    tiles: z.array(Inner).optional(),
    names: z.record(z.string(), z.unknown()).optional(),
    either: z.union([z.string(), Inner]).optional(),
    free: freeObject().optional(),
    whatever: z.unknown().optional(),
  });
  const fault = (sent: string) => {
    const { attr, detail } = refusal(() => parse(Body, parseJson(sent))) as { attr: unknown; detail: unknown };
    return [attr, detail];
  };
  const none = (type: string) => `Invalid data. Expected a dictionary, but got ${type}.`;

  test.each([
    ['100000000000000000000', null, none('int')],
    ['1e400', null, none('float')],
    ['-1.5e999', null, none('float')],
    ['{"inner": 100000000000000000000}', 'inner', none('int')],
    ['{"inner": 12345678901234567890.5}', 'inner', none('float')],
    ['{"tiles": [{}, 9007199254740993]}', 'tiles__1', none('int')],
    ['{"names": 9007199254740993}', 'names', none('int')],
    ['{"either": 9007199254740993}', 'either', 'Invalid input.'],
    ['{"free": 9007199254740993}', 'free', none('int')],
    ['{"inner": {"level": 9007199254740993}}', 'inner__level', 'A valid integer is required.'],
    ['{"size": 9007199254740993, "inner": 5}', 'size', '"9007199254740993" is not a valid choice. Choose one of: s.'],
  ])('is no object: %s', (sent, attr, detail) => {
    expect(fault(sent)).toEqual([attr, detail]);
  });

  test('keeps its digits where a number may be', () => {
    const sent = '{"id":100000000000000000000,"names":{"a":[1e400]},"whatever":-9007199254740993}';
    const read = '{"id":"100000000000000000000","names":{"a":[1e400]},"whatever":-9007199254740993}';
    expect(JSON.stringify(parse(Body, parseJson(sent)))).toBe(read);
  });
});
