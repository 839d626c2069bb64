/** The console as a whole: who is let in, what strangers may write, the keyboard, and what the first page weighs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import type { Locator, Page, Request } from 'playwright-core';
import { builtConsole } from '../../../infra/build/console.ts';
import { CONSOLE_FOLDER } from '../../../lib/api/console/folder.ts';
import { obstacles } from '../../support/browser.ts';
import { button, describeConsole, expectGone, expectSeen, HOSTILE, heldBack, row } from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

describeConsole('the console', ({ service, open, at, made }) => {
  const stored = (page: Page): Promise<readonly unknown[]> =>
    page.evaluate(() => [sessionStorage, localStorage].map((storage) => Object.values<string>(storage as never)));

  test('signs in by the link of the first start, whose key is in no address that a server sees, and in no log', async () => {
    const { key, lines } = service();
    const { page, requests, complaints } = await open(at('/home'));
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(page.url()).not.toContain('phx_');
    expect(requests.filter((url) => url.includes('phx_') && !url.includes('#'))).toEqual([]);
    expect(await stored(page)).toEqual([[key], []]);
    await page.goto(`${service().address}/#/projects/999/home`);
    await expectSeen(page.getByText('There is no project 999, or it is not for you to see.'));
    expect(await page.title()).toBe('Not found · Workspace');
    await page.getByRole('combobox', { name: 'Project' }).click();
    await page.getByRole('option', { name: 'Default project' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    await page.goto(`${service().address}/#${at('')}`);
    await page.reload();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(JSON.stringify(lines)).not.toContain(key);
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
    // What the first script needs is asked for with it.
    const { first } = await builtConsole();
    const text = await (await fetch(`${service().address}/`)).text();
    expect(first.filter((name) => !text.includes(`<link rel="modulepreload" href="/console/${name}">`))).toEqual([]);
  });

  test('signs in with a key, keeps it on the device only when asked to, and forgets it', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(service().token);
    await button(page, 'Sign in').click();
    await expectSeen(
      page.getByText('This is a project’s token, for sending events. A personal API key begins with phx_.'),
    );
    await page.getByRole('textbox', { name: 'Personal API key' }).fill('phx_wrong');
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText('The service does not know this key'));
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(service().key);
    await page.getByRole('checkbox', { name: 'Remember on this device' }).check();
    await button(page, 'Sign in').click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    expect(await stored(page)).toEqual([[], [service().key]]);
    const other = await page.context().newPage();
    await other.goto(`${service().address}/#${at('/events')}`);
    await expectSeen(other.getByRole('heading', { name: 'Events', level: 1 }));
    await button(page, 'Olivia').click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    for (const tab of [page, other]) {
      await expectSeen(tab.getByRole('heading', { name: 'Sign in' }));
      expect(await stored(tab)).toEqual([[], []]);
    }
  });

  test.each(['%zz', 'phx_%E2%80%9Cquoted%E2%80%9D'])('refuses %s as a key in a link, and in the form', async (key) => {
    const { page } = await open(at('/home'), { key });
    await expectSeen(page.getByRole('heading', { name: 'Sign in' }));
    await page.getByRole('textbox', { name: 'Personal API key' }).fill('“phx_quoted”');
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText('The service does not know this key'));
  });

  test('keeps who has signed in, whatever is answered late to the key of before', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    // By then the key is forgotten, and one that is stored now is not.
    await expectSeen(page.getByRole('heading', { name: 'Sign in' }));
    await page.evaluate(() => sessionStorage.setItem('workspace-key', 'phx_unknown'));
    const isOfBefore = (one: Request): boolean => one.headers()['authorization'] === 'Bearer phx_unknown';
    const answer = await heldBack(page, '**/api/users/**', isOfBefore);
    await page.reload();
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(service().key);
    await button(page, 'Sign in').click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    const late = page.waitForResponse((one) => one.status() === 401);
    answer();
    await (await late).finished();
    await page.getByRole('link', { name: 'All events' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
    expect(await stored(page)).toEqual([[service().key], []]);
  });

  test('keeps what is written while a key that works no longer gives way to another one of the same user', async () => {
    const other = await service().newKey();
    const { page } = await open(at('/dashboards'), { key: await service().newKey() });
    await button(page, 'New dashboard').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Written');
    const refused = { type: 'authentication_error', code: 'authentication_failed', detail: 'Unknown key.', attr: null };
    await page.route('**/dashboards/', (asked) => asked.fulfill({ status: 401, json: refused }), { times: 1 });
    await button(page, 'Create').click();
    await expectSeen(page.getByRole('heading', { name: 'Sign in again' }));
    expect(await obstacles(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(other);
    // Whose key it is, nobody has told.
    const detail = 'Request was throttled.';
    const throttled = { type: 'throttled_error', code: 'throttled', detail, attr: null };
    await page.route('**/@current/', (asked) => asked.fulfill({ status: 429, json: throttled }), { times: 1 });
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText(detail));
    await page.route('**/@current/', (asked) => asked.fulfill({ status: 502, body: 'Bad gateway' }), { times: 1 });
    await button(page, 'Sign in').click();
    await expectSeen(page.getByText('The service answered 502 without saying why.'));
    await button(page, 'Sign in').click();
    await expectGone(page.getByRole('heading', { name: 'Sign in again' }));
    expect(await stored(page)).toEqual([[other], []]);
    await button(page, 'Create').click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Written' }));
    // What is written is not for anybody else.
    await button(page, 'Add text').click();
    await page.getByRole('textbox', { name: 'Text' }).fill('Of Olivia');
    await page.route('**/dashboards/*/', (asked) => asked.fulfill({ status: 401, json: refused }), { times: 1 });
    await button(page, 'Add').click();
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(await service().keyOf());
    await button(page, 'Sign in').click();
    await expectGone(page.getByRole('heading', { name: 'Sign in again' }));
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Written' }));
    expect(await page.getByText('Of Olivia').count()).toBe(0);
  });

  /** Signs in by the form, and has the key remembered on the device. */
  const signInForGood = async (page: Page, key: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Personal API key' }).fill(key);
    await page.getByRole('checkbox', { name: 'Remember on this device' }).check();
    await button(page, 'Sign in').click();
  };

  test('keeps what is written in one tab while another one goes on with another key of the same user', async () => {
    const [one, other] = [await service().newKey(), await service().newKey()];
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    await signInForGood(page, one);
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Default project' }));
    const hidden = await page.context().newPage();
    await hidden.goto(`${service().address}/#${at('/dashboards')}`);
    await button(hidden, 'New dashboard').first().click();
    const name = hidden.getByRole('textbox', { name: 'Name' });
    await name.fill('In another tab');
    const refused = { type: 'authentication_error', code: 'authentication_failed', detail: 'Unknown key.', attr: null };
    // The home asks for exports by itself, again and again.
    await page.getByRole('link', { name: 'Alerts' }).click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Alerts' }));
    await page.route('**/batch_exports/*', (asked) => asked.fulfill({ status: 401, json: refused }), { times: 1 });
    await page.getByRole('link', { name: 'Exports' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Sign in again' }));
    await signInForGood(page, other);
    await expectGone(page.getByRole('heading', { name: 'Sign in again' }));
    expect(await stored(hidden)).toEqual([[], [other]]);
    expect(await name.inputValue()).toBe('In another tab');

    // A third tab finds out that the remembered key works no longer: the key goes, and what is written waits for another.
    const third = await page.context().newPage();
    await third.route('**/api/**', (asked) => asked.fulfill({ status: 401, json: refused }));
    await third.goto(`${service().address}/#${at('/home')}`);
    await expectSeen(third.getByRole('heading', { level: 1, name: 'Sign in' }));
    await expectSeen(hidden.getByRole('heading', { name: 'Sign in again' }));
    expect(await stored(hidden)).toEqual([[], []]);
    await hidden.getByRole('textbox', { name: 'Personal API key' }).fill(service().key);
    await button(hidden, 'Sign in').click();
    await button(hidden, 'Create').click();
    await expectSeen(hidden.getByRole('heading', { level: 1, name: 'In another tab' }));
  });

  test('signs in by a link that is opened where the console is open already', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    await expectSeen(page.getByRole('heading', { name: 'Sign in' }));
    await page.goto(`${service().address}/#key=${service().key}&${at('/events')}`);
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Events' }));
    expect(page.url()).not.toContain('phx_');
    expect(await stored(page)).toEqual([[service().key], []]);
    await page.goBack();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Default project' }));
    await page.goForward();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Events' }));
    expect(page.url()).not.toContain('phx_');
  });

  test('keeps who is signed in until they agree to the key of a link', async () => {
    const { page } = await open(at('/home'), { key: 'phx_unknown' });
    await signInForGood(page, service().key);
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Default project' }));
    const none = (tab: Page): Locator => tab.getByText('The key of the link does not work');
    await page.goto(`${service().address}/#key=phx_unknown`);
    await expectSeen(none(page));
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Default project' }));
    expect(page.url()).not.toContain('phx_');
    const key = await service().keyOf('member@example.com', 'Desk');
    const other = await page.context().newPage();
    await other.goto(`${service().address}/#key=phx_unknown`);
    await expectSeen(none(other));
    const ask = other.getByRole('dialog', { name: 'Sign in with the key of the link?' });
    const link = `${service().address}/#key=${key}&${at('/events')}`;
    await other.goto(link);
    await expectSeen(ask.getByText('“Desk”'));
    await expectSeen(ask.getByText('somebody else’s'));
    expect(await obstacles(other)).toEqual([]);
    await button(ask, 'Stay signed in').click();
    await expectGone(ask);
    await expectSeen(button(other, 'Olivia'));
    expect(await stored(other)).toEqual([[], [service().key]]);

    await other.goto(link);
    await button(ask, 'Sign in with it').click();
    await expectSeen(button(other, 'Max'));
    await expectSeen(other.getByRole('heading', { level: 1, name: 'Events' }));
    expect(other.url()).not.toContain('phx_');
    // In this tab alone.
    expect(await stored(other)).toEqual([[key], [service().key]]);
    await other.reload();
    await expectSeen(button(other, 'Max'));
    await expectSeen(button(page, 'Olivia'));
    // The same link again asks nothing.
    await other.goto(link);
    await expectSeen(other.getByRole('heading', { level: 1, name: 'Events' }));
    expect(await ask.count()).toBe(0);
    // Nor does it where the key of before works no longer.
    const { page: last } = await open(at('/home'), { key: 'phx_unknown' });
    await last.evaluate(() => localStorage.setItem('workspace-key', 'phx_void'));
    await last.goto(`${service().address}/?loaded#key=${key}&${at('/events')}`);
    await expectSeen(button(last, 'Max'));
    await expectSeen(last.getByRole('heading', { level: 1, name: 'Events' }));
    expect(await stored(last)).toEqual([[key], []]);
  });

  test('signs out of the key of a tab alone, where another one is remembered on the device', async () => {
    const { page } = await open(at('/dashboards'), { key: 'phx_unknown' });
    await signInForGood(page, service().key);
    await button(page, 'New dashboard').first().click();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('In another tab');
    const other = await page.context().newPage();
    await other.goto(`${service().address}/#key=${await service().keyOf()}&${at('/events')}`);
    await button(other.getByRole('dialog'), 'Sign in with it').click();
    await button(other, 'Max').click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    // Whoever leaves a shared device sees that somebody is remembered there.
    await expectSeen(button(other, 'Olivia'));
    expect(await stored(other)).toEqual([[], [service().key]]);
    expect(await name.inputValue()).toBe('In another tab');
    await button(other, 'Olivia').click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    for (const tab of [page, other]) await expectSeen(tab.getByRole('heading', { name: 'Sign in' }));
    expect(await stored(other)).toEqual([[], []]);
  });

  test('asks for the project where the key cannot tell it, and says when the service does not', async () => {
    const { page } = await open('/', { key: await service().newKey(['project:read', 'dashboard:read']) });
    await expectSeen(page.getByText('The key lacks the scope user:read'));
    await page.getByRole('textbox', { name: 'Project’s number' }).fill(service().project);
    await button(page, 'Open').click();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));

    const detail = 'Request was throttled.';
    await page.route('**/api/users/**', (asked) =>
      asked.fulfill({ status: 429, json: { type: 'throttled_error', code: 'throttled', detail, attr: null } }),
    );
    await page.goto(`${service().address}/#/`);
    await page.reload();
    await expectSeen(page.getByText(detail));
    await page.unroute('**/api/users/**');
    await button(page, 'Try again').click();
    await expectSeen(page.getByRole('heading', { name: 'Which project?' }));
  });

  test('keeps its menu where a file of a page is not loaded, and loads it again', async () => {
    const { page, requests } = await open(at('/home'));
    await page.waitForLoadState('networkidle');
    const loaded = new Set(requests);
    await page.route('**/console/*.js', (asked) =>
      loaded.has(asked.request().url()) ? asked.continue() : asked.abort(),
    );
    await page.getByRole('link', { name: 'Keys' }).click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'This page cannot be shown' }));
    await page.getByRole('link', { name: 'Home' }).click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Default project' }));
    await page.unroute('**/console/*.js');
    await page.getByRole('link', { name: 'Keys' }).click();
    await button(page, 'Load it again').click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Keys' }));
    // What is written beside a part that is not loaded stays.
    await page.goto(`${service().address}/#${at('/insights/new')}`);
    await page.getByRole('textbox', { name: 'Name' }).fill('Written');
    await page.route('**/console/*.js', (asked) => asked.abort());
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^HogQL/ }).click();
    await expectSeen(page.getByText('This part of the page is missing'));
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Written');
  });

  test('keeps its menu while the service is away, and gets its new files once it was updated', async () => {
    const { page, requests } = await open(at('/home'));
    await page.waitForLoadState('networkidle');
    const loaded = new Set(requests);
    const failed = page.getByRole('heading', { level: 1, name: 'This page cannot be shown' });
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Keys' }).click();
    await expectSeen(failed);
    await button(page, 'Load it again').click();
    await expectSeen(page.getByText('The service cannot be reached.'));
    await expectSeen(failed);
    await page.context().setOffline(false);
    await button(page, 'Load it again').click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Keys' }));

    // Another version has its files under other names.
    let isAnew = false;
    page.on('request', (one) => {
      isAnew ||= one.isNavigationRequest();
    });
    await page.route('**/console/*.js', (asked) =>
      isAnew || loaded.has(asked.request().url()) ? asked.continue() : asked.fulfill({ status: 404 }),
    );
    await page.getByRole('link', { name: 'People' }).click();
    await button(page, 'Load it again').click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'People' }));
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
    await made('/dashboards/', {
      name: HOSTILE,
      tags: [HOSTILE],
      tiles: [{ text: { body: `${HOSTILE} [link](javascript:alert(1)) ![image](http://example.com/x.png)` } }],
    });
    await page.getByRole('link', { name: 'Dashboards' }).click();
    await row(page, 'Dashboards', HOSTILE).getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: HOSTILE }));
    await expectSeen(page.getByRole('main').getByText('[link]'));
    await page.getByRole('link', { name: 'Persons' }).click();
    await row(page, 'Persons', HOSTILE).getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: HOSTILE }));
    await expectSeen(row(page, 'Properties', HOSTILE));
    expect(await page.title()).not.toBe('taken');
    expect(await page.locator('img, script:not([src])').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test.each(['light', 'dark'] as const)('can be read below the pointer in its menu, in %s', async (colorScheme) => {
    const { page } = await open(at('/events'), { colorScheme });
    for (const name of ['Events', 'Persons']) {
      await page.getByRole('link', { name, exact: true }).hover();
      expect(await obstacles(page)).toEqual([]);
    }
  });

  test('breaks long names where there is no room for them', async () => {
    const long = (letter: string): string => letter.repeat(90);
    await service().send({ event: 'named at length', distinct_id: long('x') });
    const tiles = [{ text: { body: `# ${long('y')}` } }];
    const { id } = await made('/dashboards/', { name: 'Long', tags: [long('z')], tiles });
    const { page } = await open(at(`/dashboards/${id}`), { viewport: { width: 360, height: 900 } });
    /** Whether something has to be moved sideways to be read. */
    const isWide = (shown: Locator): Promise<boolean> =>
      shown.evaluate((element) => {
        const { scrollWidth, clientWidth } = element as unknown as Record<'scrollWidth' | 'clientWidth', number>;
        return scrollWidth > clientWidth;
      });
    await expectSeen(page.getByText(long('z')));
    expect(await isWide(page.getByText(long('z')).locator('..'))).toBe(false);
    expect(await isWide(page.locator('html'))).toBe(false);
    expect(await isWide(page.getByRole('group', { name: 'Content' }))).toBe(false);
    await page.goto(`${service().address}/#${at('/events')}`);
    await button(page, 'named at length').click();
    await expectSeen(page.getByRole('dialog').getByText(long('x')));
    expect(await isWide(page.getByRole('dialog'))).toBe(false);
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
    // The menu leads into the page, and one step past the menu.
    await page.locator('main:focus').waitFor();
    await press('Skip to the page');
    await page.locator('main:focus').waitFor();
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
      await expectGone(page.getByRole('dialog'));
    }
    await press('Edit layout');
    await reach('Move Two');
    const place = () =>
      page
        .getByRole('region', { name: 'Two' })
        .evaluate((tile) => (tile as unknown as { readonly style: { readonly gridColumn: string } }).style.gridColumn);
    const before = await place();
    await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'PATCH' && one.ok()),
      keyboard.press('ArrowLeft'),
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
    await expectSeen(page.getByRole('radio', { name: /^Folder/ }));
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
});

test('the first page loads less than 200 KB of scripts, as brotli has them', async () => {
  const { first } = await builtConsole();
  const folder = fileURLToPath(CONSOLE_FOLDER);
  const sizes = first.map((name) => brotliCompressSync(readFileSync(join(folder, name))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
});
