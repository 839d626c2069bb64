/** The main path of every page of the console, as a person goes it: by role and name. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { builtConsole } from '../../../infra/local/console.ts';
import { CONSOLE_FOLDER } from '../../../lib/api/console/folder.ts';
import { HOUR_MS, MINUTE_MS } from '../../../lib/ports/units.ts';
import { obstacles } from '../../support/browser.ts';
import { button, describeConsole, expectSeen, row, seenAfterReloads, whileWritten } from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';
import { run } from '../../support/local-service.ts';

/** What a stranger may call things, each of which would run if it were taken for markup. */
const HOSTILE = '<img src=x onerror="document.title=\'taken\'">';

describeConsole('the console', ({ service, open }) => {
  const at = (path: string): string => `/projects/${service().project}${path}`;
  const api = (path: string): string => `/api/projects/${service().project}${path}`;
  const stored = (page: Page): Promise<readonly unknown[]> =>
    page.evaluate(() => [sessionStorage, localStorage].map((storage) => Object.values<string>(storage as never)));

  test('signs in by the link of the first start, whose key is in no address that a server sees, and in no log', async () => {
    const { key, lines } = service();
    const { page, requests, complaints } = await open(at('/home'));
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(page.url()).not.toContain('phx_');
    expect(requests.filter((url) => url.includes('phx_') && !url.includes('#'))).toEqual([]);
    expect(await stored(page)).toEqual([[key], []]);
    await page.reload();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(JSON.stringify(lines)).not.toContain(key);
    expect(complaints).toEqual([]);
    // What the first script needs is asked for with it.
    const { first } = await builtConsole();
    const text = await (await fetch(`${service().address}/`)).text();
    expect(first.filter((name) => !text.includes(`<link rel="modulepreload" href="/console/${name}">`))).toEqual([]);
  });

  test('signs in with a key, keeps it on the device only when asked to, and forgets it', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    await page.getByRole('textbox', { name: 'Personal API key' }).fill('phx_wrong');
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText('The service does not know this key'));
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(service().key);
    await page.getByRole('checkbox', { name: 'Remember on this device' }).check();
    await button(page, 'Sign in').click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(await stored(page)).toEqual([[], [service().key]]);
    await button(page, 'Olivia').click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Sign in' }));
    expect(await stored(page)).toEqual([[], []]);
  });

  test('shows how the first event is sent, and the event as it arrives', async () => {
    const { token, project } = service();
    const { page } = await open(at('/home'));
    await expectSeen(page.getByText('Send your first event'));
    const snippet = await page.getByRole('tabpanel', { name: 'curl' }).locator('pre').textContent();
    expect(snippet).toContain(`"${token}"`);
    await service().send({ event: 'paid', distinct_id: 'ada', properties: { plan: 'pro' } });
    await expectSeen(row(page, 'Events', 'paid'));
    await service().send({ event: 'old', distinct_id: 'ada', timestamp: '2015-05-17T10:05:03Z' });
    await expectSeen(row(page, 'Events', 'old').getByText('17 May 2015', { exact: true }));
    // What has arrived is counted in the table every few seconds.
    const lastDay = page.getByRole('img', { name: '2 events in the last 24 hours, at most 2 in an hour' });
    await expect(seenAfterReloads(page, lastDay)).resolves.toBe(true);
    await page.getByRole('link', { name: 'All events' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Events' }));
    await page.getByRole('textbox', { name: 'Distinct id' }).fill('nobody');
    await expectSeen(page.getByText('No event is like that.'));
    expect(page.url()).toContain(`/projects/${project}/events?`);
    await page.goBack();
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
  });

  test('names on the first page the exports whose last run that has ended failed, and says of how many none has', async () => {
    const { page } = await open(at('/home'));
    const one = (name: string, ...statuses: string[]) => ({
      id: name,
      name,
      latest_runs: statuses.map((status) => ({ status })),
    });
    let results = [
      one('Tried again', 'Running', 'Failed'),
      one('Mended', 'Completed', 'Failed'),
      one('New', 'Starting'),
    ];
    await page.route('**/batch_exports/?*', (route) =>
      route.fulfill({ json: { count: results.length + 1, next: null, previous: null, results } }),
    );
    await page.reload();
    await expectSeen(page.getByRole('link', { name: 'Tried again' }));
    expect(await page.getByRole('link', { name: /^(Mended|New)$/ }).count()).toBe(0);
    results = results.slice(1);
    await page.reload();
    await expectSeen(page.getByText('None of the newest 2: no last run has failed.'));
  });

  test('shows what strangers have named as text, whatever they say', async () => {
    const { page, complaints } = await open(at('/events'));
    await service().send({
      event: HOSTILE,
      distinct_id: `<script>${'x'.repeat(80)}</script>`,
      properties: { [HOSTILE]: HOSTILE, $current_url: 'javascript:alert(1)', $set: { email: HOSTILE } },
    });
    await button(page, HOSTILE).first().click();
    const properties = page.getByRole('table', { name: 'Properties', exact: true });
    await expectSeen(properties.getByRole('cell', { name: HOSTILE }));
    await page.keyboard.press('Escape');
    await service().call('POST', api('/dashboards/'), {
      name: HOSTILE,
      tags: [HOSTILE],
      tiles: [{ text: { body: `${HOSTILE} [link](javascript:alert(1)) ![image](http://example.com/x.png)` } }],
    });
    await page.getByRole('link', { name: 'Dashboards' }).click();
    await page.getByRole('link', { name: HOSTILE }).click();
    await expectSeen(page.getByText(HOSTILE));
    await page.getByRole('link', { name: 'Persons' }).click();
    await page.getByRole('link', { name: HOSTILE }).click();
    await expectSeen(page.getByRole('heading', { name: HOSTILE }));
    await expectSeen(row(page, 'Properties', HOSTILE));
    expect(await page.title()).not.toBe('taken');
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('makes a dashboard, lays it out by keyboard, and shares it', async () => {
    const { page } = await open(at('/dashboards'));
    await button(page, 'New dashboard').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Sales');
    await button(page, 'Create').click();
    await expectSeen(page.getByRole('heading', { name: 'Sales' }));
    for (const text of ['# First', 'Second']) {
      await button(page, 'Add text').click();
      await page.getByRole('textbox', { name: 'Text' }).fill(text);
      await button(page, 'Add').click();
      await expectSeen(page.getByRole('region', { name: text.replace('# ', '') }));
    }
    await button(page, 'Edit layout').click();
    await button(page, 'Move Second').focus();
    const [answer] = await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'PATCH'),
      page.keyboard.press('ArrowDown'),
    ]);
    expect(answer.request().headers()['if-match']).toBeDefined();
    expect(answer.status()).toBe(200);
    await button(page, 'Done').click();
    await button(page, 'Share').click();
    // Not before it is known whether there is a link.
    const toggle = page.getByRole('switch', { name: 'Anybody who has the link', disabled: false });
    await toggle.click({ force: true });
    const link = await page.getByText('/shared/').first().textContent();
    const shared = await fetch(String(link));
    expect(await shared.text()).toContain('Second');

    const path = api(`/dashboards/${page.url().split('/').at(-1) ?? ''}/sharing/`);
    const kept = { name: 'Kept', breakdown_filter: { breakdown: '$browser', breakdown_limit: 3 } };
    await service().call('PATCH', path, { filter_choices: [kept] });
    await page.reload();
    await button(page, 'Share').click();
    await button(page, 'What readers may do').click();
    const settings = page.getByRole('dialog', { name: 'What readers may do' });
    await expectSeen(settings.getByText('The form cannot say all of it.'));
    await button(settings, 'Add a choice').click();
    const choice = settings.getByRole('group', { name: 'Choice 2' });
    await choice.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
    await choice.getByRole('textbox', { name: 'Broken down by' }).fill('plan');
    await button(choice, 'Add a filter').click();
    await choice.getByRole('combobox', { name: 'Property 1' }).fill('plan');
    await choice.getByRole('combobox', { name: 'Value 1' }).fill('pro');
    await settings.getByRole('switch', { name: 'Readers may choose other dates' }).press('Space');
    await settings.getByRole('textbox', { name: 'Password' }).fill('short');
    await button(settings, 'Save').click();
    await expectSeen(settings.getByText('Ensure this field has at least 8 characters.'));
    expect(await obstacles(page)).toEqual([]);
    await settings.getByRole('textbox', { name: 'Password' }).fill('long enough');
    await button(settings, 'Save').click();
    await settings.waitFor({ state: 'detached' });
    const { body: sharing } = await service().call('GET', path);
    expect(sharing).toMatchObject({
      password_required: true,
      allow_date_range: true,
      filter_choices: [
        kept,
        {
          name: HOSTILE,
          properties: [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }],
          breakdown_filter: { breakdown: 'plan' },
        },
      ],
    });
    expect((await fetch(String(link))).status).toBe(403);

    await button(page, 'What readers may do').click();
    await service().call('PATCH', path, { allow_date_range: false });
    await settings.getByRole('switch', { name: 'Ask for no password' }).press('Space');
    await button(settings, 'Remove choice 1').click();
    await button(settings, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await whileWritten(page, () => button(notice, 'Write mine').click());
    expect((await service().call('GET', path)).body).toMatchObject({
      password_required: false,
      allow_date_range: false,
      filter_choices: [{ name: HOSTILE }],
    });
  });

  test('goes its main paths with the keyboard alone', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    const { keyboard } = page;
    /** Goes on with Tab until something has the focus, as who sees where it is. */
    const reach = async (name: string | RegExp, role?: string): Promise<void> => {
      for (let left = 120; left > 0; left -= 1) {
        await keyboard.press('Tab');
        const focused = page.locator(':focus');
        if ((await focused.count()) === 0) continue;
        const [[found = '', kind = ''] = []] = await focused.evaluateAll((elements) =>
          elements.map((element) => {
            const { labels } = element as unknown as { readonly labels?: readonly { readonly textContent: string }[] };
            const said = element.getAttribute('aria-label') ?? labels?.[0]?.textContent ?? element.textContent ?? '';
            return [said.replace(/ ?\*$/, '').trim(), element.getAttribute('role') ?? element.tagName.toLowerCase()];
          }),
        );
        if ((typeof name === 'string' ? found === name : name.test(found)) && (role === undefined || role === kind))
          return;
      }
      throw new Error(`Tab leads nowhere near ${String(name)}`);
    };
    const press = async (name: string | RegExp, role?: string): Promise<void> => {
      await reach(name, role);
      await keyboard.press('Enter');
    };
    const type = async (name: string, text: string): Promise<void> => {
      await reach(name);
      await keyboard.type(text);
    };
    /** The first field of a dialog has the focus, as soon as the dialog is there. */
    const dialog = (): Promise<void> => page.getByRole('dialog').locator('input:focus, textarea:focus').waitFor();
    const title = (name: string): Promise<void> => page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

    await title('Sign in');
    await type('Personal API key', service().key);
    await keyboard.press('Enter');
    await title('Default project');

    await press('Dashboards', 'a');
    await title('Dashboards');
    await press('New dashboard');
    await dialog();
    await keyboard.type('By keys');
    await keyboard.press('Enter');
    await title('By keys');
    for (const text of ['One', 'Two']) {
      await press('Add text');
      await dialog();
      await keyboard.type(text);
      await press('Add', 'button');
      await expectSeen(page.getByRole('region', { name: text }));
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await press('Edit layout');
    await reach('Move Two');
    const place = () =>
      page
        .getByRole('region', { name: 'Two' })
        .evaluate((tile) => (tile as unknown as { readonly style: { readonly gridRow: string } }).style.gridRow);
    const before = await place();
    await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'PATCH' && one.ok()),
      keyboard.press('ArrowDown'),
    ]);
    expect(await place()).not.toBe(before);

    await press('Insights', 'a');
    await title('Insights');
    await press('New insight');
    await title('New insight');
    await type('Name', 'Kept by keys');
    await press('Save');
    await title('Kept by keys');

    await press('Exports', 'a');
    await title('Exports');
    await press('New export');
    await title('New export');
    await reach('Postgres');
    for (let at = 0; at < 5 && !(await page.getByRole('radio', { name: /^Folder/ }).isChecked()); at += 1)
      await keyboard.press('ArrowDown');
    await type('Folder', temporaryFolder());
    await type('Name', 'Files by keys');
    await keyboard.press('Enter');
    await title('Files by keys');
    await press('Pause');
    await expectSeen(page.getByText('Files by keys is paused.'));

    await press('Keys', 'a');
    await title('Keys');
    await press('New key');
    await dialog();
    await keyboard.type('Made by keys');
    await reach('dashboard:read');
    await keyboard.press('Space');
    await press('Make the key');
    await page.getByText(/^phx_\w{20,}$/).waitFor();
  });

  test('asks a question by choosing and in HogQL, keeps it, and shows it on a dashboard', async () => {
    const { body: board } = await service().call('POST', api('/dashboards/'), { name: 'Numbers' });
    await service().send({ event: 'ordered', distinct_id: 'ada', properties: { amount: 12, plan: HOSTILE } });
    const { page, complaints } = await open(at('/events'));
    await expectSeen(row(page, 'Events', 'ordered'));
    await page.getByRole('link', { name: 'Insights' }).click();
    await page.getByRole('link', { name: 'New insight' }).click();
    await page.getByRole('combobox', { name: 'Event 1' }).fill('ordered');
    await button(page, 'Add a breakdown').click();
    await page.getByRole('combobox', { name: 'Property of breakdown 1' }).fill('plan');
    await page.locator('figure').getByText('Numbers', { exact: true }).click();
    await expectSeen(page.locator('figure').getByRole('table').getByText(HOSTILE));
    await page.getByRole('textbox', { name: 'Name' }).fill('Orders');
    await page.getByRole('combobox', { name: 'On dashboards' }).press('ArrowDown');
    await page.getByRole('option', { name: 'Numbers' }).click();
    await page.keyboard.press('Escape');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Orders' }));

    await page.goto(`${service().address}/#${at('/insights/new')}`);
    await expectSeen(page.getByRole('heading', { name: 'New insight' }));
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^HogQL/ }).click();
    const editor = page.getByRole('textbox', { name: 'HogQL query' });
    // Typed: what a test puts in at once brings styles of its own, which the page's policy refuses.
    const write = async (text: string): Promise<void> => {
      await editor.press('ControlOrMeta+a');
      await editor.press('Delete');
      await editor.pressSequentially(text);
    };
    await write('SELECT arrStringC');
    await expectSeen(page.getByRole('option', { name: 'arrayStringConcat' }));
    await editor.press('Enter');
    expect(await editor.textContent()).toBe('SELECT arrayStringConcat()');
    await write('SELECT nothing FROM events');
    await expectSeen(page.getByRole('alert').filter({ hasText: 'nothing' }));
    const fault = page.locator('.cm-lintRange-error');
    await expectSeen(fault);
    expect(await fault.textContent()).toBe('nothing');
    await write("SELECT count() AS orders FROM events WHERE event = 'ordered'");
    await expectSeen(page.locator('figure').getByRole('columnheader', { name: 'orders' }));

    await page.goto(`${service().address}/#${at(`/dashboards/${String(board['id'])}`)}`);
    await expectSeen(page.getByRole('region', { name: 'Orders' }).locator('figure'));
    // The browser itself complains of the answer to the query that was wrong.
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
  });

  test('completes names and values of properties in filters and breakdowns, and offers the days that have events', async () => {
    const { body: project } = await service().call('POST', '/api/organizations/@current/projects/', { name: 'Shop' });
    const there = `/projects/${String(project['id'])}`;
    const bought = (distinct_id: string, plan: string, country: string) =>
      JSON.stringify({
        event: 'bought',
        distinct_id,
        timestamp: '2015-05-17T10:05:03Z',
        properties: { plan, [HOSTILE]: 1, $set: { country } },
        person_properties: { country },
      });
    const history = join(temporaryFolder(), 'history.jsonl');
    writeFileSync(
      history,
      [bought('ada', 'pro', 'GB'), bought('bob', 'pro', 'US'), bought('cleo', 'free', 'US')].join('\n'),
    );
    const home = { WORKSPACE_HOME: service().home };
    const imported = await run('infra/local/admin.ts', ['import', '--project', String(project['id']), history], home);
    expect(imported.code).toBe(0);
    const { page, complaints } = await open(`${there}/insights/new`);
    const box = (name: string): Locator => page.getByRole('combobox', { name, exact: true });
    const choose = async (name: string, option: string | RegExp): Promise<void> => {
      await box(name).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };
    await box('Event 1').fill('bought');
    await choose('Shown as', 'Table');
    await button(page, 'Show 17 May 2015').click();
    const cells = (text: string): Locator => page.locator('figure').getByRole('row').filter({ hasText: text });
    await expectSeen(cells('bought').getByText('3', { exact: true }));
    expect(await box('When').inputValue()).toBe('17 May 2015');

    await button(page, 'Add a breakdown').click();
    await choose('Property of breakdown 1', /^plan 3 events$/);
    await button(page, 'Add a breakdown').click();
    await choose('Breakdown 2 by', 'person');
    await choose('Property of breakdown 2', /^country 3 persons$/);
    await expectSeen(cells('pro').filter({ hasText: 'GB' }));
    await button(page, 'Add a breakdown').click();
    await choose('Breakdown 3 by', 'HogQL');
    await page.getByRole('textbox', { name: 'Expression of breakdown 3' }).fill('upper(event)');
    await expectSeen(cells('BOUGHT').filter({ hasText: 'free' }));
    expect(await button(page, 'Add a breakdown').count()).toBe(0);

    await button(page, 'Add a filter').click();
    await choose('Filter 1 by', 'person');
    await choose('Property 1', /^country/);
    await choose('Comparison 1', 'is not');
    await choose('Value 1', 'GB');
    await cells('GB').waitFor({ state: 'detached' });
    await choose('Comparison 1', 'is there');
    await box('Value 1').waitFor({ state: 'detached' });
    await button(page, 'Add a filter').click();
    await choose('Filter 2 by', 'HogQL');
    await page.getByRole('textbox', { name: 'Condition 2' }).fill("properties.plan = 'free'");
    await cells('pro').waitFor({ state: 'detached' });
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Name' }).fill('Plans');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Plans' }));
    const { body: kept } = await service().call('GET', `/api${there}/insights/${page.url().split('/').at(-1) ?? ''}/`);
    expect(kept['query']).toMatchObject({
      source: {
        dateRange: { date_from: '2015-05-17', date_to: '2015-05-17' },
        properties: [
          { key: 'country', operator: 'is_set', type: 'person' },
          { key: "properties.plan = 'free'", type: 'hogql' },
        ],
        breakdownFilter: {
          breakdowns: [
            { property: 'plan', type: 'event' },
            { property: 'country', type: 'person' },
            { property: 'upper(event)', type: 'hogql' },
          ],
        },
      },
    });
    // What was kept is in the form again.
    await page.reload();
    await expectSeen(page.getByRole('textbox', { name: 'Condition 2' }));
    expect(await box('Property of breakdown 2').inputValue()).toBe('country');
    expect(complaints).toEqual([]);
  });

  test('chooses the dates of a whole dashboard, offers those that have events, filters them, says who may edit, makes a copy and brings it back', async () => {
    const { body: project } = await service().call('POST', '/api/organizations/@current/projects/', {
      name: 'Old log',
    });
    const timestamp = '2015-05-17T10:05:03Z';
    await service().send({ api_key: project['api_token'], event: 'seen', distinct_id: 'ada', timestamp });
    const there = `/projects/${String(project['id'])}`;
    const series = [{ kind: 'EventsNode', event: 'seen' }];
    const { body: insight } = await service().call('POST', `/api${there}/insights/`, {
      name: 'Seen',
      query: { kind: 'TrendsQuery', series, dateRange: { date_from: '-7d' }, trendsFilter: { display: 'BoldNumber' } },
    });
    const { body: board } = await service().call('POST', `/api${there}/dashboards/`, {
      name: 'Log',
      tiles: [{ insight: insight['id'] }],
    });
    const { page, complaints } = await open(`${there}/events`);
    await expectSeen(row(page, 'Events', 'seen'));
    await page.goto(`${service().address}/#${there}/dashboards/${String(board['id'])}`);
    const number = page.getByRole('region', { name: 'Seen' }).locator('figure');
    await button(page, 'Show 17 May 2015').click();
    await expectSeen(number.getByText('1', { exact: true }));
    expect(page.url()).toContain('from=2015-05-17');
    await page.reload();
    await expectSeen(number.getByText('1', { exact: true }));
    await button(page, 'Keep these dates').click();
    await button(page, 'Keep these dates').waitFor({ state: 'detached' });
    await expectSeen(number.getByText('1', { exact: true }));
    await page.getByRole('combobox', { name: 'Dates' }).click();
    await page.getByRole('option', { name: 'The last 7 days' }).click();
    await expectSeen(page.getByText('Nothing happened then.'));
    expect(await obstacles(page)).toEqual([]);

    await button(page, 'Collaborators').click();
    const dialog = page.getByRole('dialog', { name: 'Collaborators' });
    await expectSeen(dialog.getByText('There are no collaborators.'));
    await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'PATCH'),
      dialog.getByRole('switch', { name: 'Only collaborators may edit' }).press('Space'),
    ]);
    await dialog.getByRole('combobox', { name: 'Member' }).click();
    await page.getByRole('option', { name: 'member@example.com' }).click();
    await button(dialog, 'Add').click();
    await expectSeen(dialog.getByRole('listitem').filter({ hasText: 'member@example.com edits' }));
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Remove member@example.com').click();
    await expectSeen(dialog.getByText('There are no collaborators.'));
    await page.keyboard.press('Escape');
    await service().send({
      api_key: project['api_token'],
      event: 'seen',
      distinct_id: 'bob',
      timestamp,
      properties: { plan: 'pro' },
    });
    await page.goto(`${service().address}/#${there}/events`);
    await expectSeen(row(page, 'Events', 'bob'));
    await page.goto(`${service().address}/#${there}/dashboards/${String(board['id'])}`);
    // An answer is shown for a minute before it is asked for again.
    await page.reload();
    await expectSeen(number.getByText('2', { exact: true }));
    await button(page, 'Filters').click();
    const filters = page.getByRole('dialog', { name: 'Filters' });
    await button(filters, 'Add a filter').click();
    await filters.getByRole('combobox', { name: 'Property 1' }).fill('plan');
    await filters.getByRole('combobox', { name: 'Value 1' }).fill('pro');
    await button(filters, 'Apply').click();
    await expectSeen(number.getByText('1', { exact: true }));
    await page.reload();
    await expectSeen(number.getByText('1', { exact: true }));
    await button(page, 'Keep these filters').click();
    await button(page, 'Keep these filters').waitFor({ state: 'detached' });
    await expectSeen(number.getByText('1', { exact: true }));
    await expectSeen(button(page, 'Filters (1)'));

    const { body: restricted } = await service().call('GET', `/api${there}/dashboards/${String(board['id'])}/`);
    expect(restricted).toMatchObject({
      restriction_level: 37,
      filters: {
        date_from: '2015-05-17',
        properties: [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }],
      },
    });

    await button(page, 'Duplicate').click();
    await page.getByRole('checkbox', { name: 'Copies of the insights too' }).check();
    await button(page, 'Make the copy').click();
    await expectSeen(page.getByRole('heading', { name: 'Log (copy)' }));
    await expectSeen(number.getByText('1', { exact: true }));
    const { body: listed } = await service().call('GET', `/api${there}/insights/`);
    expect(listed['count']).toBe(2);

    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectSeen(page.getByRole('heading', { name: 'Dashboards' }));
    await row(page, 'Dashboards', 'Log (copy)').waitFor({ state: 'detached' });
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await button(row(page, 'Dashboards', 'Log (copy)'), 'Restore').click();
    await expectSeen(page.getByText('No dashboard is like that.'));
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await row(page, 'Dashboards', 'Log (copy)').getByRole('link').click();
    await expectSeen(number.getByText('1', { exact: true }));
    expect(complaints).toEqual([]);
  });

  test('shows both versions where somebody else was faster', async () => {
    const { body } = await service().call('POST', api('/dashboards/'), { name: 'Before' });
    const path = `/dashboards/${String(body['id'])}`;
    const { page } = await open(at(path));
    await button(page, 'Rename').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs' });
    // Whoever comes back to the page after a minute has it read again, behind the dialog.
    await page.clock.setFixedTime(Date.now() + MINUTE_MS);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await expectSeen(page.getByText('Theirs', { exact: true }));
    await button(page, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await notice.waitFor({ state: 'hidden' });
    await expectSeen(page.getByRole('heading', { name: 'Mine' }));
    const { body: after } = await service().call('GET', `${api(path)}/`);
    expect(after['name']).toBe('Mine');
  });

  test('shows both versions of an insight where somebody else was faster, whichever is kept', async () => {
    const { body } = await service().call('POST', api('/insights/'), {
      name: 'Before',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] },
    });
    const path = `/insights/${String(body['id'])}`;
    const { page } = await open(at(path));
    const name = page.getByRole('textbox', { name: 'Name' });
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await name.fill('Mine');
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs' });
    await button(page, 'Save').click();
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    expect(await obstacles(page)).toEqual([]);
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByRole('heading', { name: 'Theirs' }));
    expect(await name.inputValue()).toBe('Theirs');
    await name.fill('Mine again');
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'ordered' }] };
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs again', query });
    await button(page, 'Save').click();
    await button(notice, 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Mine again' }));
    // What was not touched here stays as they have it.
    const { body: after } = await service().call('GET', `${api(path)}/`);
    expect(after).toMatchObject({ name: 'Mine again', query });
    expect(await page.getByRole('combobox', { name: 'Event 1' }).inputValue()).toBe('ordered');
  });

  test('watches the number of an insight: an alert is made, looks at once, is changed, disabled and deleted', async () => {
    const { body: insight } = await service().call('POST', api('/insights/'), {
      name: HOSTILE,
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'never' }] },
    });
    const { page, complaints } = await open(at(`/insights/${String(insight['id'])}`));
    await page.getByRole('main').getByRole('link', { name: 'Alerts' }).click();
    await expectSeen(page.getByRole('heading', { name: `Alerts of ${HOSTILE}` }));
    await expectSeen(page.getByText('No alerts yet.'));
    await button(page, 'New alert').click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
    await button(dialog, 'Make the alert').click();
    await expectSeen(dialog.getByText('Set lower or upper, or both.'));
    await page.getByRole('spinbutton', { name: 'Tells when it is below' }).fill('100');
    await page.getByRole('textbox', { name: 'Webhook', exact: true }).fill('ftp://hooks.example.com/');
    await button(dialog, 'Make the alert').click();
    await expectSeen(dialog.getByText(/notify_url|https/));
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Webhook', exact: true }).fill('');
    await button(dialog, 'Make the alert').click();
    await expectSeen(page.getByRole('heading', { name: HOSTILE }));
    await expectSeen(row(page, 'Checks', 'Firing'));
    await expectSeen(row(page, 'Alert', 'The number is below 100'));

    await button(page, 'Edit').click();
    await page.getByRole('combobox', { name: 'Looks at', exact: true }).click();
    await page.getByRole('option', { name: 'How much more it is than before' }).click();
    await page.getByRole('combobox', { name: 'Counted' }).click();
    await page.getByRole('option', { name: 'in percent' }).click();
    await page.getByRole('spinbutton', { name: 'Tells when it is below' }).fill('');
    await page.getByRole('spinbutton', { name: 'Tells when it is above' }).fill('12.5');
    const path = api(`/alerts/${page.url().split('/').at(-1) ?? ''}/`);
    await service().call('PATCH', path, { name: 'Theirs', calculation_interval: 'weekly' });
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    await button(dialog, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await button(notice, 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Mine' }));
    await expectSeen(row(page, 'Alert', 'Its increase is above 12.5 percent'));
    const { body: kept } = await service().call('GET', path);
    expect(kept).toMatchObject({
      calculation_interval: 'weekly',
      threshold: { configuration: { type: 'percentage', bounds: { lower: null, upper: 0.125 } } },
    });

    await button(page, 'Snooze').click();
    await button(dialog, 'Snooze').click();
    await expectSeen(row(page, 'Alert', 'Snoozed'));
    await button(page, 'Look again').click();
    await expectSeen(row(page, 'Alert', 'Not firing'));
    await button(page, 'Disable').click();
    await expectSeen(row(page, 'Alert', 'Disabled'));
    await page.getByRole('link', { name: 'Alerts' }).click();
    await expectSeen(row(page, 'Alerts', 'Disabled').getByRole('link', { name: HOSTILE }));
    await row(page, 'Alerts', 'Disabled').getByRole('link', { name: 'Mine' }).click();
    await button(page, 'Enable').click();
    await expectSeen(row(page, 'Alert', 'Not firing'));
    await button(page, 'Delete').click();
    await button(dialog, 'Delete').click();
    await expectSeen(page.getByText('No alerts yet.'));
    expect(await page.title()).not.toBe('taken');
    // The browser itself complains of what was refused.
    expect(complaints.filter((one) => !/40\d|412/.test(one))).toEqual([]);
  });

  test('sends the numbers of a dashboard: a subscription is made, changed, disabled and deleted', async () => {
    const { body: insight } = await service().call('POST', api('/insights/'), {
      name: 'Sent alone',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] },
    });
    const { body: board } = await service().call('POST', api('/dashboards/'), {
      name: HOSTILE,
      tiles: [{ insight: insight['id'] }],
    });
    const { page, complaints } = await open(at(`/dashboards/${String(board['id'])}`));
    await page.getByRole('main').getByRole('link', { name: 'Subscriptions' }).click();
    await expectSeen(page.getByRole('heading', { name: `Subscriptions of ${HOSTILE}` }));
    await expectSeen(page.getByText('No subscriptions yet.'));
    await button(page, 'New subscription').click();
    const dialog = page.getByRole('dialog');
    const choose = async (name: string, option: string): Promise<void> => {
      await dialog.getByRole('combobox', { name }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };
    await choose('Sent to', 'e-mail');
    await page.getByRole('textbox', { name: 'E-mail addresses' }).fill('ada@example.com');
    await button(dialog, 'Make the subscription').click();
    await expectSeen(dialog.getByText('This service sends no mail'));
    await choose('Sent to', 'Slack');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://hooks.slack.com/services/T0/B0/secret');
    await choose('Unit', 'months');
    await choose('Which of them', 'the last');
    await page.getByRole('checkbox', { name: 'Friday' }).check();
    await page.getByLabel('From').fill('2030-01-01T08:30');
    await dialog.getByRole('combobox', { name: 'Insights' }).press('ArrowDown');
    await page.getByRole('option', { name: 'Sent alone' }).click();
    await dialog.getByRole('combobox', { name: 'Insights' }).press('Tab');
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Make the subscription').click();
    await expectSeen(row(page, 'Subscription', 'sent every month on the last Monday and Friday'));
    await expectSeen(row(page, 'Subscription', 'https://hooks.slack.com/…'));
    const path = api(`/subscriptions/${page.url().split('/').at(-1) ?? ''}/`);
    const { body: made } = await service().call('GET', path);
    expect(made).toMatchObject({
      target_type: 'slack',
      bysetpos: -1,
      start_date: new Date('2030-01-01T08:30').toISOString().replace('.000', ''),
      dashboard_export_insights: [insight['id']],
    });

    await button(page, 'Edit').click();
    await service().call('PATCH', path, { title: 'Theirs', interval: 2 });
    await page.getByRole('textbox', { name: 'Title' }).fill('Mine');
    await button(dialog, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await button(notice, 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Mine' }));
    await expectSeen(row(page, 'Subscription', 'sent every 2 months'));
    await button(page, 'Disable').click();
    await expectSeen(row(page, 'Subscription', 'Disabled'));
    await page.getByRole('link', { name: 'Subscriptions' }).click();
    await expectSeen(row(page, 'Subscriptions', 'Disabled').getByText(HOSTILE));
    await page.getByRole('link', { name: 'Mine' }).click();
    await button(page, 'Enable').click();
    await expectSeen(row(page, 'Subscription', 'On'));
    await button(page, 'Delete').click();
    await button(dialog, 'Delete').click();
    await expectSeen(page.getByText('No subscriptions yet.'));
    expect(await page.title()).not.toBe('taken');
    expect(complaints.filter((one) => !/40\d|412/.test(one))).toEqual([]);
  });

  test('makes an export with its checks, delivers the past, shows runs and log, pauses and goes on', async () => {
    const folder = temporaryFolder();
    const { page } = await open(at('/exports'));
    await page.getByRole('link', { name: 'New export' }).first().click();
    await page.getByRole('radio', { name: /^Folder/ }).check();
    await page.getByRole('textbox', { name: 'Folder' }).fill('not/a/whole/path');
    await page.getByRole('textbox', { name: 'Name' }).fill('Files');
    await button(page, 'Create the export').click();
    await expectSeen(page.getByRole('alert').filter({ hasText: 'path' }));
    await page.getByRole('textbox', { name: 'Folder' }).fill(folder);
    await button(page, 'Check the destination').click();
    await expectSeen(page.getByRole('list', { name: 'Checks' }).getByLabel('Passed'));
    await button(page, 'Create the export').click();
    await expectSeen(page.getByRole('heading', { name: 'Files' }));

    await page.getByRole('tab', { name: 'Backfills' }).click();
    const [start, end] = [3, 1].map((hours) => {
      const local = new Date(Date.now() - hours * HOUR_MS);
      return new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
    });
    await page.getByRole('textbox', { name: /^From/ }).fill(String(start));
    await page.getByRole('textbox', { name: /^To/ }).fill(String(end));
    await button(page, 'Estimate').click();
    await expectSeen(page.getByText(/intervals with .* rows/));
    await button(page, 'Begin the backfill').click();
    await expectSeen(row(page, 'Backfills', 'Completed'));

    await page.getByRole('tab', { name: 'Runs' }).click();
    await expectSeen(row(page, 'Runs', 'Completed'));
    await button(row(page, 'Runs', 'Completed').first(), 'Retry').click();
    await expectSeen(page.getByText('The interval runs again.'));
    await row(page, 'Runs', 'Completed').first().getByRole('link', { name: 'Log' }).click();
    await expectSeen(page.getByRole('log').getByText('INFO'));

    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('textbox', { name: 'Folder' }).fill(temporaryFolder());
    await button(page, 'Check the destination').click();
    await expectSeen(page.getByRole('list', { name: 'Checks' }).getByLabel('Passed'));
    await button(page, 'Save').click();
    await expectSeen(page.getByText('Files is changed.'));

    await button(page, 'Pause').click();
    await expectSeen(page.getByText('Files is paused.'));
    await button(page, 'Unpause').click();
    await button(page.getByRole('dialog'), 'Go on').click();
    await expectSeen(page.getByText('Files goes on.'));
  });

  test('changes an export without its secrets, and shows both versions where somebody else was faster', async () => {
    const { body: made } = await service().call('POST', api('/batch_exports/'), {
      name: 'Told',
      interval: 'hour',
      destination: { type: 'HTTP', config: { url: 'https://events.example.com/batch/', token: 'phc_receiver' } },
    });
    const path = `/exports/${String(made['id'])}`;
    const kept = async () => (await service().call('GET', `${api('/batch_exports/')}${String(made['id'])}/`)).body;
    const { page } = await open(at(`${path}?tab=settings`));
    const field = (name: string): Locator => page.getByRole('textbox', { name, exact: true });
    await field('Name').fill('Told daily');
    await page.getByRole('combobox', { name: 'Every' }).click();
    await page.getByRole('option', { name: 'day' }).click();
    await button(page, 'Add a filter').click();
    await page.getByRole('combobox', { name: 'Property 1' }).fill('plan');
    await page.getByRole('combobox', { name: 'Value 1' }).fill('pro');
    await field('Webhook').fill('https://hooks.example.com/failures');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Told daily' }));
    const filters = [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }];
    expect(await kept()).toMatchObject({ interval: 'day', filters, notify_host: 'hooks.example.com' });

    await field('Address').fill('https://other.example.com/batch/');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('alert').filter({ hasText: "'token' must be sent again when 'url' changes" }));
    await page.getByLabel('Token', { exact: true }).fill('phc_other');
    await page.getByRole('textbox', { name: 'HogQL' }).fill('SELECT event FROM events');
    await button(page, 'Save').click();
    await expectSeen(page.getByText("'hogql_query' is not supported for HTTP"));
    await page.getByRole('textbox', { name: 'HogQL' }).fill('');
    await page.getByRole('switch', { name: 'Tell failures to nobody' }).press('Space');
    await service().call('PATCH', `${api('/batch_exports/')}${String(made['id'])}/`, { name: 'Theirs' });
    await button(page, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('https://other.example.com/batch/'));
    await expectSeen(notice.getByText('https://events.example.com/batch/'));
    expect(await notice.textContent()).not.toContain('phc_other');
    await button(notice, 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Theirs' }));
    await expectSeen(page.getByText('An address that is told when a run fails for good.'));
    expect(await kept()).toMatchObject({
      name: 'Theirs',
      notify_host: null,
      destination: { config: { url: 'https://other.example.com/batch/' } },
    });
  });

  test('invites somebody, whose link opens a page that accepts', async () => {
    const { page } = await open(at('/people'));
    await page.getByRole('textbox', { name: 'Email' }).fill('member@example.com');
    await button(page, 'Invite').click();
    await expectSeen(page.getByText('A user with this email address already belongs to the organization.'));
    await page.getByRole('textbox', { name: 'Email' }).fill('bea@example.com');
    await button(page, 'Invite').click();
    const link = String(await page.getByText('/#/invites/').first().textContent());
    expect(link).toMatch(`${service().address}/#/invites/`);
    await page.goto(link);
    await button(page, 'Accept').click();
    // Who is signed in is a member already, or another one than was invited.
    await expectSeen(page.getByRole('alert'));
    await page.goto(`${service().address}/#${at('/people')}`);
    await button(row(page, 'Invitations', 'bea@example.com'), 'Withdraw').click();
    await button(page.getByRole('dialog'), 'Withdraw').click();
    await expectSeen(page.getByText('No invitation is open.'));
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
    await expectSeen(reader.page.getByRole('alert').filter({ hasText: 'batch_export:read' }));

    await button(row(page, 'Keys', 'Reader'), 'Revoke').click();
    await button(page.getByRole('dialog'), 'Revoke').click();
    await row(page, 'Keys', 'Reader').waitFor({ state: 'detached' });
  });

  test('shows names and times on a line of their own where there is room, and who did what where there is none', async () => {
    await service().send({
      event: '$pageview',
      distinct_id: 'reader',
      timestamp: '2015-05-17T10:05:03Z',
      properties: { $current_url: `https://example.com/${'presentations/'.repeat(20)}` },
    });
    const { page } = await open(at('/events?distinct_id=reader'), { viewport: { width: 1440, height: 900 } });
    const found = row(page, 'Events', '$pageview');
    await expectSeen(found);
    const one = await found.getByText('reader', { exact: true }).boundingBox();
    for (const text of ['$pageview', '17 May 2015'])
      expect((await found.getByText(text, { exact: true }).boundingBox())?.height).toBeLessThan(
        1.5 * (one?.height ?? 0),
      );
    await page.goto(`${service().address}/#${at('/activity')}`);
    // The first start made it: nobody has filled all fields of it.
    const made = row(page, 'Activity', 'created key First key');
    await expectSeen(made);
    expect(await made.textContent()).not.toContain('null');
    await page.setViewportSize({ width: 360, height: 900 });
    await expectSeen(made.getByText('by the service'));
    await page.getByRole('columnheader', { name: 'Who' }).waitFor({ state: 'hidden' });
  });

  test('tells who did what, renames the project, changes its token and deletes one whose name is typed again', async () => {
    const { page } = await open(at('/settings'));
    await page.getByRole('textbox', { name: 'Project’s name' }).fill('Shop');
    await button(page, 'Save').first().click();
    await expectSeen(page.getByText('The name is changed.'));
    await button(page, 'Change the token').click();
    await button(page.getByRole('dialog'), 'Change the token').click();
    await expectSeen(page.getByText('The project has another token.'));
    await page.getByRole('link', { name: 'Activity log' }).click();
    await expectSeen(row(page, 'Activity', /updated project Shop/));
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

  test('imports a file that is chosen: its first records, its columns, how far it is, and what was rejected', async () => {
    const { page, complaints } = await open(at('/import'));
    await expectSeen(page.getByText('Nothing was imported here yet.'));
    const choose = async (name: string, content: string): Promise<void> => {
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, 'Choose a file').click()]);
      await chooser.setFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
    };
    await choose(`${HOSTILE}.csv`, `Action,Who,When\nimported,ada,2025-12-31\n${HOSTILE},ada,never\n`);
    await expectSeen(page.getByText('no known format'));
    await page.getByLabel('Event').selectOption('Action');
    await page.getByLabel('Person (distinct_id)').selectOption('Who');
    await page.getByLabel('Time').selectOption('When');
    await expectSeen(page.getByText('It is read as CSV'));
    await expectSeen(row(page, 'First records', 'imported'));
    await expectSeen(row(page, 'First records', 'a quote within a field'));
    expect(await obstacles(page)).toEqual([]);
    await button(page, 'Import').click();
    const done = row(page, 'Imports', 'Completed');
    await expectSeen(done.getByText('1 event added'));
    await expectSeen(done.getByText('1 record rejected'));
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Download what was rejected').click(),
    ]);
    expect(readFileSync(await download.path(), 'utf8')).toBe(`Action,Who,When\n${HOSTILE},ada,never\n`);
    await choose('again.jsonl', '{"event":"imported","distinct_id":"ada","timestamp":"2025-12-31"}\n');
    await expectSeen(page.getByText('It is read as JSON lines'));
    await page.getByRole('region', { name: 'Import again.jsonl' }).getByRole('button', { name: 'Cancel' }).click();
    await expectSeen(row(page, 'Imports', 'Cancelled'));
    await page.goto(`${service().address}/#${at('/events')}?event=imported`);
    await expectSeen(row(page, 'Events', 'imported'));
    expect(await page.title()).not.toBe('taken');
    expect(complaints).toEqual([]);
  });

  /** A page of the console with something on it: its address, its title, and what is done there before it is looked at. */
  interface Looked {
    readonly path: string;
    readonly title: string;
    readonly act?: (page: Page) => Promise<void>;
  }

  /** Makes one of everything, and returns every page of the console with it. */
  async function everyPage(): Promise<readonly Looked[]> {
    const made = async (path: string, body: object): Promise<string> =>
      String((await service().call('POST', path, body)).body['id']);
    const destination = { type: 'Folder', config: { path: temporaryFolder() } };
    const one = await made(api('/batch_exports/'), { name: 'Files of one kind', interval: 'hour', destination });
    const board = await made(api('/dashboards/'), { name: 'Web', use_template: 'WEBSITE_TRAFFIC' });
    const breakdowns = [
      { property: 'plan', type: 'event' },
      { property: 'lower(event)', type: 'hogql' },
    ];
    const trend = await made(api('/insights/'), {
      name: 'Watched',
      query: {
        kind: 'TrendsQuery',
        series: [{ kind: 'EventsNode', event: 'paid' }],
        properties: [
          { key: 'plan', operator: 'is_set', type: 'person' },
          { key: 'event != distinct_id', type: 'hogql' },
        ],
        breakdownFilter: { breakdowns },
      },
    });
    const alert = await made(api('/alerts/'), {
      insight: Number(trend),
      name: 'A number that goes down',
      subscribed_users: [],
      threshold: { configuration: { type: 'absolute', bounds: { lower: 1_000_000 } } },
    });
    const subscription = await made(api('/subscriptions/'), {
      insight: Number(trend),
      title: 'Every week',
      target_type: 'webhook',
      target_value: 'https://hooks.example.com/reports',
      frequency: 'weekly',
      start_date: '2030-01-01T08:30:00Z',
    });
    const invite = await made('/api/organizations/@current/invites/', { email: 'cleo@example.com' });
    const person = '/persons/?search=a%20person%20with%20a%20page';
    await service().send({
      event: 'paid',
      distinct_id: 'a person with a page',
      properties: { $set: { email: 'a-person-with-a-page@example.com' } },
    });
    let persons: readonly Record<string, unknown>[] = [];
    while (persons.length === 0) persons = (await service().call('GET', api(person))).body['results'] as typeof persons;
    const of = (path: string, title: string, act?: Looked['act']): Looked => ({
      path: at(path),
      title,
      ...(act && { act }),
    });
    return [
      { path: `/invites/${invite}`, title: 'Invitation' },
      of('/home', 'Default project'),
      of('/dashboards', 'Dashboards'),
      of(`/dashboards/${board}`, 'Web'),
      of('/insights', 'Insights'),
      of('/insights/new', 'New insight'),
      of('/insights/new', 'New insight', async (page) => {
        await page.getByRole('combobox', { name: 'Question' }).click();
        await page.getByRole('option', { name: /^HogQL/ }).click();
        await page.getByRole('textbox', { name: 'HogQL query' }).waitFor();
      }),
      of(`/insights/${trend}`, 'Watched'),
      of('/alerts', 'Alerts'),
      of(`/alerts?insight=${trend}`, 'Alerts of Watched'),
      of(`/alerts/${alert}`, 'A number that goes down'),
      of('/subscriptions', 'Subscriptions'),
      of(`/subscriptions?insight=${trend}`, 'Subscriptions of Watched'),
      of(`/subscriptions/${subscription}`, 'Every week'),
      of('/events', 'Events'),
      of('/persons', 'Persons'),
      of(`/persons/${String(persons[0]?.['uuid'])}`, 'a-person-with-a-page@example.com'),
      of('/exports', 'Exports'),
      of('/exports/new', 'New export'),
      of('/exports/new', 'New export', async (page) => {
        await page.getByRole('radio', { name: /^S3/ }).check();
        await button(page, 'Add a filter').click();
      }),
      ...['runs', 'backfills', 'logs', 'settings'].map((tab) => of(`/exports/${one}?tab=${tab}`, 'Files of one kind')),
      of('/import', 'Import'),
      of('/people', 'People'),
      of('/keys', 'Keys'),
      of('/activity', 'Activity log'),
      of('/settings', 'Settings'),
    ];
  }

  let pages: Promise<readonly Looked[]> | undefined;

  /** Which of the widths a page is wider than, and what stands in the way at the first and the second of them. */
  async function lookedAt(page: Page, widths: readonly number[]): Promise<object> {
    const overflow: number[] = [];
    const found: unknown[] = [];
    for (const [at, width] of widths.entries()) {
      await page.setViewportSize({ width, height: 900 });
      if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')) overflow.push(width);
      if (at < 2) found.push(...(await obstacles(page)));
    }
    return { overflow, found };
  }

  const NOTHING = { overflow: [], found: [] };

  test.each([
    { colorScheme: 'light', widths: [1440, 768, 360] },
    { colorScheme: 'dark', widths: [360, 768, 1440] },
  ] as const)('has nothing that axe finds on any page, in $colorScheme', async ({ colorScheme, widths }) => {
    const all = await (pages ??= everyPage());
    const { page, complaints } = await open(at('/home'), { colorScheme });
    for (const { path, title, act } of all) {
      await page.goto(`${service().address}/#${path}`);
      await expectSeen(page.getByRole('heading', { level: 1, name: title, exact: true }));
      await act?.(page);
      await page.locator('.mantine-Skeleton-root, .mantine-Loader-root').first().waitFor({ state: 'detached' });
      expect({ path, ...(await lookedAt(page, widths)) }).toEqual({ path, ...NOTHING });
    }
    await page.evaluate('sessionStorage.clear()');
    await page.reload();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Sign in' }));
    expect(await lookedAt(page, widths)).toEqual(NOTHING);
    expect(complaints).toEqual([]);
  });

  test('is looked at page by page, with none left out', async () => {
    const declared = readFileSync(join(import.meta.dirname, '../../../lib/console/pages.ts'), 'utf8');
    const paths = [...declared.matchAll(/path: '([^']+)'/g)].map(([, path = '']) => path);
    const looked = (await (pages ??= everyPage())).map(({ path }) => path.split('?')[0] ?? '');
    const isLooked = (path: string): boolean =>
      looked.some((one) => new RegExp(`^${path.replace(/\$\w+/g, '(?!new$)[^/]+')}$`).test(one));
    expect(paths.length).toBeGreaterThan(15);
    expect(paths.filter((path) => !isLooked(path))).toEqual([]);
  });
});

test('the first page loads less than 200 KB of scripts, as brotli has them', async () => {
  const { first } = await builtConsole();
  const folder = fileURLToPath(CONSOLE_FOLDER);
  const sizes = first.map((name) => brotliCompressSync(readFileSync(join(folder, name))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
});
