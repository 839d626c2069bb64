/** The organization in the console: who is in it, with which keys, and its projects. */
import type { Locator, Page } from 'playwright-core';
import { DAY_MS } from '../../../lib/basics/units.ts';
import { obstacles } from '../../support/browser.ts';
import {
  asBefore,
  button,
  describeConsole,
  expectGone,
  expectSeen,
  heldBack,
  row,
  whileWritten,
} from '../../support/console.ts';

describeConsole('the organization in the console', ({ service, open, at, api }) => {
  test('invites somebody, whose link opens a page that accepts', async () => {
    const { page } = await open(at('/people'));
    await page.getByRole('textbox', { name: 'Email' }).fill('member@example.com');
    await button(page, 'Invite').click();
    await expectSeen(page.getByText('A user with this email address already belongs to the organization.'));
    await page.getByRole('textbox', { name: 'Email' }).fill('bea@example.com');
    // What was said of one address is not said of another.
    await expectGone(page.getByText('already belongs to the organization'));
    await page.getByRole('textbox', { name: 'Email' }).fill('member@example.com');
    await expectSeen(page.getByText('already belongs to the organization'));
    await page.getByRole('textbox', { name: 'Email' }).fill('bea@example.com');
    await button(page, 'Invite').click();
    await expectSeen(page.getByText("npx workspace key create --email … --label … --scopes '*'"));
    expect(await obstacles(page)).toEqual([]);
    const link = String(await page.getByText('/#/invites/').first().textContent());
    expect(link).toMatch(`${service().address}/#/invites/`);
    await page.goto(link);
    const facts = page.getByRole('table', { name: 'Invitation' });
    await expectSeen(facts.getByRole('row', { name: 'For b*a@example.com' }));
    await expectSeen(facts.getByRole('row', { name: 'Level Member' }));
    await expectSeen(page.getByText('It is for somebody else: you are signed in as owner@example.com.'));
    expect(await button(page, 'Accept').count()).toBe(0);
    expect(await obstacles(page)).toEqual([]);

    // Who is not signed in sees what it is to, and signs in there.
    await service().admin('user', 'create', '--email', 'bea@example.com');
    const key = await service().keyOf('bea@example.com');
    await button(page, 'Sign in as somebody else').click();
    await expectSeen(facts);
    await expectSeen(page.getByRole('heading', { name: 'Sign in to accept' }));
    await expectSeen(page.getByText('ask whoever runs the service to make you a user with this address, and a key.'));
    expect(await page.getByText('The first start of the service').count()).toBe(0);
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(key);
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText('You accept as bea@example.com.'));
    await button(page, 'Accept').click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    // Who has no name is told by their address, also where there is no room for a column of them.
    await page.setViewportSize({ width: 360, height: 900 });
    await page.goto(`${service().address}/#${at('/people')}`);
    await expectSeen(page.getByRole('cell', { name: 'bea@example.com (you)' }));
    await page.goto(link);
    await expectSeen(page.getByRole('alert').filter({ hasText: 'There is no such invitation' }));
    // Its id tells when one was made.
    const time = (Date.now() - 4 * DAY_MS).toString(16).padStart(12, '0');
    const past = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
    await page.goto(`${service().address}/#/invites/${past}`);
    await expectSeen(page.getByRole('alert').filter({ hasText: 'This invitation has expired' }));
    expect(await obstacles(page)).toEqual([]);
  });

  test('says what was refused of an invitation whose address was changed before the answer came', async () => {
    const { page } = await open(at('/people'));
    const email = page.getByRole('textbox', { name: 'Email' });
    const answer = await heldBack(page, '**/invites/', (one) => one.method() === 'POST');
    await email.fill('owner@example.com');
    await button(page, 'Invite').click();
    await email.fill('cleo@example.com');
    answer();
    await expectSeen(page.getByText('already belongs to the organization'));
    await email.fill('cleo2@example.com');
    await expectGone(page.getByText('already belongs to the organization'));
  });

  test('says why an invitation cannot be accepted yet, and asks again', async () => {
    const { body } = await service().call('POST', '/api/organizations/@current/invites/', {
      email: 'dot@example.com',
      level: 1,
    });
    const { page } = await open(`/invites/${String(body['id'])}`);
    const detail = 'Request was throttled.';
    await page.route('**/api/users/**', (asked) =>
      asked.fulfill({ status: 429, json: { type: 'throttled_error', code: 'throttled', detail, attr: null } }),
    );
    await page.reload();
    await expectSeen(page.getByText(detail));
    await page.unroute('**/api/users/**');
    await button(page, 'Try again').click();
    await expectSeen(page.getByText('It is for somebody else: you are signed in as owner@example.com.'));
  });

  test('copies a link where the browser has no clipboard for the page', async () => {
    const { page, complaints } = await open(at('/people'));
    // So it is on a page without TLS, at another address than that of this machine.
    await page.evaluate('delete Navigator.prototype.clipboard');
    const email = page.getByRole('textbox', { name: 'Email' });
    await email.fill('cyd@example.com');
    await button(page, 'Invite').click();
    const link = await page.getByText('/#/invites/').first().textContent();
    for (const copy of [
      button(row(page, 'Invitations', 'cyd@example.com'), 'Copy link'),
      button(page, 'Copy the invitation’s link'),
    ]) {
      await copy.click();
      await expectSeen(page.getByText('It is copied.'));
      await email.fill('');
      await email.press('ControlOrMeta+V');
      expect(await email.inputValue()).toBe(link);
    }
    expect(complaints).toEqual([]);
  });

  test('leads to a project of any organization, to that of an accepted invitation, and lets one be made where there is none', async () => {
    const email = 'eve@example.com';
    await service().admin('user', 'create', '--email', email);
    const key = await service().keyOf(email);
    const organization = async (name: string) => {
      const { body } = await service().call('POST', '/api/organizations/', { name }, key);
      const { id, projects } = body as unknown as { id: string; projects: { id: number }[] };
      return { id, project: Number(projects[0]?.id) };
    };
    const [first, second] = [await organization('First'), await organization('Second')];
    const isAt = (place: Page, project: number | string) =>
      place.waitForURL((url) => url.hash === `#/projects/${project}/home`);

    await service().call('DELETE', `/api/projects/${first.project}/`, undefined, key);
    const { page, complaints } = await open('/', { key });
    await isAt(page, second.project);

    // Its page would ask again, and be refused.
    await page.goto('about:blank');
    await service().call('DELETE', `/api/projects/${second.project}/`, undefined, key);
    await page.goto(`${service().address}/#/`);
    await expectSeen(page.getByText('You are in First and Second, where no project is yet.'));
    expect(await obstacles(page)).toEqual([]);
    await button(page, 'New project in Second').click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Afresh');
    await button(page, 'Create').click();
    await expectSeen(page.getByRole('heading', { name: 'Afresh' }));

    const sent = { target_email: email, level: 1 };
    const { body: invite } = await service().call('POST', '/api/organizations/@current/invites/', sent);
    await page.goto(`${service().address}/#/invites/${String(invite['id'])}`);
    await button(page, 'Accept').click();
    await isAt(page, service().project);
    expect(complaints).toEqual([]);
  });

  test('withdraws an invitation', async () => {
    const { page } = await open(at('/people'));
    await page.getByRole('textbox', { name: 'Email' }).fill('bob@example.com');
    await button(page, 'Invite').click();
    await button(row(page, 'Invitations', 'bob@example.com'), 'Withdraw').click();
    await button(page.getByRole('dialog'), 'Withdraw').click();
    await expectGone(row(page, 'Invitations', 'bob@example.com'));
  });

  test('shows every invitation, however many there are, and withdraws the last one', async () => {
    const { body: organization } = await service().call('POST', '/api/organizations/', { name: 'Many' });
    const path = `/api/organizations/${String(organization['id'])}`;
    const { body: projects } = await service().call('GET', `${path}/projects/`);
    const [project] = projects['results'] as { readonly id: number }[];
    for (let at = 1; at <= 201; at += 1)
      await service().call('POST', `${path}/invites/`, { target_email: `invited${at}@example.com`, level: 1 });
    const { page } = await open(`/projects/${String(project?.id)}/people`);
    await expectSeen(page.getByText('201 in all'));
    await button(page, 'Page 9').click();
    const last = row(page, 'Invitations', 'invited201@example.com');
    await button(last, 'Withdraw').click();
    await button(page.getByRole('dialog'), 'Withdraw').click();
    await expectGone(last);
    await button(page, 'Show the first page').click();
    await expectSeen(row(page, 'Invitations', 'invited1@example.com'));
    await expectSeen(page.getByText('200 in all'));
  });

  test('makes a key that may do little; who signs in with it sees what they may not do, and why', async () => {
    const { page } = await open(at('/keys'));
    await button(page, 'New key').click();
    await page.getByRole('textbox', { name: 'Label' }).fill('Reader');
    for (const scope of ['dashboard:read', 'project:read', 'user:read'])
      await page.getByRole('checkbox', { name: scope }).check();
    await button(page, 'Make the key').click();
    const value = String(await page.getByText(/^phx_\w{20,}$/).textContent());
    await page.reload();
    await expectSeen(row(page, 'Keys', 'Reader'));
    expect(await page.getByText(value).count()).toBe(0);

    const reader = await open(at('/dashboards'), { key: value });
    const make = button(reader.page, 'New dashboard');
    await expectSeen(make.and(reader.page.locator('[aria-disabled=true]')));
    expect(await make.getAttribute('aria-description')).toBe('Your key lacks the scope dashboard:write');
    await reader.page.getByRole('link', { name: 'Exports' }).click();
    const refusal = (scope: string) => reader.page.getByRole('alert').filter({ hasText: scope });
    await expectSeen(refusal('batch_export:read'));
    await reader.page.goto(`${service().address}/#${at('/exports/new')}`);
    await expectSeen(refusal('batch_export:read'));
    for (const name of ['People', 'Settings']) {
      await reader.page.getByRole('link', { name }).click();
      await expectSeen(refusal('organization:read'));
    }

    await button(row(page, 'Keys', 'Reader'), 'Revoke').press('Enter');
    await button(page.getByRole('dialog'), 'Revoke').press('Enter');
    await expectGone(row(page, 'Keys', 'Reader'));
    // Who works with the keyboard goes on from there.
    await expectSeen(page.getByRole('group', { name: 'Keys' }).and(page.locator(':focus')));
  });

  test('says to a member what admins and owners alone may do, and does not let them try', async () => {
    const sent = { target_email: 'dan@example.com', level: 1 };
    await service().call('POST', '/api/organizations/@current/invites/', sent);
    const { page } = await open(at('/people'), { key: await service().keyOf() });
    const admins = 'Only admins and owners of the organization may do it';
    const why = async (one: Locator): Promise<string | null> => {
      await expectSeen(one.and(page.locator('[aria-disabled=true]')));
      return one.getAttribute('aria-description');
    };
    expect(await why(button(row(page, 'Invitations', 'dan@example.com'), 'Withdraw'))).toBe(admins);
    await expectSeen(row(page, 'Levels', 'Member').getByText('exports'));
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('link', { name: 'Settings' }).click();
    for (const name of ['New project', 'Delete the project', 'Change the token'])
      expect(await why(button(page, name))).toBe(admins);
    expect(await why(button(page, 'Delete the organization'))).toBe('Only owners of the organization may do it');
    const sentMethods: string[] = [];
    page.on('request', (one) => sentMethods.push(one.method()));
    await page.getByRole('textbox', { name: 'Organization’s name' }).press('Enter');
    await page.getByRole('link', { name: 'People' }).click();
    await expectSeen(row(page, 'Invitations', 'dan@example.com'));
    await page.getByRole('link', { name: 'Activity log' }).click();
    await expectSeen(page.getByText('Admins and owners read it.'));
    expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0);
    expect(sentMethods.filter((method) => method !== 'GET')).toEqual([]);
  });

  test('says on a phone, too, whose a member’s address is and what a key may do', async () => {
    const sent = { label: 'Script', scopes: ['insight:read', 'query:read'] };
    await service().call('POST', '/api/personal_api_keys/', sent);
    const { email } = (await service().call('GET', '/api/users/@me/')).body as { email: string };
    await service().call('PATCH', '/api/users/@me/', { first_name: 'Olivia' });
    const { page } = await open(at('/keys'), { viewport: { width: 390, height: 844 } });
    const key = row(page, 'Keys', 'Script');
    for (const text of ['insight:read, query:read', /^phx_/, 'used never'])
      await expectSeen(key.getByText(text).filter({ visible: true }));
    await page.goto(`${service().address}/#${at('/people')}`);
    await expectSeen(row(page, 'Members', 'Olivia').getByText(email).filter({ visible: true }));
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
    expect(await obstacles(page)).toEqual([]);
  });

  test('stays signed in, in all tabs, with the new value of the key that somebody has signed in with', async () => {
    const key = await service().newKey();
    const { page } = await open(at('/keys'), { key });
    await page.evaluate("localStorage.setItem('workspace-key', sessionStorage.getItem('workspace-key'))");
    const other = await page.context().newPage();
    for (const tab of [page, other]) await tab.goto(`${service().address}/?remembered#${at('/keys')}`);
    await button(row(page, 'Keys', 'Own (this one)'), 'Roll').click();
    await button(page.getByRole('dialog'), 'Roll').click();
    const value = String(await page.getByText(/^phx_\w{20,}$/).textContent());
    expect(value).not.toBe(key);
    for (const tab of [page, other]) {
      await tab.getByRole('link', { name: 'Exports' }).click();
      await expectSeen(tab.getByText('No exports yet.'));
      await tab.reload();
      await expectSeen(tab.getByText('No exports yet.'));
    }
  });

  test('says to a key that may not see the project what it lacks, where people and what they did would be', async () => {
    const key = await service().newKey(['organization_member:read', 'activity_log:read']);
    const { page } = await open(at('/people'), { key });
    for (const name of ['Activity log', 'People']) {
      await page.getByRole('link', { name }).click();
      await expectSeen(page.getByRole('heading', { name, level: 1 }));
      await expectSeen(page.getByRole('main').getByRole('alert').filter({ hasText: 'project:read' }));
    }
  });

  test('tells who did what, renames the project, changes its token and deletes one whose name is typed again', async () => {
    const { page } = await open(at('/settings'));
    await page.getByRole('textbox', { name: 'Project’s name' }).fill('Shop');
    await button(page, 'Save').first().click();
    await expectSeen(page.getByText('The name is changed.'));
    await button(page, 'Change the token').click();
    await button(page.getByRole('dialog'), 'Change the token').click();
    await expectSeen(page.getByText('The project has another token.'));
    const { body: members } = await service().call('GET', '/api/organizations/@current/members/');
    const { results } = members as unknown as { results: { user: { uuid: string; email: string } }[] };
    const uuid = results.find(({ user }) => user.email === 'member@example.com')?.user.uuid;
    await service().call('PATCH', `/api/organizations/@current/members/${uuid}/`, { level: 8 });
    await page.getByRole('link', { name: 'Activity log' }).click();
    await expectSeen(row(page, 'Activity', /updated project Shop/));
    await expectSeen(row(page, 'Activity', 'level: Member is now Admin'));
    await page.getByRole('link', { name: 'Settings' }).click();
    await button(page, 'New project').click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Short-lived');
    await button(page, 'Create').click();
    await expectSeen(page.getByRole('heading', { name: 'Short-lived' }));
    await page.getByRole('link', { name: 'Settings' }).click();
    await button(page, 'Delete the project').click();
    const dialog = page.getByRole('dialog');
    expect(await button(dialog, 'Delete the project').isDisabled()).toBe(true);
    await dialog.getByRole('textbox').fill('Short-lived');
    await button(dialog, 'Delete the project').click();
    await expectSeen(page.getByRole('heading', { name: 'Shop' }));
    await service().call('PATCH', api('/'), { name: 'Default project' });
  });

  test('has a project keep no addresses', async () => {
    const { page, complaints } = await open(at('/settings'));
    const form = page.locator('form').filter({ hasText: 'land without $ip' });
    await form.getByRole('switch', { name: 'Keep no addresses of visitors' }).check();
    await form.getByRole('button', { name: 'Save' }).click();
    await expectSeen(page.getByText('Events land without addresses from now on.'));
    await page.reload();
    expect(await page.getByRole('switch', { name: 'Keep no addresses of visitors' }).isChecked()).toBe(true);
    expect((await service().call('GET', api('/'))).body).toMatchObject({ anonymize_ips: true });
    expect(complaints).toEqual([]);
  });

  test('chooses the time zone of a project and the day on which its weeks begin, and shows both versions of its name', async () => {
    const { page, complaints } = await open(at('/settings'));
    await page.getByRole('combobox', { name: 'Time zone' }).fill('berl');
    await page.getByRole('option', { name: 'Europe/Berlin' }).click();
    await page.getByRole('combobox', { name: 'Weeks begin on' }).click();
    await page.getByRole('option', { name: 'Monday' }).click();
    await page.locator('form').filter({ hasText: 'Exports stay in UTC' }).getByRole('button', { name: 'Save' }).click();
    await expectSeen(page.getByText('Insights count by it from now on.'));
    await page.reload();
    expect(await page.getByRole('combobox', { name: 'Weeks begin on' }).inputValue()).toBe('Monday');
    expect(await page.getByRole('combobox', { name: 'Time zone' }).inputValue()).toBe('Europe/Berlin');
    expect(await obstacles(page)).toEqual([]);
    const { body } = await service().call('GET', api('/'));
    expect(body).toMatchObject({ timezone: 'Europe/Berlin', week_start_day: 1 });
    expect(complaints).toEqual([]);

    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await asBefore(page, api('/'));
    await service().call('PATCH', api('/'), { name: 'Theirs', week_start_day: 0 });
    await page.getByRole('textbox', { name: 'Project’s name' }).fill('Mine');
    await button(page, 'Save').first().click();
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectSeen(page.getByText('The name is changed.'));
    expect((await service().call('GET', api('/'))).body).toMatchObject({ name: 'Mine', week_start_day: 0 });
    await page.getByRole('combobox', { name: 'Weeks begin on' }).and(page.locator('[value=Sunday]')).waitFor();
  });
});
