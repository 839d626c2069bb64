import { createHash } from 'node:crypto';
import * as z from 'zod';
import { createUser } from '../../../lib/accounts/users/store.ts';
import { endpoint } from '../../../lib/api/endpoint.ts';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { Answer } from '../../../lib/http/answer.ts';
import { text } from '../../../lib/http/fields.ts';
import { route } from '../../../lib/http/route.ts';
import { fail } from '../../../lib/ports/errors.ts';
import { keys } from '../../../lib/ports/table/keys.ts';
import { testContext } from '../../support/context.ts';
import { proxyEvent, type Sent } from '../../support/proxy-event.ts';
import { countRoundTrips } from '../../support/round-trips.ts';

const createNote = route({
  handler: 'notes/create',
  method: 'POST',
  paths: ['/api/notes', '/api/notes/{part}'],
  scope: 'any',
  summary: 'Create a note',
  tag: 'Notes',
  params: z.object({}),
  body: z.object({ name: text() }),
  response: z.object({ id: z.string(), name: z.string() }),
  status: 201,
  idempotent: true,
});

const OTHERWISE = '409 The Idempotency-Key was used before with another request body, or another API key.';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const noteKey = (id: string) => ({ pk: `NOTE ${id}`, sk: 'NOTE' });

async function world() {
  const base = testContext();
  const user = await createUser(base, { email: 'a@example.com' });
  const other = await createUser(base, { email: 'b@example.com' });
  const table = countRoundTrips(base.table);
  const context = { ...base, table };
  let created = 0;
  const handler = endpoint(createNote, {
    async run({ body, idempotencyOps }) {
      const id = `note-${++created}`;
      await table.write([{ put: { ...noteKey(id), ...body }, if: 'absent' }, ...idempotencyOps(id)]);
      return new Answer({ id, name: body.name }, { headers: { Location: `/api/notes/${id}` } });
    },
    async replay(id) {
      const note = (await table.get(noteKey(id))) ?? fail('not_found');
      return new Answer({ id, name: note['name'] as string }, { headers: { Location: `/api/notes/${id}` } });
    },
  })(context);
  const create = async (key: string | undefined, name: unknown, sent: Sent = {}) => {
    const { statusCode, headers, body } = await handler(
      proxyEvent(createNote, {
        body: { name },
        credentials: { userId: user.uuid },
        headers: key === undefined ? {} : { 'idempotency-key': key },
        ...sent,
      }),
    );
    const { id = '', detail = '' } = JSON.parse(body) as { id?: string; detail?: string };
    const replayed = headers?.['Idempotent-Replayed'] === 'true' ? ' replayed' : '';
    return `${statusCode} ${id}${detail}${replayed}`;
  };
  return { context: base, table, create, user, other };
}

test('a repeat renders the object anew, as it is now, and says so', async () => {
  const { context, create } = await world();
  expect(await create('k', 'a')).toBe('201 note-1');
  expect(await create('k', 'a')).toBe('201 note-1 replayed');
  await context.table.write([{ remove: noteKey('note-1') }]);
  expect(await create('k', 'a')).toBe('404 Not found.');
});

test('a repeat of what is under way is a 202 again', async () => {
  const { context, user } = await world();
  const isUnderWay = (id: string) => new Answer({ id, name: 'a' }, { isAccepted: true });
  const handler = endpoint(createNote, {
    async run({ idempotencyOps }) {
      await context.table.write([{ put: noteKey('note-1'), if: 'absent' }, ...idempotencyOps('note-1')]);
      return isUnderWay('note-1');
    },
    replay: isUnderWay,
  })(context);
  const headers = { 'idempotency-key': 'k' };
  const event = () => proxyEvent(createNote, { body: { name: 'a' }, credentials: { userId: user.uuid }, headers });
  expect(await handler(event())).toMatchObject({ statusCode: 202 });
  expect(await handler(event())).toMatchObject({ statusCode: 202, headers: { 'Idempotent-Replayed': 'true' } });
});

test('another body with the same key is a conflict', async () => {
  const { create } = await world();
  await create('k', 'a');
  expect(await create('k', 'b')).toBe(OTHERWISE);
});

test('of the body the table keeps a hash under the API key, which it does not know', async () => {
  const { context, create, user } = await world();
  const sent = (value: string): Sent => ({ headers: { 'idempotency-key': 'k', authorization: `Bearer ${value}` } });
  await create('k', 'password', sent('phx_one'));
  const key = keys.idempotency(user.uuid, sha256(JSON.stringify(['POST', '/api/notes', 'k'])));
  const record = await context.table.get(key);
  expect(record?.['body']).toMatch(/^[0-9a-f]{64}$/);
  expect(record?.['body']).not.toBe(sha256(JSON.stringify({ name: 'password' })));
  expect(await create('k', 'password', sent('phx_one'))).toBe('201 note-1 replayed');
  expect(await create('k', 'password', sent('phx_two'))).toBe(OTHERWISE);
});

test('without a key, with another key, by another user and on another path each request creates', async () => {
  const { create, other } = await world();
  expect(await create('k', 'a')).toBe('201 note-1');
  expect(await create(undefined, 'a')).toBe('201 note-2');
  expect(await create('K', 'a')).toBe('201 note-3');
  expect(await create('k', 'a', { credentials: { userId: other.uuid } })).toBe('201 note-4');
  expect(await create('k', 'a', { path: '/api/notes/{part}', params: { part: 'x' } })).toBe('201 note-5');
});

test('the slash at the end of the path makes no difference', async () => {
  const { create } = await world();
  await create('k', 'a');
  expect(await create('k', 'a', { bare: true })).toBe('201 note-1 replayed');
});

test('a request that failed is not remembered', async () => {
  const { create } = await world();
  expect(await create('k', '')).toBe('400 This field may not be blank.');
  expect(await create('k', 'a')).toBe('201 note-1');
});

test('of two at once one creates, and both get the same object', async () => {
  const { create } = await world();
  const answers = await Promise.all([create('k', 'a'), create('k', 'a')]);
  expect(answers.map((answer) => answer.replace(' replayed', ''))).toEqual([answers[0], answers[0]]);
  expect(answers.filter((answer) => answer.endsWith('replayed'))).toHaveLength(1);
});

test('of two at once with different bodies one creates and the other is a conflict', async () => {
  const { create } = await world();
  const answers = await Promise.all([create('k', 'a'), create('k', 'b')]);
  expect(answers.filter((answer) => answer.startsWith('201'))).toHaveLength(1);
  expect(answers.filter((answer) => answer.startsWith('409'))).toHaveLength(1);
});

test('it is remembered for 24 hours', async () => {
  const { context, create } = await world();
  await create('k', 'a');
  context.clock.advance(DAY_MS - 1000);
  expect(await create('k', 'a')).toBe('201 note-1 replayed');
  context.clock.advance(1000);
  expect(await create('k', 'a')).toBe('201 note-2');
});

test.each(['', 'x'.repeat(256), 'schlüssel', 'a\u0000b'])('%j cannot be a key', async (key) => {
  const { create } = await world();
  expect(await create(key, 'a')).toBe('400 The Idempotency-Key must be 1 to 255 ASCII characters.');
});

test.each(['x'.repeat(255), '__proto__', 'a#b', 'with blanks'])('%j can', async (key) => {
  const { create } = await world();
  await create(key, 'a');
  expect(await create(key, 'a')).toBe('201 note-1 replayed');
});

test('looking for an earlier request costs no round trip of its own', async () => {
  const { create, table } = await world();
  table.counted();
  await create('k', 'a');
  expect(table.counted()).toBe(2);
});
