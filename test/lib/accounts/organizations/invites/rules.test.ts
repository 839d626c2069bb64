import { refuseOthers } from '../../../../../lib/accounts/organizations/invites/rules.ts';

const INVITE = { target_email: 'ada@example.com', organization_id: 'a' };
const by =
  (email: string, scopedOrganizations: string[] = []) =>
  () =>
    refuseOthers(INVITE, { user: { email }, scopedOrganizations });

test('only who was invited is let in, whatever the case of their address', () => {
  expect(by('ADA@example.com')).not.toThrow();
  expect(by('eve@example.com')).toThrow('Not found.');
});

test('only a key that may reach the organization is let in', () => {
  expect(by('ada@example.com', ['a'])).not.toThrow();
  expect(by('ada@example.com', ['b'])).toThrow('API keys with scoped organizations cannot join other organizations.');
});
