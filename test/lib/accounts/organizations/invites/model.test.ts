import { type InviteItem, invitePreviewObject } from '../../../../../lib/accounts/organizations/invites/model.ts';

const INVITE = { id: 'i', target_email: 'ada@example.com', level: 1, expires_at: 0 } as InviteItem;
const HOST = { first_name: '', last_name: '', email: 'host@example.com' };

test.each([
  ['ada@example.com', 'a*a@example.com'],
  ['lovelace@example.com', 'l******e@example.com'],
  ['al@example.com', '**@example.com'],
  ['a@example.com', '*@example.com'],
])('who reads the invitation of %s sees %s', (target_email, seen) => {
  const preview = invitePreviewObject({ ...INVITE, target_email }, { name: 'Acme' }, HOST);
  expect(preview).toMatchObject({ target_email: seen, organization_name: 'Acme' });
});

test('who invites is told by their name, and without one by what is seen of their address', () => {
  const by = (host: Partial<typeof HOST>) =>
    invitePreviewObject(INVITE, { name: 'Acme' }, { ...HOST, ...host }).invited_by;
  expect(by({ first_name: 'Grace', last_name: 'Hopper' })).toBe('Grace Hopper');
  expect(by({ first_name: 'Grace' })).toBe('Grace');
  expect(by({})).toBe('h**t@example.com');
});
