import * as z from 'zod';
import { text } from '../../../lib/http/fields.ts';
import { parse } from '../../../lib/http/parse.ts';
import { Failure } from '../../../lib/ports/errors.ts';

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
