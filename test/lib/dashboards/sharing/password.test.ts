import { randomBytes } from 'node:crypto';
import { hashedPassword, isPassword } from '../../../../lib/dashboards/sharing/password.ts';

const PASSWORD = 'what the owner has told you';
const made = (organization: string, more: { user?: string; signal?: AbortSignal } = {}) =>
  hashedPassword(PASSWORD, { organization, ...more }, randomBytes);
const entered = (hash: string, password = PASSWORD) => isPassword(password, { organization: 'one' }, hash);

const outcomes = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map((one) => (one.status === 'fulfilled' ? 'done' : one.reason));

const TOO_MANY = expect.objectContaining({
  kind: 'throttled',
  headers: { 'Retry-After': '10' },
  message: expect.stringContaining('Many passwords of shared pages are being set or entered.'),
});

test('a hash is that of its password alone, however that is composed', async () => {
  const hash = await hashedPassword('Caf\u00e9 au lait', { organization: 'one' }, randomBytes);
  expect(await entered(hash, 'Cafe\u0301 au lait')).toBe(true);
  expect(await entered(hash, 'Cafe au lait')).toBe(false);
});

test('an organization has one password hashed and four in line that are set; the next is told to come again', async () => {
  const setting = [1, 2, 3, 4, 5, 6].map(() => made('one'));
  const other = made('another');
  expect(await outcomes(setting)).toEqual([...Array(5).fill('done'), TOO_MANY]);
  expect(await outcomes([other, made('one')])).toEqual(['done', 'done']);
});

test('a dozen who enter a password are in line at once, and wait for none that is set', async () => {
  const hash = await made('one');
  const setting = [1, 2, 3, 4].map(() => made('one'));
  let isSet = false;
  void setting.at(-1)?.then(() => {
    isSet = true;
  });
  expect(await entered(hash)).toBe(true);
  expect(isSet).toBe(false);
  const entering = Array.from({ length: 14 }, () => entered(hash));
  expect(await outcomes(entering)).toEqual([...Array(13).fill('done'), TOO_MANY]);
  await Promise.all(setting);
});

test('a user who sets passwords in many organizations is next when others were', async () => {
  const done: string[] = [];
  const all = ['one', 'two', 'three', 'four'].map((name) =>
    made(name, { user: 'busy' }).then(() => void done.push(name)),
  );
  all.push(made('five', { user: 'other' }).then(() => void done.push('five')));
  await Promise.all(all);
  expect(done.indexOf('five')).toBeLessThan(2);
});

test('whoever leaves while they wait gives their place to the next', async () => {
  const left = new AbortController();
  const staying = made('one');
  const leaving = [1, 2, 3, 4].map(() => made('one', { signal: left.signal }));
  left.abort(new Error('gone'));
  const next = [1, 2, 3, 4].map(() => made('one'));
  expect(await outcomes(leaving)).toEqual(leaving.map(() => expect.objectContaining({ message: 'gone' })));
  expect(await outcomes([staying, ...next])).toEqual(Array(5).fill('done'));
});

test('where sixteen are in line, an organization has its first place all the same, and no second', async () => {
  const inLine = ['one', 'two', 'three', 'four'].flatMap((name) => Array.from({ length: 4 }, () => made(name)));
  const late = [made('one'), made('late'), made('late')];
  expect(await outcomes([...inLine, ...late])).toEqual([...Array(18).fill('done'), TOO_MANY]);
});
