import { randomBytes } from 'node:crypto';
import { hashedPassword, isPassword } from '../../../../lib/dashboards/sharing/password.ts';

const PASSWORD = 'what the owner has told you';
const made = (organization: string) => hashedPassword(PASSWORD, organization, randomBytes);

const outcomes = async (all: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(all)).map((one) => (one.status === 'fulfilled' ? 'done' : one.reason));

const TOO_MANY = expect.objectContaining({
  kind: 'throttled',
  headers: { 'Retry-After': '10' },
  message: expect.stringContaining('Many passwords of shared pages are being set or entered.'),
});

test('a hash is that of its password alone, however that is composed', async () => {
  const hash = await hashedPassword('Caf\u00e9 au lait', 'one', randomBytes);
  expect(await isPassword('Cafe\u0301 au lait', 'one', hash)).toBe(true);
  expect(await isPassword('Cafe au lait', 'one', hash)).toBe(false);
});

test('an organization has one password hashed and four in line, set or entered; the next is told to come again', async () => {
  const hash = await made('one');
  const setting = [1, 2, 3].map(() => made('one'));
  const entering = [1, 2, 3].map(() => isPassword(PASSWORD, 'one', hash));
  const other = made('another');
  expect(await outcomes([...setting, ...entering])).toEqual([...Array(5).fill('done'), TOO_MANY]);
  expect(await outcomes([other, made('one')])).toEqual(['done', 'done']);
});

test('where sixteen are in line, an organization has its first place all the same, and no second', async () => {
  const inLine = ['one', 'two', 'three', 'four'].flatMap((name) => Array.from({ length: 4 }, () => made(name)));
  const late = [made('one'), made('late'), made('late')];
  expect(await outcomes([...inLine, ...late])).toEqual([...Array(18).fill('done'), TOO_MANY]);
});
