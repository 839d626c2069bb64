/** What people do with dashboards beside the main paths: tiles, dates, access, sharing. */
import type { Locator, Page } from 'playwright-core';
import { obstacles } from '../../support/browser.ts';
import { button, describeConsole, expectSeen, whileWritten } from '../../support/console.ts';

const tile = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

describeConsole('a dashboard in the console', ({ service, open }) => {
  const at = (path: string): string => `/projects/${service().project}${path}`;
  const api = (path: string): string => `/api/projects/${service().project}${path}`;
  /** Makes a dashboard, and returns its path. */
  const made = async (body: object): Promise<string> => {
    const { body: board } = await service().call('POST', api('/dashboards/'), body);
    return `/dashboards/${String(board['id'])}`;
  };
  const boardAt = async (path: string) => (await service().call('GET', `${api(path)}/`)).body;

  test('changes the text of a tile, and shows both texts where somebody else was faster', async () => {
    const path = await made({ name: 'Notes', tiles: [{ text: { body: 'Before' } }, { text: { body: 'Other' } }] });
    const { page } = await open(at(path));
    await button(page, 'Edit layout').click();
    await button(tile(page, 'Before'), 'Edit').click();
    const dialog = page.getByRole('dialog', { name: 'Edit' });
    await dialog.getByRole('textbox', { name: 'Text' }).fill('# After\n\nwords');
    await button(dialog, 'Save').click();
    await expectSeen(tile(page, 'After').getByRole('heading', { name: 'After' }));

    await button(tile(page, 'After'), 'Edit').click();
    expect(await dialog.getByRole('textbox', { name: 'Text' }).inputValue()).toBe('# After\n\nwords');
    await dialog.getByRole('textbox', { name: 'Text' }).fill('Mine');
    const { tiles } = (await boardAt(path)) as { tiles: { id: number; text: { body: string } }[] };
    const [first] = tiles.filter(({ text }) => text.body.startsWith('# After'));
    await service().call('PATCH', `${api(path)}/`, { tiles: [{ id: first?.id, text: { body: 'Theirs' } }] });
    await button(dialog, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    expect(await boardAt(path)).toMatchObject({ tiles: [{ text: { body: 'Mine' } }, { text: { body: 'Other' } }] });
  });

  test('moves a tile to another dashboard, where it covers none, leaves one here too, and copies one', async () => {
    const { body: insight } = await service().call('POST', api('/insights/'), {
      name: 'Orders',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'ordered' }] },
    });
    const corner = { layouts: { sm: { x: 0, y: 0, w: 6, h: 4 } } };
    const target = await made({ name: 'Archive', tiles: [{ text: { body: 'Kept' }, ...corner }] });
    const path = await made({
      name: 'Work',
      tiles: [{ text: { body: 'Note' }, ...corner }, { insight: insight['id'] }],
    });
    const { page, complaints } = await open(at(path), { viewport: { width: 1440, height: 900 } });
    await button(page, 'Edit layout').click();
    const dialog = page.getByRole('dialog', { name: 'Move to' });
    const choose = async (name: string): Promise<void> => {
      await button(tile(page, name), 'Move to').click();
      await dialog.getByRole('combobox', { name: 'Dashboard' }).fill('rchi');
      await page.getByRole('option', { name: 'Archive' }).click();
    };
    await choose('Note');
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Move').click();
    await tile(page, 'Note').waitFor({ state: 'detached' });
    await choose('Orders');
    await dialog.getByRole('checkbox', { name: 'Leave it here too' }).check();
    await button(dialog, 'Move').click();
    await expectSeen(page.getByText('The other dashboard shows it too.'));
    await button(tile(page, 'Orders'), 'Copy').click();
    await expectSeen(tile(page, 'Orders (Copy)'));
    expect(((await boardAt(path))['tiles'] as unknown[]).length).toBe(2);

    await page.goto(`${service().address}/#${at(target)}`);
    await expectSeen(tile(page, 'Orders'));
    const [kept, note] = await Promise.all(['Kept', 'Note'].map((name) => tile(page, name).boundingBox()));
    expect(note?.y).toBeGreaterThanOrEqual((kept?.y ?? 0) + (kept?.height ?? 0));
    expect(complaints).toEqual([]);
  });

  test('chooses a first and a last day, which the address remembers', async () => {
    const { body: insight } = await service().call('POST', api('/insights/'), {
      name: 'Seen',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'seen' }], dateRange: { date_from: '-7d' } },
    });
    const path = await made({ name: 'Days', tiles: [{ insight: insight['id'] }] });
    const { page } = await open(at(path));
    await button(page, 'Other days').click();
    const dialog = page.getByRole('dialog', { name: 'Other days' });
    await dialog.getByLabel('From').fill('2026-02-05');
    await dialog.getByLabel('To', { exact: true }).fill('2026-02-03');
    await expectSeen(dialog.getByText('It is before the first day.'));
    expect(await button(dialog, 'Show them').isDisabled()).toBe(true);
    expect(await obstacles(page)).toEqual([]);
    await dialog.getByLabel('To', { exact: true }).fill('2026-02-06');
    await button(dialog, 'Show them').click();
    expect(await page.getByRole('combobox', { name: 'Dates' }).inputValue()).toBe('5 Feb 2026 to 6 Feb 2026');
    await tile(page, 'Seen').locator('figure').getByText('Numbers', { exact: true }).click();
    const rows = tile(page, 'Seen').locator('figure').getByRole('row');
    await expectSeen(rows.filter({ hasText: '6-Feb-2026' }));
    // Below the names of the columns.
    expect(await rows.count()).toBe(3);
    await page.reload();
    await expectSeen(tile(page, 'Seen').locator('figure'));
    expect(await page.getByRole('combobox', { name: 'Dates' }).inputValue()).toBe('5 Feb 2026 to 6 Feb 2026');
    await button(page, 'Other days').click();
    expect(await dialog.getByLabel('From').inputValue()).toBe('2026-02-05');
  });

  test('says who may see it, member by member', async () => {
    const path = await made({ name: 'Payroll' });
    const { page, complaints } = await open(at(path));
    await button(page, 'Access').click();
    const dialog = page.getByRole('dialog', { name: 'Access' });
    const level = async (whom: string, choice: string): Promise<void> => {
      await dialog.getByRole('combobox', { name: `What ${whom} may do` }).click();
      await Promise.all([
        page.waitForResponse((one) => one.request().method() === 'PUT' && one.ok()),
        page.getByRole('option', { name: choice, exact: true }).click(),
      ]);
    };
    const rules = async () => (await service().call('GET', `${api(path)}/access_controls/`)).body['access_controls'];
    await dialog.getByRole('combobox', { name: 'Member', exact: true }).click();
    await page.getByRole('option', { name: 'member@example.com' }).click();
    await button(dialog, 'Add a rule').click();
    await level('member@example.com', 'see and edit it');
    await level('all members', 'do not see it');
    const remove = button(dialog, 'Remove the rule of member@example.com');
    await expectSeen(remove);
    expect(await obstacles(page)).toEqual([]);
    expect(await rules()).toMatchObject([
      { access_level: 'editor', organization_member: expect.any(String) },
      { access_level: 'none', organization_member: null },
    ]);
    await remove.click();
    await remove.waitFor({ state: 'detached' });
    expect(await rules()).toMatchObject([{ access_level: 'none', organization_member: null }]);
    expect(complaints).toEqual([]);
  });

  test('shows both versions where somebody else has shared it meanwhile', async () => {
    const path = await made({ name: 'Public' });
    const { page } = await open(at(path));
    await button(page, 'Share').click();
    const toggle = page.getByRole('switch', { name: 'Anybody who has the link' });
    await page.getByRole('switch', { name: 'Anybody who has the link', disabled: false }).waitFor();
    await service().call('PATCH', `${api(path)}/sharing/`, { enabled: true, allow_date_range: true });
    await service().call('PATCH', `${api(path)}/sharing/`, { enabled: false });
    await toggle.press('Space');
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('enabled, as it is now'));
    expect(await toggle.isChecked()).toBe(false);
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectSeen(page.getByText('/shared/'));
    expect((await service().call('GET', `${api(path)}/sharing/`)).body).toMatchObject({
      enabled: true,
      allow_date_range: true,
    });
  });
});
