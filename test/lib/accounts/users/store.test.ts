import { createUser, findUserByEmail } from '../../../../lib/accounts/users/store.ts';
import { testContext } from '../../../support/context.ts';

test('users are numbered from 1, and each has its own distinct id', async () => {
  const context = testContext();
  const ada = await createUser(context, { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' });
  const bob = await createUser(context, { email: 'bob@example.com' });
  expect(ada).toMatchObject({ id: 1, first_name: 'Ada', last_name: 'Lovelace', created_at: context.clock() });
  expect(bob).toMatchObject({ id: 2, first_name: '', last_name: '' });
  expect(ada.distinct_id).not.toBe(bob.distinct_id);
});

test('an e-mail address belongs to one user, in whatever case', async () => {
  const context = testContext();
  const ada = await createUser(context, { email: 'Ada@Example.com' });
  await expect(createUser(context, { email: 'ada@example.COM' })).rejects.toMatchObject({
    body: { attr: 'email', code: 'unique', detail: 'There is already an account with this email address.' },
  });
  expect(await findUserByEmail(context.table, 'ADA@example.com')).toEqual(ada);
  expect(await findUserByEmail(context.table, 'nobody@example.com')).toBeUndefined();
});

test('of two users made at once with one e-mail address one is made', async () => {
  const context = testContext();
  const made = await Promise.allSettled(
    ['a@example.com', 'A@example.com'].map((email) => createUser(context, { email })),
  );
  expect(made.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
});

test.each(['ada', 'ada@', '@example.com', 'a b@example.com'])('%j is no e-mail address', async (email) => {
  await expect(createUser(testContext(), { email })).rejects.toMatchObject({
    body: { attr: 'email', detail: 'Enter a valid email address.' },
  });
});
