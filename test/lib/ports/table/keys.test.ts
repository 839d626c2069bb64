/** Most of this is held by the compiler: a line that it does not refuse makes its `@ts-expect-error` an error. */
import { fromJsonText, type JsonText, toJsonText } from '../../../../lib/ports/table/json-text.ts';
import { type Items, isSameKind, keys, ranges } from '../../../../lib/ports/table/keys.ts';
import { sqliteTable } from '../../../../lib/ports/table/sqlite.ts';

const table = sqliteTable(':memory:', { clock: () => 0 });
const mail = { ...keys.email('Ada@example.com'), user_uuid: 'u1' };
const slug = { ...keys.slug('acme'), organization_id: 'o1' };

beforeAll(() => table.write([{ put: mail }, { put: slug }]));
afterAll(() => table.close());

test('a read gives the item of its key', async () => {
  expect((await table.get(keys.email('ada@example.com')))?.user_uuid).toBe('u1');
  // @ts-expect-error At the key of a slug lies no e-mail address.
  const found: Items['email'] | undefined = await table.get(keys.slug('acme'));
  expect(found).toEqual(slug);
});

test('an item has no other key than one of its kind', () => {
  // @ts-expect-error At the key of a slug lies no e-mail address.
  const item: Items['email'] = { ...keys.slug('acme'), user_uuid: 'u1' };
  expect(Object.getOwnPropertySymbols(item)).toEqual([]);
});

test('reads of several kinds give the item of each key, in their order', async () => {
  const [first, second] = await table.many([keys.slug('acme'), keys.email('ada@example.com')]);
  expect([first?.organization_id, second?.user_uuid]).toEqual(['o1', 'u1']);
});

test('a list of the index of keys gives keys, by which whole items can be read', async () => {
  const { items } = await table.list(ranges.dueJobs(0), { limit: 1 });
  // @ts-expect-error The due time stands in the whole item alone.
  expect(items.map((entry) => entry.due)).toEqual([]);
  expect((await table.many(items)).map((job) => job?.due)).toEqual([]);
});

test('a guard tells items of one partition apart', async () => {
  const { items } = await table.list(ranges.userAndMemberships('u1'), { limit: 10 });
  const members = items.filter(isSameKind(keys.membership('u1', '')));
  expect(members.map((member) => member.organization_id)).toEqual([]);
});

test('JSON text gives what it was made of', () => {
  const text: JsonText<number[]> = toJsonText([1, 2]);
  expect(text).toBe('[1,2]');
  expect(fromJsonText(text).map((n) => n + 1)).toEqual([2, 3]);
  // @ts-expect-error Any text is no JSON of numbers.
  expect(fromJsonText<number[]>('[3]')).toEqual([3]);
});
