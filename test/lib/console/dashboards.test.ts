/** Dashboards in the console: their tiles, dates and filters, who may see and change them, and how they are shared. */
import type { Locator, Page } from 'playwright-core';
import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { obstacles } from '../../support/browser.ts';
import { trend } from '../../support/charts.ts';
import {
  button,
  describeConsole,
  expectGone,
  expectSeen,
  HOSTILE,
  heldBack,
  row,
  whileWritten,
} from '../../support/console.ts';

const tile = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });

describeConsole('a dashboard in the console', ({ service, open, at, api, show, made: madeIn, read, newProject }) => {
  /** Makes a dashboard, and returns its path. */
  const made = async (body: object): Promise<string> => `/dashboards/${(await madeIn('/dashboards/', body)).id}`;
  /** Makes an insight, and returns its number. */
  const insightOf = async (name: string, query: object) => (await madeIn('/insights/', { name, query })).id;

  test('makes a dashboard, lays it out by keyboard, and shares it', async () => {
    const { page } = await open(at('/dashboards'));
    await expectSeen(page.getByText('No dashboards yet.'));
    await button(page, 'New dashboard').first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Sales');
    // A dialog that could be closed while it sends would have nowhere to say that it was refused.
    const { promise: isTime, resolve: refuse } = Promise.withResolvers<void>();
    const refused = { type: 'throttled_error', code: 'throttled', detail: 'Not now.', attr: null };
    await page.route('**/dashboards/', (asked) => isTime.then(() => asked.fulfill({ status: 429, json: refused })), {
      times: 1,
    });
    await button(page, 'Create').click();
    await expectSeen(page.locator('[type=submit][data-loading]'));
    await page.keyboard.press('Escape');
    refuse();
    await expectSeen(page.getByRole('dialog').getByText('Not now.'));
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
      page.keyboard.press('ArrowLeft'),
    ]);
    expect(answer.request().headers()['if-match']).toBeDefined();
    expect(answer.status()).toBe(200);
    // What was in its way stands below it now, and goes past it again.
    const top = async (name: string) => (await tile(page, name).boundingBox())?.y ?? 0;
    expect(await top('First')).toBeGreaterThan(await top('Second'));
    const told = page.getByRole('status').filter({ hasText: 'Second is at' });
    expect(await told.textContent()).toMatch(/^Second is at column 6, row 1, /);
    await whileWritten(page, () => page.keyboard.press('ArrowDown'));
    expect(await told.textContent()).not.toContain('row 1,');
    expect(await top('First')).toBeLessThan(await top('Second'));
    await button(page, 'Done').click();
    await button(page, 'Share').click();
    // Not before it is known whether there is a link.
    const toggle = page.getByRole('switch', { name: 'Anybody who has the link', disabled: false });
    // Not by the pointer: the dialog still moves.
    const write = await heldBack(page, '**/sharing/', (one) => one.method() === 'PATCH');
    await toggle.press('Space');
    await expectSeen(page.getByRole('switch', { name: 'Anybody who has the link', checked: true }));
    // A link before it is written may be one that never opens anything.
    expect(await page.getByText('/shared/').count()).toBe(0);
    write();
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
    await expectGone(settings);
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

  test('chooses the dates of a whole dashboard, offers those that have events, filters them, says who may edit, makes a copy and brings it back', async () => {
    const { project, there, madeThere } = await newProject('Old log');
    const timestamp = '2015-05-17T10:05:03Z';
    await service().send({ api_key: project['api_token'], event: 'seen', distinct_id: 'ada', timestamp });
    const series = [{ kind: 'EventsNode', event: 'seen' }];
    const insight = await madeThere('/insights/', {
      name: 'Seen',
      query: { kind: 'TrendsQuery', series, dateRange: { date_from: '-7d' }, trendsFilter: { display: 'BoldNumber' } },
    });
    const board = await madeThere('/dashboards/', {
      name: 'Log',
      tiles: [{ insight: insight.id }],
    });
    const { page, complaints } = await open(`${there}/events`);
    await expectSeen(row(page, 'Events', 'seen'));
    await show(page, `${there}/dashboards/${board.id}`);
    const number = page.getByRole('region', { name: 'Seen' }).locator('figure');
    await button(page, 'Show 17 May 2015').click();
    await expectSeen(number.getByText('1', { exact: true }));
    expect(page.url()).toContain('from=2015-05-17');
    await page.reload();
    await expectSeen(number.getByText('1', { exact: true }));
    await button(page, 'Keep these dates').click();
    await expectGone(button(page, 'Keep these dates'));
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
    await show(page, `${there}/events`);
    await expectSeen(row(page, 'Events', 'bob'));
    await show(page, `${there}/dashboards/${board.id}`);
    // An answer is shown for a minute before it is asked for again.
    await page.reload();
    await expectSeen(number.getByText('2', { exact: true }));
    await service().send({ api_key: project['api_token'], event: 'other', distinct_id: 'bob' });
    await show(page, `${there}/events`);
    await expectSeen(row(page, 'Events', 'other'));
    await show(page, `${there}/dashboards/${board.id}?from=-7d`);
    // The days of today's event have none that the dashboard counts.
    await button(page, 'Show 17 May 2015').click();
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
    await expectGone(button(page, 'Keep these filters'));
    await expectSeen(number.getByText('1', { exact: true }));
    await expectSeen(button(page, 'Filters (1)'));

    const { body: restricted } = await service().call('GET', `/api${there}/dashboards/${board.id}/`);
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
    await expectGone(row(page, 'Dashboards', 'Log (copy)'));
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await button(row(page, 'Dashboards', 'Log (copy)'), 'Restore').click();
    await expectSeen(page.getByText('No dashboard matches.'));
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await row(page, 'Dashboards', 'Log (copy)').getByRole('link').click();
    await expectSeen(number.getByText('1', { exact: true }));
    expect(complaints).toEqual([]);
  });

  test('asks each minute for the numbers of charts on the screen, keeps their pictures meanwhile, and says how old they are', async () => {
    const ids: number[] = [];
    for (const name of ['Above', 'Far below']) {
      const series = [{ kind: 'EventsNode', event: 'nobody does it' }];
      const query = { kind: 'TrendsQuery', series, trendsFilter: { display: 'BoldNumber' } };
      ids.push(Number(await insightOf(name, query)));
    }
    const [above, below] = ids as [number, number];
    const place = (y: number, h: number) => ({ layouts: { sm: { x: 0, y, w: 12, h } } });
    const path = await made({
      name: 'Wall',
      tiles: [
        { insight: above, ...place(0, 5) },
        { text: { body: 'Between' }, ...place(5, 40) },
        { insight: below, ...place(45, 5) },
      ],
    });
    const { page } = await open(at('/home'));
    await page.clock.install();
    const asked = { [above]: 0, [below]: 0 };
    let isBroken = false;
    await page.route('**/insights/*/?*refresh=*', async (route) => {
      const id = Number(/insights\/(\d+)\//.exec(route.request().url())?.[1]);
      asked[id] = (asked[id] ?? 0) + 1;
      if (isBroken) return route.abort();
      const response = await route.fetch();
      const json = await response.json();
      const last_refresh = new Date(Date.parse(json.last_refresh) - 3 * 60 * MINUTE_MS).toISOString();
      return route.fulfill({
        response,
        json: { ...json, last_refresh, result: [{ ...json.result[0], aggregated_value: 1_000 + asked[id] }] },
      });
    });
    await show(page, at(path));
    await expectSeen(tile(page, 'Above').locator('figure').getByText('1,001'));
    await expectSeen(tile(page, 'Far below').locator('figure').getByText('1,001'));
    await expectSeen(tile(page, 'Above').getByText('Computed 3 hours ago'));
    expect(await obstacles(page)).toEqual([]);
    await page.clock.fastForward(MINUTE_MS);
    await expectSeen(tile(page, 'Above').locator('figure').getByText('1,002'));
    await button(tile(page, 'Above'), 'Ask again').click();
    await expectSeen(tile(page, 'Above').locator('figure').getByText('1,003'));
    expect(asked[below]).toBe(1);
    isBroken = true;
    await page.clock.fastForward(MINUTE_MS);
    await expectSeen(tile(page, 'Above').getByText('This may be old'));
    await expectSeen(tile(page, 'Above').locator('figure').getByText('1,003'));
    isBroken = false;
    await tile(page, 'Far below').scrollIntoViewIfNeeded();
    await expectSeen(tile(page, 'Far below').locator('figure').getByText('1,002'));
  });

  test('shows both versions where somebody else was faster', async () => {
    const path = await made({ name: 'Before' });
    const { page } = await open(at(path));
    await button(page, 'Rename').click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    // What is on its way already is read as it was.
    await page.waitForLoadState('networkidle');
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
    const after = await read(path);
    expect(after['name']).toBe('Mine');
  });

  test('has no two landmarks of one name, whatever its charts are called', async () => {
    const retention = {
      kind: 'RetentionQuery',
      retentionFilter: { targetEntity: { id: 'seen' }, returningEntity: { id: 'seen' } },
    };
    await service().send({ event: 'seen', distinct_id: 'ada' });
    const insight = await insightOf('Retention', retention);
    const { page } = await open(at('/events'));
    await expectSeen(row(page, 'Events', 'seen'));
    await show(page, at(await made({ name: 'Back', tiles: [{ insight }] })));
    await expectSeen(tile(page, 'Retention').locator('figure').getByRole('table'));
    expect(await obstacles(page)).toEqual([]);
  });

  test('says of a chart in HogQL that it does not heed the dates and filters of the dashboard', async () => {
    const hogql = (name: string, query: string) => insightOf(name, { kind: 'HogQLQuery', query });
    const deaf = await hogql('Deaf', 'SELECT count() FROM events');
    const heeding = await hogql('Heeding', 'SELECT count() FROM events WHERE {filters}');
    const dated = await hogql('Dated', 'SELECT count() FROM events WHERE timestamp >= {filters.dateRange.from}');
    const path = await made({ name: 'In HogQL', tiles: [{ insight: deaf }, { insight: heeding }, { insight: dated }] });
    const { page } = await open(at(path));
    await expectSeen(tile(page, 'Deaf').locator('figure'));
    expect(await page.getByText('Not by the dashboard').count()).toBe(0);
    await page.getByRole('combobox', { name: 'Dates' }).click();
    await page.getByRole('option', { name: 'The last 7 days' }).click();
    await expectSeen(tile(page, 'Deaf').getByText('Not by the dashboard’s dates', { exact: true }));
    const properties = [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }];
    await service().call('PATCH', `${api(path)}/`, { filters: { properties } });
    await page.reload();
    await expectSeen(tile(page, 'Deaf').getByText('Not by the dashboard’s dates and filters', { exact: true }));
    await expectSeen(tile(page, 'Heeding').locator('figure'));
    expect(await tile(page, 'Heeding').getByText('Not by the dashboard').count()).toBe(0);
    await expectSeen(tile(page, 'Dated').getByText('Not by the dashboard’s filters', { exact: true }));
    expect(await obstacles(page)).toEqual([]);
  });

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('tells beside the title of a chart how old it is, in %s at %i pixels', async (colorScheme, width) => {
    await service().send({ event: 'drawn', distinct_id: 'ada' });
    const long = `${'A name that goes on '.repeat(4)}and_does_not_end_${'where_it_should_'.repeat(4)}`.trim();
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'drawn' }] };
    const insights = [];
    for (const name of ['Short', long]) insights.push({ insight: await insightOf(name, query) });
    const narrow = { layouts: { sm: { x: 0, y: 5, w: 3, h: 5 } } };
    const path = await made({ name: 'Old ones', tiles: [insights[0], { ...insights[1], ...narrow }] });
    const { page } = await open(at(path), { colorScheme, viewport: { width, height: 1200 } });
    for (const name of ['Short', long]) {
      const one = tile(page, name);
      await expectSeen(one.locator('figure svg'));
      const parts = [
        one,
        one.getByRole('link', { name }),
        button(one, 'Ask again'),
        one.getByRole('group', { name: 'Content' }),
      ];
      const [outer, title, again, content] = await Promise.all(parts.map((part) => part.boundingBox()));
      expect(content?.height).toBeGreaterThan(200);
      expect(title && again && title.x + title.width <= again.x).toBe(true);
      expect(again && outer && again.y + again.height <= outer.y + outer.height).toBe(true);
      expect(again && outer && again.x + again.width <= outer.x + outer.width).toBe(true);
    }
    const isWhole = await tile(page, 'Short')
      .getByRole('group', { name: 'Content' })
      .evaluate(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight);
    expect(isWhole).toBe(true);
    expect(await obstacles(page)).toEqual([]);
  });

  test('asks before a text that was written in a dialog is given up, by Escape and by “back”', async () => {
    await made({ name: 'Written on' });
    const { page } = await open(at('/dashboards'));
    await row(page, 'Dashboards', 'Written on').getByRole('link').click();
    const dialog = page.getByRole('dialog', { name: 'Add text' });
    const question = page.getByRole('dialog', { name: 'Leave without saving?' });
    await button(page, 'Add text').click();
    await expectSeen(dialog);
    // Nothing is written yet.
    await page.keyboard.press('Escape');
    await expectGone(dialog);
    await button(page, 'Add text').click();
    const text = dialog.getByRole('textbox', { name: 'Text' });
    await text.fill('What took long');
    await page.keyboard.press('Escape');
    await expectSeen(question);
    expect(await obstacles(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expectGone(question);
    expect(await text.inputValue()).toBe('What took long');
    await page.goBack();
    await expectSeen(question);
    await page.keyboard.press('Escape');
    await expectGone(question);
    expect(await text.inputValue()).toBe('What took long');
    await page.goBack();
    await button(question, 'Leave').click();
    await expectSeen(page.getByRole('heading', { name: 'Dashboards' }));

    await row(page, 'Dashboards', 'Written on').getByRole('link').click();
    await button(page, 'Add text').click();
    await text.fill('Not worth it');
    await button(dialog, 'Close').click();
    await button(question, 'Leave').click();
    await expectGone(dialog);
    await button(page, 'Add text').click();
    await text.fill('Worth it');
    await button(dialog, 'Add').click();
    await expectSeen(tile(page, 'Worth it'));
    expect(await question.count()).toBe(0);
  });

  test('shows the whole legend of a chart in a tile of usual size, edited or not, and that there is more to scroll to', async () => {
    const path = await made({ name: 'Legends' });
    await madeIn('/insights/', {
      name: 'By browser',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'seen' }] },
      dashboards: [Number(path.split('/').at(-1))],
    });
    for (const text of [`# Long${'\n\nmore'.repeat(40)}`, '# Short'])
      await service().call('PATCH', api(`${path}/`), { tiles: [{ text: { body: text } }] });
    const { page } = await open(at('/dashboards'));
    const result = ['Chrome', 'Safari', 'Firefox', 'Edge', 'Opera', 'Samsung Internet'].map((name) =>
      trend(name, [3, 1, 2]),
    );
    await page.route(/\/insights\/\d+\/\?/, (asked) =>
      asked.fulfill({ json: { result, last_refresh: '2020-01-03T10:00:00Z', timezone: 'UTC' } }),
    );
    await show(page, at(path));
    const names = tile(page, 'By browser').locator('.legend li');
    await expectSeen(names.nth(5));
    const bottomOf = async (one: Locator): Promise<number> => {
      const box = await one.boundingBox();
      return (box?.y ?? Number.NaN) + (box?.height ?? 0);
    };
    const expectWhole = async (): Promise<void> =>
      expect(await bottomOf(names.last())).toBeLessThan(await bottomOf(tile(page, 'By browser')));
    await expectWhole();
    const fade = (name: string) =>
      page.evaluate<string>(
        `getComputedStyle(document.querySelector('[aria-label="${name}"] .scrolls')).getPropertyValue('--more-below')`,
      );
    expect([await fade('Long'), await fade('Short')]).toEqual(['20px', '0px']);
    // On a phone a tile is as high as what is in it.
    await page.setViewportSize({ width: 390, height: 800 });
    await expectSeen(page.locator('[aria-label="Tiles"][style*="display: flex"]'));
    expect([await fade('Long'), await fade('Short')]).toEqual(['0px', '0px']);
    await page.setViewportSize({ width: 1280, height: 720 });
    await expectSeen(page.locator('[aria-label="Tiles"][style*="display: grid"]'));
    await button(page, 'Edit layout').click();
    await expectSeen(button(page, 'Move By browser'));
    await expectWhole();
    // The handles stand in the line of the title.
    expect(await bottomOf(tile(page, 'By browser').getByRole('link', { name: 'By browser' }))).toBeGreaterThan(
      (await button(page, 'Move By browser').boundingBox())?.y ?? Number.NaN,
    );
  });

  test('moves a tile twice before the first is written, and nobody else is blamed', async () => {
    const corner = { layouts: { sm: { x: 0, y: 0, w: 6, h: 4 } } };
    const path = await made({ name: 'Quick', tiles: [{ text: { body: 'Moved' }, ...corner }] });
    const { page } = await open(at(path));
    await button(page, 'Edit layout').click();
    await button(page, 'Move Moved').focus();
    const write = await heldBack(page, `**${api(path)}/`, (one) => one.method() === 'PATCH');
    const left = async () => (await tile(page, 'Moved').boundingBox())?.x ?? 0;
    const before = await left();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    // All of it is seen before any of it is written.
    const after = await left();
    expect(after).toBeGreaterThan(before);
    const ended = page.waitForResponse((one) => one.request().postData()?.includes('"x":3') === true);
    write();
    expect((await ended).status()).toBe(200);
    await expectGone(page.getByRole('dialog', { name: 'Somebody else has changed it' }));
    expect(await left()).toBe(after);
    expect(await read(path)).toMatchObject({ tiles: [{ layouts: { sm: { x: 3 } } }] });
  });

  test('is not written to by the page of another one that was open before', async () => {
    const [one, other] = [await made({ name: 'One' }), await made({ name: 'Other' })];
    const { page } = await open(at(one));
    const visit = async (path: string, name: string): Promise<void> => {
      await show(page, at(path));
      await expectSeen(page.getByRole('heading', { name }));
    };
    // Both are known to the page from now on.
    await visit(other, 'Other');
    await visit(one, 'One');
    await whileWritten(page, () => button(page, 'Pin').click());
    await visit(other, 'Other');
    await whileWritten(page, () => button(page, 'Pin').click());
    await expectSeen(button(page, 'Unpin'));
    expect(await read(one)).toMatchObject({ name: 'One', pinned: true });
    expect(await read(other)).toMatchObject({ name: 'Other', pinned: true });
  });

  test('brings a tile back that was removed by mistake, where it was', async () => {
    const layouts = { sm: { x: 3, y: 0, w: 6, h: 4 } };
    const kept = { text: { body: 'Kept' }, layouts, color: 'blue' };
    const path = await made({ tiles: [kept, { text: { body: 'Other' } }] });
    const { page, complaints } = await open(at(path));
    await button(page, 'Edit layout').click();
    await button(page, 'Remove Kept').press('Enter');
    await expectGone(tile(page, 'Kept'));
    await expectSeen(page.getByRole('group', { name: 'Tiles' }).and(page.locator(':focus')));
    await button(page, 'Undo').click();
    await expectSeen(tile(page, 'Kept'));
    const { tiles } = (await read(path)) as { tiles: unknown[] };
    expect(tiles).toContainEqual(expect.objectContaining({ ...kept, text: expect.objectContaining(kept.text) }));
    expect(complaints).toEqual([]);
  });

  test('shows one after the other what was changed while somebody else was faster', async () => {
    const path = await made({ name: 'Both', tiles: [{ text: { body: 'Moved' } }] });
    const { page } = await open(at(path));
    await button(page, 'Edit layout').click();
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs' });
    const write = await heldBack(page, `**${api(path)}/`, (one) => one.method() === 'PATCH');
    await button(page, 'Pin').click();
    await button(page, 'Remove Moved').click();
    await expectGone(tile(page, 'Moved'));
    write();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('pinned, as you wanted it'));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectSeen(notice.getByText('0 tiles', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectGone(notice);
    expect(await read(path)).toMatchObject({ name: 'Theirs', pinned: true, tiles: [] });
  });

  test('counts the insights that were to be added where somebody else was faster', async () => {
    const [there, one, other] = await Promise.all(
      ['There', 'One', 'Other'].map(async (name) => {
        const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'ordered' }] };
        return insightOf(`${name} of three`, query);
      }),
    );
    const path = await made({ name: 'Counted', tiles: [{ text: { body: 'Note' } }] });
    const { page } = await open(at(path));
    await button(page, 'Add insight').click();
    const dialog = page.getByRole('dialog', { name: 'Add insight' });
    await dialog.getByRole('combobox', { name: 'Insights' }).fill('of three');
    for (const name of ['There', 'One', 'Other']) await page.getByRole('option', { name: `${name} of three` }).click();
    await page.keyboard.press('Escape');
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs', tiles: [{ insight: there }] });
    await button(dialog, 'Add').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('2 tiles', { exact: true }));
    await expectSeen(notice.getByText('4 tiles', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectGone(notice);
    const tiles = (await read(path))['tiles'] as { insight: { id: number } | null }[];
    expect(tiles.map(({ insight }) => insight?.id)).toEqual([undefined, there, one, other]);
  });

  test('is not told deleted where somebody else was faster', async () => {
    const path = await made({ name: 'Stays' });
    const { page } = await open(at(path));
    await expectSeen(page.getByRole('heading', { name: 'Stays' }));
    await service().call('PATCH', `${api(path)}/`, { description: 'Still needed' });
    const ask = page.getByRole('dialog', { name: 'Delete' });
    await button(page, 'Delete').click();
    await button(ask, 'Delete').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('deleted, as you wanted it'));
    expect(await page.getByText('Stays is deleted.').count()).toBe(0);
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByText('Still needed'));
    await button(page, 'Delete').click();
    await button(ask, 'Delete').click();
    await expectSeen(page.getByText('Stays is deleted.'));
    await expectSeen(page.getByRole('heading', { name: 'Dashboards' }));
    expect(await read(path)).toMatchObject({ detail: 'Not found.' });
    // A link that somebody has kept.
    await show(page, at(path));
    await page.reload();
    await expectSeen(page.getByRole('alert').filter({ hasText: 'It is not there, was deleted, or is not for you' }));
  });

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
    const { tiles } = (await read(path)) as { tiles: { id: number; text: { body: string } }[] };
    const [first] = tiles.filter(({ text }) => text.body.startsWith('# After'));
    await service().call('PATCH', `${api(path)}/`, { tiles: [{ id: first?.id, text: { body: 'Theirs' } }] });
    await button(dialog, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Theirs', { exact: true }));
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await whileWritten(page, () => button(notice, 'Write mine').click());
    expect(await read(path)).toMatchObject({ tiles: [{ text: { body: 'Mine' } }, { text: { body: 'Other' } }] });
  });

  test('keeps what was written, where somebody else was faster, until it is written or given up', async () => {
    const path = await made({ name: 'Kept', tiles: [{ text: { body: 'Before' } }] });
    const { page } = await open(at(path));
    await button(page, 'Edit layout').click();
    await button(tile(page, 'Before'), 'Edit').click();
    const dialog = page.getByRole('dialog', { name: 'Edit' });
    await dialog.getByRole('textbox', { name: 'Text' }).fill('Mine');
    await service().call('PATCH', `${api(path)}/`, { description: 'Theirs' });
    await button(dialog, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('Mine', { exact: true }));
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    expect(await button(notice, 'Close').count()).toBe(0);
    await page.route(`**${api(path)}/`, (one) => one.abort(), { times: 1 });
    await button(notice, 'Write mine').click();
    await expectSeen(notice.getByText('The service cannot be reached.'));
    expect(await obstacles(page)).toEqual([]);
    await whileWritten(page, () => button(notice, 'Write mine').click());
    await expectGone(notice);
    expect(await read(path)).toMatchObject({ description: 'Theirs', tiles: [{ text: { body: 'Mine' } }] });
  });

  test('moves a tile to another dashboard, where it covers none, leaves one here too, and copies one', async () => {
    const insight = await insightOf('Orders', {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'ordered' }],
    });
    const corner = { layouts: { sm: { x: 0, y: 0, w: 6, h: 4 } } };
    const target = await made({ name: 'Archive', tiles: [{ text: { body: 'Kept' }, ...corner }] });
    const path = await made({
      name: 'Work',
      tiles: [{ text: { body: 'Note' }, ...corner }, { insight }],
    });
    const { page, complaints } = await open(at(path), { viewport: { width: 1440, height: 900 } });
    await button(page, 'Edit layout').click();
    const dialog = page.getByRole('dialog', { name: 'Move to' });
    const choose = async (name: string): Promise<void> => {
      await button(tile(page, name), `Move to another dashboard: ${name}`).click();
      await dialog.getByRole('combobox', { name: 'Dashboard' }).fill('rchi');
      await page.getByRole('option', { name: 'Archive' }).click();
    };
    await choose('Note');
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Move').click();
    await expectGone(tile(page, 'Note'));
    await choose('Orders');
    await dialog.getByRole('checkbox', { name: 'Leave it here too' }).check();
    await button(dialog, 'Move').click();
    await expectSeen(page.getByText('The other dashboard shows it too.'));
    await button(tile(page, 'Orders'), 'Copy Orders').click();
    await expectSeen(tile(page, 'Orders (Copy)'));
    expect(((await read(path))['tiles'] as unknown[]).length).toBe(2);

    await show(page, at(target));
    await expectSeen(tile(page, 'Orders'));
    const [kept, note] = await Promise.all(['Kept', 'Note'].map((name) => tile(page, name).boundingBox()));
    expect(note?.y).toBeGreaterThanOrEqual((kept?.y ?? 0) + (kept?.height ?? 0));
    expect(complaints).toEqual([]);
  });

  test('puts insights that there are on a dashboard, several at once, and leads to a new one for it', async () => {
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'ordered' }] };
    for (const name of ['Alpha', 'Beta', 'Gamma']) await insightOf(name, query);
    const path = await made({ name: 'Chosen' });
    const { page, complaints } = await open(at(path));
    await expectSeen(page.getByText('Nothing on it yet.'));
    expect(await page.getByRole('link', { name: 'New insight' }).count()).toBe(1);
    await button(page, 'Add insight').first().click();
    const dialog = page.getByRole('dialog', { name: 'Add insight' });
    const insights = dialog.getByRole('combobox', { name: 'Insights' });
    for (const name of ['Alpha', 'Gamma']) {
      await insights.fill(name.slice(1));
      await page.getByRole('option', { name }).click();
    }
    await page.keyboard.press('Escape');
    expect(await obstacles(page)).toEqual([]);
    await whileWritten(page, () => button(dialog, 'Add').click());
    for (const name of ['Alpha', 'Gamma']) await expectSeen(tile(page, name));
    await button(page, 'Add insight').click();
    await insights.fill('lpha');
    await expectSeen(page.getByText('No other insight matches.'));
    await page.keyboard.press('Escape');
    await dialog.getByRole('link', { name: 'make a new insight' }).click();
    await expectSeen(page.getByRole('heading', { name: 'New insight' }));
    await expectSeen(page.getByRole('main').getByText('Chosen', { exact: true }));
    await page.getByRole('textbox', { name: 'Name' }).fill('Delta');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Delta' }));
    const tiles = (await read(path))['tiles'] as { insight: { name: string } }[];
    expect(tiles.map(({ insight }) => insight.name).toSorted()).toEqual(['Alpha', 'Delta', 'Gamma']);
    expect(complaints).toEqual([]);
  });

  test('says that there are more insights than are offered, and does not offer any to a key that may not read them', async () => {
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'ordered' }] };
    const ids: unknown[] = [];
    for (let n = 0; n < 26; n += 1) ids.push(await insightOf(`Of many ${n}`, query));
    const path = await made({ name: 'Full', tiles: ids.slice(1).map((insight) => ({ insight })) });
    const { page } = await open(at(path));
    await button(page, 'Add insight').click();
    const insights = page.getByRole('dialog').getByRole('combobox', { name: 'Insights' });
    await insights.click();
    await expectSeen(page.getByText('Type a part of the name; there are more.'));
    await insights.fill('Of many 0');
    await expectSeen(page.getByRole('option', { name: 'Of many 0' }));

    await page.reload();
    const refused = { type: 'server_error', code: 'error', detail: 'Not this time.', attr: null };
    await page.route('**/insights/?*', (asked) => asked.fulfill({ status: 500, json: refused }));
    await button(page, 'Add insight').click();
    await expectSeen(page.getByRole('dialog').getByText('Not this time.'));
    expect(await obstacles(page)).toEqual([]);
    expect(await page.getByText('No other insight matches.').count()).toBe(0);

    const key = await service().newKey(['dashboard:write', 'project:read']);
    const writer = await open(at(path), { key });
    const add = button(writer.page, 'Add insight').and(writer.page.locator('[aria-disabled=true]'));
    await expectSeen(add);
    expect(await add.getAttribute('aria-description')).toBe('Your key lacks the scope insight:read');
  });

  test('shows all of a large number where there is little room', async () => {
    const insight = await insightOf('Large', {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'ordered' }],
      trendsFilter: { display: 'BoldNumber' },
    });
    const path = await made({ name: 'Numbers', tiles: [{ insight }] });
    const { page } = await open(at(path), { viewport: { width: 380, height: 800 } });
    const number = tile(page, 'Large').locator('.numbers strong');
    await expectSeen(number);
    const hidden = await tile(page, 'Large')
      .getByRole('group', { name: 'Content' })
      .evaluate((one) => one.scrollHeight - one.clientHeight);
    expect(hidden).toBe(0);
  });

  test('chooses a first and a last day, which the address remembers', async () => {
    const insight = await insightOf('Seen', {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'seen' }],
      dateRange: { date_from: '-7d' },
    });
    const path = await made({ name: 'Days', tiles: [{ insight }] });
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
    await button(dialog, 'Close').click();
    // Dates that are not kept stay chosen.
    await service().call('PATCH', `${api(path)}/`, { filters: { date_from: '-3d' } });
    await button(page, 'Keep these dates').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice.getByText('"-3d"'));
    await expectSeen(notice.getByText('"2026-02-05"'));
    await button(notice, 'Keep theirs').click();
    await expectGone(notice);
    expect(await page.getByRole('combobox', { name: 'Dates' }).inputValue()).toBe('5 Feb 2026 to 6 Feb 2026');
    await whileWritten(page, () => button(page, 'Keep these dates').click());
    await expectGone(button(page, 'Keep these dates'));
  });

  test.each([
    ['dates', 'from=-7d'],
    ['filters', 'filters=%22%5B%5D%22'],
  ])('leaves the address of the page alone to which somebody went while %s were being kept', async (what, chosen) => {
    const insight = await insightOf('', { kind: 'HogQLQuery', query: 'SELECT 1' });
    const path = await made({ name: 'Kept', tiles: [{ insight }] });
    const { page } = await open(at(`${path}?${chosen}`));
    const write = await heldBack(page, `**${api(path)}/`, (one) => one.method() === 'PATCH');
    await button(page, `Keep these ${what}`).click();
    const there = `${service().address}/#${at('/insights?search=none')}`;
    await page.goto(there);
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Insights' }));
    await whileWritten(page, async () => write());
    await page.waitForFunction('new Promise((resolve) => setTimeout(() => resolve(true), 0))');
    expect(page.url()).toBe(there);
    expect(await page.getByRole('textbox', { name: 'Search' }).inputValue()).toBe('none');
  });

  /** Makes insights of a query each, on one dashboard, and returns its path. */
  const charts = async (names: readonly string[]): Promise<string> => {
    const tiles = [];
    for (const name of names) {
      const query = { kind: 'HogQLQuery', query: `SELECT '${name}' AS word` };
      tiles.push({ insight: await insightOf(name, query) });
    }
    return made({ name: 'Charts', tiles });
  };

  test('asks for four of its charts at a time, in the order in which they stand', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `Chart ${n + 1}`);
    const path = await charts(names);
    const { tiles } = (await read(path)) as { tiles: { insight: { id: number } }[] };
    const { page } = await open(at('/home'));
    const asked: string[] = [];
    let [underWay, most] = [0, 0];
    const { promise: areFour, resolve } = Promise.withResolvers<void>();
    await page.route('**/insights/*/?*', async (one) => {
      underWay += 1;
      most = Math.max(most, underWay);
      if (asked.push(/insights\/(\d+)/.exec(one.request().url())?.[1] ?? '') === 4) resolve();
      await areFour;
      const response = await one.fetch();
      underWay -= 1;
      await one.fulfill({ response });
    });
    await show(page, at(path));
    for (const name of names) await expectSeen(tile(page, name).getByRole('cell', { name }));
    expect(asked).toEqual(tiles.map(({ insight }) => String(insight.id)));
    expect(most).toBe(4);
  });

  test('asks for a chart again where the service says when, and shows what was known where it cannot be asked', async () => {
    const path = await charts(['Busy']);
    const { page } = await open(at('/home'));
    await page.clock.install();
    const url = '**/insights/*/?*';
    const refused = { type: 'throttled_error', code: 'throttled', detail: 'Too many queries.', attr: null };
    const headers = { 'Retry-After': '20' };
    await page.route(url, (one) => one.fulfill({ status: 429, headers, json: refused }), { times: 1 });
    const first = page.waitForResponse((one) => one.status() === 429);
    await show(page, at(path));
    await (await first).finished();
    await expectSeen(tile(page, 'Busy'));
    expect(await page.getByText('Too many queries.').count()).toBe(0);
    await page.clock.fastForward(20_000);
    await expectSeen(tile(page, 'Busy').getByRole('cell', { name: 'Busy' }));
    // What is wrong with it now is said beside what it has answered before.
    const wrong = { type: 'validation_error', code: 'invalid_input', detail: 'No such event.', attr: null };
    await page.route(url, (one) => one.fulfill({ status: 400, json: wrong }), { times: 1 });
    await page.reload();
    await expectSeen(tile(page, 'Busy').getByText('This may be old: it could not be read again. No such event.'));
    await expectSeen(tile(page, 'Busy').getByRole('cell', { name: 'Busy' }));
    expect(await obstacles(page)).toEqual([]);
    await button(tile(page, 'Busy'), 'Try again').click();
    await expectGone(tile(page, 'Busy').getByText('This may be old'));
    await expectSeen(tile(page, 'Busy').getByRole('cell', { name: 'Busy' }));
  });

  test('gives each chart its own dates again, where some are kept', async () => {
    const query = {
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'seen' }],
      dateRange: { date_from: '-3d' },
      interval: 'day',
    };
    const insight = await insightOf('Of three days', query);
    const properties = [{ key: 'plan', operator: 'exact', type: 'event', value: ['pro'] }];
    const filters = { date_from: '-7d', date_to: null, properties };
    const path = await made({ name: 'Kept', tiles: [{ insight }], filters });
    const { page, complaints } = await open(at(path));
    const dates = page.getByRole('combobox', { name: 'Dates' });
    await expectSeen(tile(page, 'Of three days').locator('figure'));
    expect(await dates.inputValue()).toBe('The last 7 days (kept)');
    await dates.click();
    await page.getByRole('option', { name: 'As each chart has it' }).click();
    // For the reader alone, until it is kept.
    await tile(page, 'Of three days').locator('figure').getByText('Numbers', { exact: true }).click();
    const rows = tile(page, 'Of three days').locator('figure').getByRole('row');
    // Below the names of the columns: today, and three days before it.
    expect(await rows.count()).toBe(5);
    await page.reload();
    await expectSeen(tile(page, 'Of three days').locator('figure'));
    expect(await dates.inputValue()).toBe('As each chart has it');
    expect(await read(path)).toMatchObject({ filters });
    await whileWritten(page, () => button(page, 'Keep these dates').click());
    await expectGone(button(page, 'Keep these dates'));
    expect(await read(path)).toMatchObject({ filters: { date_from: null, date_to: null, properties } });
    expect(await dates.inputValue()).toBe('As each chart has it (kept)');
    expect(complaints).toEqual([]);
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
    await expectGone(remove);
    expect(await rules()).toMatchObject([{ access_level: 'none', organization_member: null }]);
    expect(complaints).toEqual([]);
  });

  test('offers who only sees it nothing that changes it, and says why', async () => {
    const key = await service().keyOf();
    const path = await made({ name: 'Theirs to see' });
    await service().call('PUT', `${api(path)}/access_controls/`, { access_level: 'viewer', organization_member: null });
    const { page, complaints } = await open(at(path), { key });
    const sent: string[] = [];
    page.on('request', (one) => sent.push(one.method()));
    const why = 'The dashboard is yours to see, not to edit';
    const lacking = page.locator(`[aria-disabled=true][aria-description="${why}"]`);
    for (const name of ['Pin', 'Rename', 'Add insight', 'Add text', 'Edit layout', 'Delete'])
      await expectSeen(button(page, name).and(lacking));
    expect(await page.getByRole('link', { name: 'New insight' }).count()).toBe(0);
    for (const name of ['Share', 'Collaborators']) {
      await button(page, name).click();
      const dialog = page.getByRole('dialog', { name });
      await expectSeen(dialog.getByText(`${why}.`));
      await expectSeen(dialog.getByRole('switch', { disabled: true }));
      expect(await obstacles(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await expectGone(dialog);
    }
    expect(sent.filter((method) => method !== 'GET')).toEqual([]);
    // Who may not edit for want of being named as a collaborator lacks the same.
    await service().call('PUT', `${api(path)}/access_controls/`, { access_level: 'editor', organization_member: null });
    await page.reload();
    await expectSeen(button(page, 'Rename').and(page.locator(':not([aria-disabled])')));
    await service().call('PATCH', `${api(path)}/`, { restriction_level: 37 });
    await page.reload();
    await expectSeen(button(page, 'Rename').and(lacking));
    expect(complaints).toEqual([]);
  });

  test('is edited no longer by who has lost the right to edit it meanwhile', async () => {
    const path = await made({ name: 'Lost', tiles: [{ text: { body: 'A note' } }] });
    const { page } = await open(at(path), { key: await service().keyOf() });
    await button(page, 'Edit layout').click();
    await expectSeen(page.getByRole('button', { name: /^Remove/ }));
    await service().call('PUT', `${api(path)}/access_controls/`, { access_level: 'viewer', organization_member: null });
    // Whoever comes back to the page after a minute has it read again.
    await page.clock.setFixedTime(Date.now() + MINUTE_MS);
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    await expectSeen(button(page, 'Edit layout').and(page.locator('[aria-disabled=true]')));
    await expectGone(page.getByRole('button', { name: /^Remove/ }));
  });

  test('leaves it to who made it, admins and owners that only collaborators edit it, and says so', async () => {
    const path = await made({ name: 'Theirs to edit' });
    const { page, complaints } = await open(at(path), { key: await service().keyOf() });
    const dialog = page.getByRole('dialog', { name: 'Collaborators' });
    for (const access_level of ['editor', 'manager']) {
      await service().call('PUT', `${api(path)}/access_controls/`, { access_level, organization_member: null });
      await page.reload();
      await button(page, 'Collaborators').click();
      await expectSeen(dialog.getByRole('switch', { name: 'Only collaborators may edit', disabled: true }));
      await expectSeen(dialog.getByText('Only they change this.'));
    }
    await expectSeen(button(dialog, 'Add').and(page.locator(':not([aria-disabled])')));
    expect(await obstacles(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('offers other days than those that it keeps, where these have nothing', async () => {
    const { project, there, madeThere } = await newProject('Kept');
    const old = { api_key: project['api_token'], event: '$pageview', distinct_id: 'ada' };
    await service().send({ ...old, timestamp: '2015-05-17T10:05:03Z' });
    await service().send({ ...old, event: 'paid' });
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: '$pageview' }] };
    const insight = await madeThere('/insights/', { name: 'Views', query });
    const board = await madeThere('/dashboards/', {
      name: 'Traffic',
      filters: { date_from: '-30d' },
      tiles: [{ insight: insight.id }],
    });
    const { page } = await open(`${there}/events`);
    for (const event of ['paid', '$pageview']) await expectSeen(row(page, 'Events', event));
    await show(page, `${there}/dashboards/${board.id}`);
    await expectSeen(page.getByRole('button', { name: /^Show / }));
    expect(await page.getByRole('button', { name: /^Show / }).textContent()).toBe('Show 17 May 2015');
  });

  test('is shared, opened to members and pinned one after the other, and nobody else is blamed', async () => {
    const path = await made({ name: 'Own changes' });
    const { page, complaints } = await open(at(path));
    const written = async (method: string, act: () => Promise<void>): Promise<void> => {
      const [answer] = await Promise.all([
        page.waitForResponse((one) => one.request().method() === method && one.url().includes(api(path))),
        act(),
      ]);
      expect([answer.url(), answer.ok()]).toEqual([expect.any(String), true]);
    };
    const pin = async (name: 'Pin' | 'Unpin'): Promise<void> => {
      await page.keyboard.press('Escape');
      await expectGone(page.getByRole('dialog'));
      await written('PATCH', () => button(page, name).click());
    };
    const dialog = page.getByRole('dialog');
    await button(page, 'Collaborators').click();
    await dialog.getByRole('combobox', { name: 'Member' }).click();
    await page.getByRole('option', { name: 'member@example.com' }).click();
    await button(dialog, 'Add').click();
    await written('PATCH', () => dialog.getByRole('switch', { name: 'Only collaborators may edit' }).press('Space'));
    const remove = button(dialog, 'Remove member@example.com');
    await written('DELETE', () => remove.click());
    await pin('Pin');
    await button(page, 'Access').click();
    await dialog.getByRole('combobox', { name: 'What all members may do' }).click();
    await written('PUT', () => page.getByRole('option', { name: 'see it', exact: true }).click());
    await pin('Unpin');
    await button(page, 'Share').click();
    const toggle = page.getByRole('switch', { name: 'Anybody who has the link', disabled: false });
    await written('PATCH', () => toggle.press('Space'));
    await expectSeen(page.getByText('/shared/'));
    await button(page, 'Change the link').click();
    await written('POST', () =>
      button(page.getByRole('dialog', { name: 'Change the link' }), 'Change the link').click(),
    );
    await expectGone(page.getByRole('dialog', { name: 'Change the link' }));
    await pin('Pin');
    expect(await read(path)).toMatchObject({ pinned: true, is_shared: true, restriction_level: 37 });
    expect(complaints).toEqual([]);

    // What others change before is theirs still.
    await button(page, 'Collaborators').click();
    await dialog.getByRole('combobox', { name: 'Member' }).click();
    await page.getByRole('option', { name: 'member@example.com' }).click();
    const write = await heldBack(page, `**${api(path)}/collaborators/`, (one) => one.method() === 'POST');
    await service().call('PATCH', `${api(path)}/`, { description: 'Theirs' });
    await button(dialog, 'Add').click();
    await dialog.getByRole('switch', { name: 'Only collaborators may edit' }).press('Space');
    write();
    await expectSeen(page.getByRole('dialog', { name: 'Somebody else has changed it' }));
  });

  test('is shared and not shared again before the first is written, and nobody else is blamed', async () => {
    const path = await made({ name: 'Twice' });
    const { page } = await open(at(path));
    await button(page, 'Share').click();
    const write = await heldBack(page, '**/sharing/', (one) => one.method() === 'PATCH');
    const toggle = (checked: boolean) =>
      page.getByRole('switch', { name: 'Anybody who has', checked, disabled: false });
    await toggle(false).press('Space');
    await toggle(true).press('Space');
    const ended = page.waitForResponse((one) => one.request().postData() === '{"enabled":false}');
    write();
    await ended;
    await expectSeen(toggle(false));
    expect((await service().call('GET', `${api(path)}/sharing/`)).body).toMatchObject({ enabled: false });
    expect(await page.getByRole('dialog', { name: 'Somebody else has changed it' }).count()).toBe(0);
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
