/** Insights in the console, and what watches and sends their numbers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { HOUR_MS, MINUTE_MS } from '../../../lib/basics/units.ts';
import { obstacles } from '../../support/browser.ts';
import {
  asBefore,
  button,
  describeConsole,
  expectGone,
  expectSeen,
  HOSTILE,
  heldBack,
  row,
  whileWritten,
} from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

describeConsole('insights in the console', ({ service, open, at, api, show, made, read, newProject }) => {
  const trend = (name: string) =>
    made('/insights/', { name, query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] } });
  const alertOn = (insight: Readonly<Record<string, unknown>>) =>
    made('/alerts/', {
      insight: insight.id,
      name: 'Few',
      subscribed_users: [],
      threshold: { configuration: { type: 'absolute', bounds: { lower: 100 } } },
    });
  const subscriptionTo = (insight: Readonly<Record<string, unknown>>) =>
    made('/subscriptions/', {
      insight: insight.id,
      title: 'Weekly',
      target_type: 'webhook',
      target_value: 'https://hooks.example.com/reports',
      frequency: 'weekly',
      start_date: '2030-01-01T08:30:00Z',
    });

  test('asks a question by choosing and in HogQL, keeps it, and shows it on a dashboard', async () => {
    const board = await made('/dashboards/', { name: 'Numbers' });
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

    await show(page, at('/insights/new'));
    await expectSeen(page.getByRole('heading', { name: 'New insight' }));
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^HogQL/ }).click();
    const editor = page.getByRole('textbox', { name: 'HogQL query' });
    const write = async (text: string): Promise<void> => {
      await editor.press('ControlOrMeta+a');
      await editor.pressSequentially(text);
    };
    // A word that is whole is left as it is.
    await write('SELECT event FROM events GROUP BY even');
    await expectSeen(page.getByRole('option', { name: 'event', exact: true }));
    await editor.pressSequentially('t');
    await expectGone(page.getByRole('option'));
    await editor.press('Enter');
    expect(await editor.locator('.cm-line').allTextContents()).toEqual(['SELECT event FROM events GROUP BY event', '']);
    await write('SELECT arrStringC');
    // Not by Enter: for a moment after a list is there, the editor takes it for the end of a line.
    await page.getByRole('option', { name: 'arrayStringConcat' }).click();
    expect(await editor.textContent()).toBe('SELECT arrayStringConcat()');
    await write('SELECT nothing FROM events');
    await expectSeen(page.getByRole('alert').filter({ hasText: 'nothing' }));
    const fault = page.locator('.cm-lintRange-error');
    await expectSeen(fault);
    expect(await fault.textContent()).toBe('nothing');
    await write("SELECT count() AS orders FROM events WHERE event = 'ordered'");
    await expectSeen(page.locator('figure').getByRole('columnheader', { name: 'orders' }));

    await show(page, at(`/dashboards/${board.id}`));
    // What was asked in HogQL is not kept.
    await button(page, 'Leave').click();
    await expectSeen(page.getByRole('region', { name: 'Orders' }).locator('figure'));
    // The browser itself complains of the answer to the query that was wrong.
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
  });

  test('gives all rows of an answer as a file, though the page shows fewer, with whole texts and no formulas', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `c${at}`);
    const kept = { name: 'All rows', query: { kind: 'HogQLQuery', query: 'SELECT 1' } };
    const { id } = await made('/insights/', kept);
    const { page, complaints } = await open(at('/insights'));
    const text = `=${'long '.repeat(100)}`;
    const rows = Array.from({ length: 400 }, (_, at) => [at, 0.00031234, text, ...names.slice(3).map(() => 2026)]);
    await page.route('**/query/', (asked) =>
      asked.fulfill({ json: { results: rows, columns: names, hasMore: false } }),
    );
    await show(page, at(`/insights/${String(id)}`));
    await expectSeen(page.getByText('100 more rows are not shown here.'));
    await expectSeen(page.getByTitle('0.00031234').getByText('0.0003123', { exact: true }));
    const [file] = await Promise.all([page.waitForEvent('download'), button(page, 'Download CSV').click()]);
    expect(file.suggestedFilename()).toBe('All rows.csv');
    const path = join(temporaryFolder(), 'rows.csv');
    await file.saveAs(path);
    const lines = readFileSync(path, 'utf8').split('\r\n');
    expect(lines).toHaveLength(402);
    expect(lines[400]).toBe(`399,0.00031234,'${text},2026,2026,2026,2026,2026,2026,2026`);
    expect(complaints).toEqual([]);
  });

  test('leaves who went elsewhere while an insight was being made where they are', async () => {
    const { page } = await open(at('/insights/new'));
    await page.getByRole('textbox', { name: 'Name' }).fill('Made slowly');
    const make = await heldBack(page, '**/insights/', (one) => one.method() === 'POST');
    await button(page, 'Save').click();
    await page
      .locator('[inert]')
      .filter({ has: page.getByLabel('Name', { exact: true }) })
      .waitFor();
    await page.getByRole('link', { name: 'Persons' }).click();
    await button(page, 'Leave').click();
    await expectSeen(page.getByRole('heading', { level: 1, name: 'Persons' }));
    make();
    await expectSeen(page.getByText('Made slowly is kept.'));
    expect(page.url()).toContain('/persons');
  });

  test('finds a dashboard among many by a part of its name, and names it where it is chosen', async () => {
    const { there, madeThere } = await newProject('Many');
    const names = [...Array.from({ length: 25 }, (_, index) => `Board ${index + 10}`), 'Zebras'];
    for (const name of names) await madeThere('/dashboards/', { name });
    const kept = await madeThere('/insights/', { name: 'On one of many' });
    const { page } = await open(`${there}/insights/${kept.id}`);
    const boards = page.getByRole('combobox', { name: 'On dashboards' });
    await boards.fill('zeb');
    await page.getByRole('option', { name: 'Zebras' }).click();
    await whileWritten(page, () => button(page, 'Save').click());
    await page.reload();
    await expectSeen(page.getByRole('main').getByText('Zebras', { exact: true }));
  });

  test('says once that there is nothing, and how the first event is sent', async () => {
    const { there } = await newProject('New');
    const { page } = await open(`${there}/insights/new`);
    await expectSeen(page.getByText('There are no events yet.'));
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^Retention/ }).click();
    await expectSeen(page.locator('figure').getByText('There is no data in this range.'));
    await expectSeen(page.getByRole('link', { name: 'Send your first event' }));
    await expectGone(page.getByText('There are no events yet.'));
  });

  test('begins with an event that the project has, and offers the days that have those of the question', async () => {
    const { project, there } = await newProject('Shop 2');
    const history = join(temporaryFolder(), 'history.jsonl');
    const past = (event: string, timestamp: string) => JSON.stringify({ event, distinct_id: 'ada', timestamp });
    writeFileSync(history, [past('older', '2014-05-17T10:00:00Z'), past('bought', '2015-05-17T10:00:00Z')].join('\n'));
    expect((await service().admin('import', '--project', String(project.id), history)).code).toBe(0);
    await service().send({ api_key: project['api_token'], event: 'paid', distinct_id: 'ada' });
    const { page, complaints } = await open(`${there}/events`);
    await expectSeen(row(page, 'Events', 'paid'));
    await show(page, `${there}/insights/new`);
    await expectSeen(page.locator('figure').getByRole('img', { name: /^Line chart of paid/ }));
    const event = page.getByRole('combobox', { name: 'Event 1' });
    expect(await event.inputValue()).toBe('paid');
    await event.fill('nosuch');
    await expectSeen(page.getByText('No event named nosuch has arrived.'));
    await expectSeen(page.getByRole('link', { name: 'See the events that have' }));
    expect(await page.getByRole('button', { name: /^Show / }).count()).toBe(0);
    expect(await obstacles(page)).toEqual([]);
    await event.fill('older');
    await button(page, 'Show 17 May 2014').click();
    await expectSeen(page.locator('figure').getByRole('img', { name: /^Line chart of older/ }));
    await expectGone(page.getByText('Nothing happened then.'));
    await event.fill('paid');
    await expectSeen(page.getByRole('button', { name: /^Show / }));
    expect(complaints).toEqual([]);
  });

  test('completes names and values of properties in filters and breakdowns, and offers the days that have events', async () => {
    const { project, there } = await newProject('Shop');
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
    expect((await service().admin('import', '--project', String(project.id), history)).code).toBe(0);
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
    await expectGone(cells('GB'));
    await choose('Comparison 1', 'is there');
    await expectGone(box('Value 1'));
    await button(page, 'Add a filter').click();
    await choose('Filter 2 by', 'HogQL');
    await page.getByRole('textbox', { name: 'Condition 2' }).fill("properties.plan = 'free'");
    await expectGone(cells('pro'));
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

  test('keeps what another client has said besides the form, names it beside the numbers that it changes, and leaves it out when asked', async () => {
    await service().send({ event: 'paid', distinct_id: 'ada' });
    const node = { kind: 'EventsNode', event: 'paid', name: 'Payments' };
    const source = {
      kind: 'TrendsQuery',
      series: [
        { ...node, custom_name: 'Paid by card', properties: [{ key: 'card', operator: 'is_set', type: 'event' }] },
      ],
      trendsFilter: { display: 'BoldNumber', showLegend: true, aggregationAxisFormat: 'duration' },
      dateRange: { date_from: '-7d', explicitDate: true },
      filterTestAccounts: true,
      tags: { productKey: 'product_analytics' },
    };
    const shown = { kind: 'InsightVizNode', full: true, showTable: false };
    const { id } = await made('/insights/', { name: 'By card', query: { ...shown, source } });
    const { page, complaints } = await open(at(`/insights/${String(id)}`));
    await expectSeen(
      page.getByText('Also: Event 1: filters of its own; dates to the exact time; without test accounts'),
    );
    expect(await page.getByRole('textbox', { name: 'Label 1' }).inputValue()).toBe('Paid by card');
    expect(await obstacles(page)).toEqual([]);
    const kept = async () => (await read(`/insights/${String(id)}`))['query'];
    await page.getByRole('combobox', { name: 'Shown as' }).click();
    await page.getByRole('option', { name: 'Lines', exact: true }).click();
    await expectSeen(page.locator('figure').getByRole('img', { name: /^Line chart of Paid by card/ }));
    await whileWritten(page, () => button(page, 'Save').click());
    const trendsFilter = { ...source.trendsFilter, display: 'ActionsLineGraph' };
    expect(await kept()).toEqual({ ...shown, source: { ...source, trendsFilter } });
    await button(page, 'Leave this out').click();
    await expectGone(page.getByText('Also:'));
    await whileWritten(page, () => button(page, 'Save').click());
    // All that was not named is there still.
    const { filterTestAccounts: _, ...left } = source;
    const series = [{ ...node, custom_name: 'Paid by card' }];
    expect(await kept()).toEqual({
      ...shown,
      source: { ...left, series, trendsFilter, dateRange: { date_from: '-7d' } },
    });
    expect(complaints).toEqual([]);
  });

  test('asks within which time persons go through a funnel, and keeps it', async () => {
    const series = ['came', 'paid'].map((event) => ({ kind: 'EventsNode', event }));
    const funnelsFilter = { funnelWindowInterval: 3, funnelWindowIntervalUnit: 'hour', layout: 'horizontal' };
    const { id } = await made('/insights/', { name: 'Way', query: { kind: 'FunnelsQuery', series, funnelsFilter } });
    const { page, complaints } = await open(at(`/insights/${String(id)}`));
    const within = page.getByRole('spinbutton', { name: 'All steps within' });
    expect(await within.inputValue()).toBe('3');
    await within.fill('20');
    await page.getByRole('combobox', { name: 'Unit of the time for all steps' }).click();
    await page.getByRole('option', { name: 'minutes' }).click();
    expect(await obstacles(page)).toEqual([]);
    await whileWritten(page, () => button(page, 'Save').click());
    const body = await read(`/insights/${String(id)}`);
    const changed = { ...funnelsFilter, funnelWindowInterval: 20, funnelWindowIntervalUnit: 'minute' };
    expect(body['query']).toMatchObject({ source: { kind: 'FunnelsQuery', series, funnelsFilter: changed } });
    expect(complaints).toEqual([]);
  });

  test('shows both versions of an insight where somebody else was faster, whichever is kept', async () => {
    const { id } = await trend('Before');
    const path = `/insights/${String(id)}`;
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
    const after = await read(path);
    expect(after).toMatchObject({ name: 'Mine again', query });
    expect(await page.getByRole('combobox', { name: 'Event 1' }).inputValue()).toBe('ordered');
  });

  test('shows what is refused of a version that was to be written over theirs beside what was written', async () => {
    const { id } = await trend('Before');
    const path = `/insights/${String(id)}`;
    const { page } = await open(at(path));
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('Mine');
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs' });
    await button(page, 'Save').click();
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await expectSeen(notice);
    const refused = { type: 'validation_error', code: 'invalid_input', detail: 'It is too long.', attr: 'name' };
    await page.route(`**${api(path)}/`, (one) => one.fulfill({ status: 400, json: refused }), { times: 1 });
    await button(notice, 'Write mine').click();
    await expectGone(notice);
    await expectSeen(page.getByText('It is too long.'));
    expect(await name.inputValue()).toBe('Mine');
  });

  test('asks and keeps nothing while a number has no property yet, and leaves the picture as it is', async () => {
    await service().send({ event: 'sold', distinct_id: 'ada', properties: { price: 5 } });
    const { page, complaints } = await open(at('/events'));
    await expectSeen(row(page, 'Events', 'sold'));
    await show(page, at('/insights/new'));
    await page.getByRole('combobox', { name: 'Event 1' }).fill('sold');
    await expectSeen(page.locator('figure').getByRole('img', { name: /^Line chart of sold/ }));
    await page.getByRole('combobox', { name: 'Counted 1' }).click();
    await page.getByRole('option', { name: 'sum of' }).click();
    await expectSeen(page.getByText('Choose a property', { exact: true }));
    await expectSeen(button(page, 'Save').and(page.locator(':disabled')));
    await expectGone(button(page, 'Ask again'));
    await expectSeen(page.locator('figure').getByRole('img', { name: /^Line chart of sold/ }));
    expect(await obstacles(page)).toEqual([]);
    const asked = page.waitForRequest((one) => one.postData()?.includes('"sum"') === true);
    await page.getByRole('combobox', { name: 'Of property 1' }).fill('price');
    expect((await asked).postData()).toContain('price');
    await expectGone(page.getByText('Choose a property', { exact: true }));
    await button(page, 'Save').click();
    await expectSeen(page.getByText('The insight is kept.'));
    expect(complaints).toEqual([]);
  });

  test('keeps the name of an insight that another client made without a property, and not what is wrong with it once more', async () => {
    const series = [{ kind: 'EventsNode', event: 'paid', math: 'sum' }];
    const insight = await made('/insights/', { name: 'Half', query: { kind: 'TrendsQuery', series } });
    const { page } = await open(at(`/insights/${insight.id}`));
    await expectSeen(page.getByText('Choose a property', { exact: true }));
    await expectSeen(button(page, 'Save as new').and(page.locator(':disabled')));
    await page.getByRole('textbox', { name: 'Name' }).fill('Whole');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'Whole' }));
    await page.getByRole('combobox', { name: 'Event 1' }).fill('sold');
    await expectSeen(button(page, 'Save').and(page.locator(':disabled')));
  });

  test('keeps what is in the form as a new insight, with a formula and the period before, and leaves the first as it was', async () => {
    const board = await made('/dashboards/', { name: 'Of the first' });
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] };
    const first = await made('/insights/', { name: 'Base', query, dashboards: [board.id] });
    const { page, complaints } = await open(at(`/insights/${first.id}`));
    const formula = page.getByRole('textbox', { name: 'Formula' });
    await formula.fill('A / / A');
    await expectSeen(page.getByText('The formula cannot be read (line 1, column 5)'));
    for (const name of ['Save', 'Save as new']) await expectSeen(button(page, name).and(page.locator(':disabled')));
    await formula.fill('A / Z');
    await expectSeen(
      page
        .locator('form, div')
        .filter({ has: formula })
        .getByText(/series/)
        .last(),
    );
    for (const name of ['Save', 'Save as new']) await expectSeen(button(page, name).and(page.locator(':disabled')));
    await formula.fill('A / 2');
    await page.getByRole('switch', { name: 'Compare with the period before' }).press('Space');
    await expectSeen(page.locator('figure').getByText('Formula (A / 2)').first());
    expect(await obstacles(page)).toEqual([]);
    await button(page, 'Save as new').click();
    await expectSeen(page.getByRole('heading', { name: 'Base (copy)' }));
    const copy = page.url().split('/').at(-1) ?? '';
    expect(copy).not.toBe(String(first.id));
    const kept = async (id: unknown) => read(`/insights/${String(id)}`);
    expect(await kept(first.id)).toMatchObject({ name: 'Base', query });
    expect(await kept(copy)).toMatchObject({
      dashboards: [],
      query: { source: { compareFilter: { compare: true }, trendsFilter: { formula: 'A / 2' } } },
    });
    await page.reload();
    expect(await formula.inputValue()).toBe('A / 2');
    expect(await page.getByRole('switch', { name: 'Compare with the period before' }).isChecked()).toBe(true);
    // The browser itself complains of the answer to the formula that was wrong.
    expect(complaints.filter((one) => !one.includes('400'))).toEqual([]);
  });

  test('shows what is wrong with a formula at its field, however the insight says it, and beside no form by itself', async () => {
    const trend = (trendsFilter: object) => ({
      kind: 'TrendsQuery',
      series: [{ kind: 'EventsNode', event: 'paid' }],
      trendsFilter,
    });
    const alone = await made('/insights/', { name: 'Alone', query: trend({ formulas: ['A / / A'] }) });
    const { page } = await open(at(`/insights/${alone.id}`));
    const fault = page.getByText('The formula cannot be read (line 1, column 5)');
    const formula = page.getByRole('textbox', { name: 'Formula' });
    await expectSeen(fault);
    await expectSeen(formula.and(page.locator('[aria-invalid=true]')));
    const several = await made('/insights/', { name: 'Several', query: trend({ formulas: ['A', 'A / / A'] }) });
    const { page: other } = await open(at(`/insights/${several.id}`));
    await expectSeen(other.getByRole('alert').filter({ hasText: 'The formula cannot be read (line 1, column 5)' }));
    await expectSeen(other.getByText('query__trendsFilter__formulas__1'));
    const nodes = [{ formula: 'A' }, { formula: 'A / / A' }];
    const named = await made('/insights/', { name: 'Named', query: trend({ formulaNodes: nodes }) });
    const { page: last } = await open(at(`/insights/${named.id}`));
    await expectSeen(last.getByText('query__trendsFilter__formulaNodes__1__formula'));
  });

  test('asks for paths from wherever they begin until somebody says where', async () => {
    const { page } = await open(at('/insights/new'));
    const asked = page.waitForRequest((one) => one.postData()?.includes('PathsQuery') === true);
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^Paths/ }).click();
    expect((await asked).postDataJSON()).not.toHaveProperty('query.source.pathsFilter.startPoint');
    expect(await page.getByRole('combobox', { name: 'Beginning at' }).inputValue()).toBe('');
  });

  test('has no series that nobody has asked for once a funnel was looked at', async () => {
    const { page } = await open(at('/insights/new'));
    const series = page.getByRole('combobox', { name: /^(Event|Step) \d$/ });
    const choose = async (kind: RegExp): Promise<void> => {
      await page.getByRole('combobox', { name: 'Question' }).click();
      await page.getByRole('option', { name: kind }).click();
    };
    await expectSeen(page.getByRole('combobox', { name: 'Event 1' }));
    await page.getByRole('combobox', { name: 'Event 1' }).fill('paid');
    await choose(/^Funnel/);
    await expectSeen(page.getByRole('combobox', { name: 'Step 2' }));
    await choose(/^Paths/);
    await choose(/^Trend/);
    await expectSeen(page.getByRole('combobox', { name: 'Event 1' }));
    expect(await series.count()).toBe(1);
    expect(await series.inputValue()).toBe('paid');
  });

  test('offers no count where persons are counted whatever is chosen', async () => {
    const { page } = await open(at('/insights/new'));
    await expectSeen(page.getByRole('combobox', { name: 'Counted 1' }));
    await page.getByRole('combobox', { name: 'Question' }).click();
    await page.getByRole('option', { name: /^Stickiness/ }).click();
    await expectGone(page.getByRole('combobox', { name: 'Counted 1' }));
  });

  test('asks for the days that somebody chooses, and keeps them', async () => {
    const { id } = await trend('Of two days');
    const { page } = await open(at(`/insights/${String(id)}`));
    await button(page, 'Other days').click();
    const dialog = page.getByRole('dialog', { name: 'Other days' });
    await dialog.getByLabel('From').fill('2015-05-17');
    await dialog.getByLabel('To').fill('2015-05-18');
    await button(dialog, 'Choose them').click();
    await expectGone(dialog);
    expect(await page.getByRole('combobox', { name: 'When' }).inputValue()).toBe('17 May 2015 to 18 May 2015');
    await whileWritten(page, () => button(page, 'Save').click());
    const body = await read(`/insights/${String(id)}`);
    const dateRange = { date_from: '2015-05-17', date_to: '2015-05-18' };
    expect(body).toMatchObject({ query: { source: { dateRange } } });
    expect(await obstacles(page)).toEqual([]);
  });

  test('has “Other days” beside the dates also on a phone', async () => {
    const { page } = await open(at('/insights/new'), { viewport: { width: 390, height: 844 } });
    const middle = async (one: Locator): Promise<number> => {
      const { y, height } = (await one.boundingBox()) ?? { y: 0, height: 0 };
      return y + height / 2;
    };
    const [dates, days] = [page.getByRole('combobox', { name: 'When' }), button(page, 'Other days')];
    await expectSeen(days);
    expect(Math.abs((await middle(dates)) - (await middle(days)))).toBeLessThan(10);
  });

  test('draws an answer by what was asked for it, until the next one is there', async () => {
    await service().send({ event: 'drawn', distinct_id: 'ada' });
    const { page } = await open(at('/events'));
    await expectSeen(row(page, 'Events', 'drawn'));
    await show(page, at('/insights/new'));
    await page.getByRole('combobox', { name: 'Event 1' }).fill('drawn');
    const figure = page.locator('figure');
    await expectSeen(figure.getByRole('img', { name: /^Line chart of drawn/ }));
    const release = await heldBack(page, '**/query/', () => true);
    await page.getByRole('combobox', { name: 'Question' }).click();
    const asked = page.waitForRequest('**/query/');
    await page.getByRole('option', { name: /^Funnel/ }).click();
    await asked;
    expect(await figure.getByRole('img', { name: /^Line chart of drawn/ }).count()).toBe(1);
    release();
    await expectSeen(figure.getByRole('columnheader', { name: 'Of first' }));
  });

  test('asks again each minute, says when an answer was computed, and keeps its picture where none comes', async () => {
    const { page } = await open(at('/insights'));
    await page.clock.install();
    let asked = 0;
    let isBroken = false;
    await page.route('**/query/', async (route) => {
      if (isBroken) return route.abort();
      asked += 1;
      const last_refresh = new Date(Date.now() - 3 * HOUR_MS).toISOString();
      return route.fulfill({ json: { results: [[asked]], columns: ['n'], hasMore: false, last_refresh } });
    });
    const kept = { name: 'In HogQL', query: { kind: 'HogQLQuery', query: 'SELECT 1' } };
    const { id: hogql } = await made('/insights/', kept);
    await show(page, at(`/insights/${String(hogql)}`));
    const cell = (text: string) => page.getByRole('cell', { name: text, exact: true });
    await expectSeen(cell('1'));
    await expectSeen(page.getByText('Computed 3 hours ago'));
    await page.clock.fastForward(MINUTE_MS);
    await expectSeen(cell('2'));
    await button(page, 'Ask again').click();
    await expectSeen(cell('3'));
    isBroken = true;
    await page.clock.fastForward(MINUTE_MS);
    await expectSeen(page.getByText('This may be old'));
    await expectSeen(cell('3'));
  });

  test('asks again by the keyboard, whose place it keeps, and is quiet when it asks by itself', async () => {
    const { id } = await made('/insights/', { name: 'By keys', query: { kind: 'HogQLQuery', query: 'SELECT 1' } });
    const { page } = await open(at('/insights'));
    await page.clock.install();
    await show(page, at(`/insights/${String(id)}`));
    const again = button(page, 'Ask again');
    await again.focus();
    let asked = 0;
    const release = await heldBack(page, '**/query/', () => {
      asked += 1;
      return true;
    });
    await page.clock.fastForward(MINUTE_MS);
    const focused = (also: string) => expectSeen(again.and(page.locator(`:focus${also}`)));
    await expectSeen(page.locator('[aria-busy=true]').filter({ has: again }));
    await focused(':not([data-loading])[aria-busy=false]');
    await again.press('Enter');
    await focused('[aria-busy=true]');
    await again.press('Enter');
    await expectSeen(page.getByText('Asking…'));
    release();
    await focused('[aria-busy=false]');
    await expectGone(page.getByText('Asking…'));
    expect(asked).toBe(2);
  });

  test('keeps what is written while it is being saved', async () => {
    const insight = await trend('Slowly');
    const path = `/insights/${insight.id}`;
    const { page } = await open(at(path));
    const event = page.getByRole('combobox', { name: 'Event 1' });
    const name = page.getByRole('textbox', { name: 'Name' });
    await event.fill('first');
    await name.fill('First');
    const release = await heldBack(page, `**${api(path)}/`, (one) => one.method() === 'PATCH');
    await whileWritten(page, async () => {
      await button(page, 'Save').click();
      await event.fill('second');
      await name.fill('Second');
      release();
    });
    await expectSeen(page.getByRole('heading', { name: 'First' }));
    expect(await event.inputValue()).toBe('second');
    expect(await name.inputValue()).toBe('Second');
    await whileWritten(page, () => button(page, 'Save').click());
    expect(await read(path)).toMatchObject({
      name: 'Second',
      query: { source: { series: [{ event: 'second' }] } },
    });
  });

  test('leaves the tiles on other dashboards that somebody has placed since it was opened', async () => {
    const [first, second, third] = [
      await made('/dashboards/', { name: 'Firstly' }),
      await made('/dashboards/', { name: 'Secondly' }),
      await made('/dashboards/', { name: 'Thirdly' }),
    ].map(({ id }) => id as number);
    const { id } = await made('/insights/', {
      name: 'On some',
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'paid' }] },
      dashboards: [first],
    });
    const { page } = await open(at(`/insights/${String(id)}`));
    const layouts = { sm: { x: 6, y: 2, w: 4, h: 3 } };
    await service().call('PATCH', api(`/dashboards/${third}/`), { tiles: [{ insight: id, layouts }] });
    const boards = page.getByRole('combobox', { name: 'On dashboards' });
    await boards.fill('Secondly');
    await expectSeen(page.getByRole('option', { name: 'Secondly' }));
    // What was there before the search was answered moves with the list, which is hidden when the page is scrolled after it.
    await expectGone(page.getByRole('option', { name: 'Thirdly' }));
    await boards.press('ArrowDown');
    await boards.press('Enter');
    // The list would lie over the button.
    await boards.press('Escape');
    await whileWritten(page, () => button(page, 'Save').click());
    const path = api(`/insights/${String(id)}/`);
    expect((await service().call('GET', path)).body['dashboards']).toEqual([first, second, third]);
    expect(await read(`/dashboards/${third}`)).toMatchObject({
      tiles: [{ insight: { id }, layouts }],
    });
    await expectSeen(page.getByRole('main').getByText('Thirdly', { exact: true }));
    await page.reload();
    await expectSeen(page.getByRole('main').getByText('Thirdly', { exact: true }));
    await boards.press('Backspace');
    await boards.press('Escape');
    await whileWritten(page, () => button(page, 'Save').click());
    expect((await service().call('GET', path)).body['dashboards']).toEqual([first, second]);
  });

  test('shows the HogQL of somebody else where only the name is written over theirs', async () => {
    const insight = await made('/insights/', { name: 'Rows', query: { kind: 'HogQLQuery', query: 'SELECT 1' } });
    const path = `/insights/${insight.id}`;
    const { page } = await open(at(path));
    const editor = page.getByRole('textbox', { name: 'HogQL query' });
    await expectSeen(editor);
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    const query = { kind: 'HogQLQuery', query: 'SELECT 2' };
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs', query });
    await button(page, 'Save').click();
    await button(page.getByRole('dialog', { name: 'Somebody else has changed it' }), 'Write mine').click();
    await expectSeen(page.getByRole('heading', { name: 'Mine' }));
    await expectSeen(editor.getByText('SELECT 2'));
    expect(await editor.textContent()).toBe('SELECT 2');
  });

  test('keeps a query of somebody else that the form cannot show where only the name is written over theirs', async () => {
    const source = {
      kind: 'TrendsQuery',
      dateRange: { date_from: '-7d' },
      series: [{ kind: 'EventsNode', event: null, name: 'All events', math: 'total' }],
      interval: 'day',
      trendsFilter: { display: 'ActionsLineGraph' },
    };
    const insight = await made('/insights/', { name: 'All', query: { kind: 'InsightVizNode', source } });
    const path = `/insights/${insight.id}`;
    const { page } = await open(at(path));
    await expectSeen(page.getByRole('combobox', { name: 'Event 1' }));
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine');
    const query = { ...source, trendsFilter: { formulas: ['A', 'A * 2'] } };
    await service().call('PATCH', `${api(path)}/`, { name: 'Theirs', query });
    await button(page, 'Save').click();
    await button(page.getByRole('dialog', { name: 'Somebody else has changed it' }), 'Write mine').click();
    await expectSeen(page.getByText('The form cannot show this query'));
    await page.getByRole('textbox', { name: 'Name' }).fill('Mine again');
    await whileWritten(page, () => button(page, 'Save').click());
    const body = await read(path);
    expect(body).toMatchObject({ name: 'Mine again', query });
  });

  test('asks before something is left that was written and not saved', async () => {
    const { page } = await open(at('/insights'));
    await page.getByRole('link', { name: 'New insight' }).click();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('Half of it');
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await page.goBack();
    await button(leave, 'Stay here').click();
    await expectGone(leave);
    expect(await name.inputValue()).toBe('Half of it');
    await page.getByRole('link', { name: 'Events' }).click();
    await button(leave, 'Leave').click();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
  });

  test('asks nobody who leaves what is as it was again', async () => {
    const { id } = await trend('Same');
    const { page } = await open(at(`/insights/${String(id)}`));
    const compare = page.getByRole('switch', { name: 'Compare with the period before' });
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await compare.check();
    await page.getByRole('link', { name: 'Events' }).click();
    await button(leave, 'Stay here').click();
    await compare.uncheck();
    await page.getByRole('link', { name: 'Events' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
  });

  test('a new insight is for no dashboard where the address names none', async () => {
    const { page } = await open(`${at('/insights/new')}?dashboard=abc`);
    await page.getByRole('textbox', { name: 'Name' }).fill('On none');
    await button(page, 'Save').click();
    await expectSeen(page.getByRole('heading', { name: 'On none' }));
  });

  test('says which weeks a retention without dates is about, until dates are chosen', async () => {
    const retentionFilter = { period: 'Week', totalIntervals: 11 };
    const { id } = await made('/insights/', { name: 'Weeks', query: { kind: 'RetentionQuery', retentionFilter } });
    const { page, complaints } = await open(at(`/insights/${String(id)}`));
    const when = page.getByRole('combobox', { name: 'When' });
    await expectSeen(when);
    expect(await when.inputValue()).toBe('the last 11 weeks');
    await when.click();
    await page.getByRole('option', { name: 'the last 7 days' }).click();
    await whileWritten(page, () => button(page, 'Save').click());
    const body = await read(`/insights/${String(id)}`);
    expect(body['query']).toMatchObject({ source: { dateRange: { date_from: '-7d' }, retentionFilter } });
    expect(complaints).toEqual([]);
  });

  test('keeps a new insight by Enter in its name, and leads back to where it was begun', async () => {
    const { page } = await open(at('/insights'));
    await page.getByRole('link', { name: 'New insight' }).click();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('By Enter');
    await name.press('Enter');
    await expectSeen(page.getByRole('heading', { name: 'By Enter', level: 1 }));
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Insights', level: 1 }));
  });

  test('asks also where somebody has come by a pasted address, and before another one is followed', async () => {
    const { page } = await open(at('/insights'));
    const paste = (path: string) => show(page, at(path));
    await page.getByRole('link', { name: 'Events' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
    await paste('/insights/new');
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('Half of it');
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    const stay = async (): Promise<void> => {
      await button(leave, 'Stay here').click();
      await expectGone(leave);
      expect(await name.inputValue()).toBe('Half of it');
      await page.waitForURL('**/insights/new');
    };
    await page.goBack();
    await stay();
    await page.evaluate('history.go(-2)');
    await stay();
    await paste('/persons');
    await stay();
    await paste('/persons');
    await button(leave, 'Leave').click();
    await expectSeen(page.getByRole('heading', { name: 'Persons', level: 1 }));
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'New insight', level: 1 }));
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
  });

  test('asks also on a pasted page that was loaded again, and leaves it the address of who stays', async () => {
    const path = at(`/insights/${(await trend('Reloaded')).id}`);
    const { page } = await open(at('/events'));
    const paste = (pasted: string) => page.goto(`${service().address}/#${pasted}`);
    await paste(at('/persons'));
    await expectSeen(page.getByRole('heading', { name: 'Persons', level: 1 }));
    await paste(path);
    await expectSeen(page.getByRole('heading', { name: 'Reloaded', level: 1 }));
    await page.reload();
    const name = page.getByRole('textbox', { name: 'Name' });
    await name.fill('Half of it');
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    for (const _ of ['once', 'twice']) {
      await page.goBack();
      await button(leave, 'Stay here').click();
      await expectGone(leave);
      expect(await name.inputValue()).toBe('Half of it');
      await page.waitForURL(`**${path}`);
    }
    await page.goBack();
    await button(leave, 'Leave').click();
    await expectSeen(page.getByRole('heading', { name: 'Persons', level: 1 }));
  });

  test('asks once about a page and a dialog on it, and leads who stays back to where they wrote', async () => {
    const { id } = await trend('Twice written');
    const { page } = await open(at('/insights'));
    await show(page, at(`/insights/${String(id)}`));
    await page.getByRole('textbox', { name: 'Name' }).fill('Half of it');
    await button(page, 'Other days').click();
    const from = page.getByRole('dialog', { name: 'Other days' }).getByLabel('From');
    await from.fill('2015-05-17');
    const leave = page.getByRole('dialog', { name: 'Leave without saving?' });
    await from.press('Escape');
    await button(leave, 'Stay here').press('Enter');
    await expectGone(leave);
    await expectSeen(from.and(page.locator(':focus')));
    await page.goBack();
    await button(leave, 'Leave').press('Enter');
    await expectSeen(page.getByRole('heading', { name: 'Insights', level: 1 }));
  });

  test('shows an insight as it is now, though it was read before', async () => {
    const path = `/insights/${(await trend('Seen')).id}`;
    const { page } = await open(at(path));
    await expectSeen(page.getByRole('heading', { name: 'Seen' }));
    await page.getByRole('link', { name: 'Dashboards' }).click();
    await expectSeen(page.getByRole('heading', { name: 'Dashboards' }));
    await service().call('PATCH', `${api(path)}/`, { name: 'Seen anew' });
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Seen anew' }));
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('Seen anew');
  });

  test('finds an insight, deletes it, brings it back from the list or where it is told, on its dashboard too', async () => {
    for (const name of ['Money in', 'Money out', 'People']) await trend(name);
    const { page } = await open(at('/insights?page=9'));
    await button(page, 'Show the first page').click();
    await page.getByRole('textbox', { name: 'Search' }).fill('money');
    await expectGone(row(page, 'Insights', 'People'));
    await page.reload();
    await row(page, 'Insights', 'Money in').getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: 'Money in' }));
    const board = await made('/dashboards/', {
      name: 'Money',
      tiles: [{ insight: Number(page.url().split('/').at(-1)) }],
    });
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectSeen(page.getByText('Money in is deleted.'));
    await expectSeen(row(page, 'Insights', 'Money out'));
    await expectGone(row(page, 'Insights', 'Money in'));
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await button(row(page, 'Insights', 'Money in'), 'Restore').click();
    await expectSeen(page.getByText('No insight matches.'));
    await page.getByRole('switch', { name: 'Deleted' }).press('Space');
    await row(page, 'Insights', 'Money in').getByRole('link').click();
    await expectSeen(page.getByRole('heading', { name: 'Money in' }));
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectGone(row(page, 'Insights', 'Money in'));
    const undo = (text: string) =>
      button(page.getByRole('alert').filter({ hasText: text }), 'Undo')
        .last()
        .click();
    await undo('Money in is deleted.');
    await expectSeen(row(page, 'Insights', 'Money in'));
    await show(page, at(`/dashboards/${board.id}`));
    await expectSeen(page.getByRole('region', { name: 'Money in' }));
    await button(page, 'Delete').click();
    await button(page.getByRole('dialog'), 'Delete').click();
    await expectSeen(page.getByText('Money is deleted.'));
    await expectGone(row(page, 'Dashboards', 'Money'));
    await undo('Money is deleted.');
    await expectSeen(row(page, 'Dashboards', 'Money'));
  });

  test('says of an alert that it tells nobody, and takes no bounds between which nothing is', async () => {
    const { id } = await trend('Watched');
    const { page, complaints } = await open(at(`/alerts?insight=${String(id)}`));
    await button(page, 'New alert').click();
    const dialog = page.getByRole('dialog');
    const nobody = dialog.getByText('Nobody is told: choose a member or a webhook.');
    await expectSeen(nobody);
    await page.getByRole('textbox', { name: 'Webhook', exact: true }).fill('https://hooks.example.com/');
    await expectGone(nobody);
    await page.getByRole('spinbutton', { name: 'Tells when it is below' }).fill('5');
    await page.getByRole('spinbutton', { name: 'Tells when it is above' }).fill('4');
    await expectSeen(dialog.getByText('It is above the other: no number would be between them.'));
    expect(await button(dialog, 'Make the alert').isDisabled()).toBe(true);
    expect(await obstacles(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('watches the number of an insight: an alert is made, looks at once, is changed, disabled and deleted', async () => {
    const insight = await made('/insights/', {
      name: HOSTILE,
      query: { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'never' }] },
    });
    const { page, complaints } = await open(at(`/insights/${insight.id}`));
    await page.getByRole('main').getByRole('link', { name: 'Alerts' }).click();
    await expectSeen(page.getByRole('heading', { name: `Alerts of ${HOSTILE}` }));
    await expectSeen(page.getByText('No alerts yet.'));
    await button(page, 'New alert').click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
    await button(dialog, 'Make the alert').click();
    await expectSeen(dialog.getByText('Set lower or upper, or both.'));
    await page.getByRole('spinbutton', { name: 'Tells when it is below' }).fill('12500');
    await page.getByRole('textbox', { name: 'Webhook', exact: true }).fill('ftp://hooks.example.com/');
    await button(dialog, 'Make the alert').click();
    await expectSeen(dialog.getByText(/notify_url|https/));
    expect(await obstacles(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Webhook', exact: true }).fill('');
    await button(dialog, 'Make the alert').click();
    await expectSeen(page.getByRole('heading', { name: HOSTILE }));
    await expectSeen(row(page, 'Checks', 'Firing'));
    await expectSeen(row(page, 'Alert', 'The number is below 12,500'));

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
    await button(page, 'End the snooze').click();
    await expectSeen(row(page, 'Alert', 'Not firing'));
    await button(page, 'Disable').click();
    await expectSeen(row(page, 'Alert', 'Disabled'));
    await page.getByRole('link', { name: 'Alerts' }).click();
    await expectSeen(row(page, 'Alerts', 'Disabled').getByRole('link', { name: HOSTILE }));
    await row(page, 'Alerts', 'Disabled').getByRole('link', { name: 'Mine' }).click();
    await button(page, 'Enable').click();
    await expectSeen(row(page, 'Alert', 'Not firing'));
    await page.route('**/alerts/**', (route) => route.abort());
    await expectSeen(page.getByText('This may be old: it could not be read again.'));
    await page.unroute('**/alerts/**');
    const gone = page.url();
    await button(page, 'Delete').click();
    await button(dialog, 'Delete').click();
    await expectSeen(page.getByText('No alerts yet.'));
    await page.goBack();
    expect(page.url()).not.toBe(gone);
    expect(await page.title()).not.toBe('taken');
    // The browser itself complains of what was refused.
    expect(complaints.filter((one) => !/40\d|412|ERR_FAILED/.test(one))).toEqual([]);
  });

  test('says in percent what an alert in percent has found', async () => {
    const DAY_MS = 86_400_000;
    for (const days of [1, 1, 1, 2, 2]) {
      const timestamp = new Date(Date.now() - days * DAY_MS).toISOString();
      await service().send({ event: 'grown', distinct_id: 'ada', timestamp, properties: { share: 0.0002 } });
    }
    const { page } = await open(at('/events'));
    await expectSeen(row(page, 'Events', 'grown').nth(4));
    const query = { kind: 'TrendsQuery', series: [{ kind: 'EventsNode', event: 'grown' }] };
    const alert = await made('/alerts/', {
      insight: (await made('/insights/', { name: 'Grown', query })).id,
      name: 'Grows',
      subscribed_users: [],
      condition: { type: 'relative_increase' },
      threshold: { configuration: { type: 'percentage', bounds: { upper: 0.2 } } },
    });
    await show(page, at(`/alerts/${alert.id}`));
    await expectSeen(row(page, 'Alert', 'Its increase is above 20 percent'));
    await expectSeen(row(page, 'Checks', 'Firing').getByText('50 percent', { exact: true }));
    await expectSeen(row(page, 'Alert', 'Number').getByText('50 percent', { exact: true }));
    await show(page, at('/alerts'));
    await expectSeen(row(page, 'Alerts', 'Grows').getByText('50 percent', { exact: true }));

    // What is found between small bounds is no zero.
    const sum = { ...query, series: [{ ...query.series[0], math: 'sum', math_property: 'share' }] };
    await made('/alerts/', {
      insight: (await made('/insights/', { name: 'Shares', query: sum })).id,
      name: 'Small',
      subscribed_users: [],
      threshold: { configuration: { type: 'absolute', bounds: { upper: 0.0003 } } },
    });
    await page.reload();
    await expectSeen(row(page, 'Alerts', 'Small').getByText('0.0006', { exact: true }));
  });

  test('sends the numbers of a dashboard: a subscription is made, changed, disabled and deleted', async () => {
    const insight = await trend('Sent alone');
    const board = await made('/dashboards/', {
      name: HOSTILE,
      tiles: [{ insight: insight.id }],
    });
    const { page, complaints } = await open(at(`/dashboards/${board.id}`));
    await page.getByRole('main').getByRole('link', { name: 'Subscriptions' }).click();
    await expectSeen(page.getByRole('heading', { name: `Subscriptions of ${HOSTILE}` }));
    await expectSeen(page.getByText('No subscriptions yet.'));
    await button(page, 'New subscription').click();
    const dialog = page.getByRole('dialog');
    const choose = async (name: string, option: string): Promise<void> => {
      await dialog.getByRole('combobox', { name }).click();
      await page.getByRole('option', { name: option, exact: true }).click();
    };
    await expectSeen(dialog.getByText('Left empty: nothing is signed.'));
    await choose('Sent to', 'e-mail');
    await page.getByRole('textbox', { name: 'E-mail addresses' }).fill('ada@example.com');
    await button(dialog, 'Make the subscription').click();
    await expectSeen(dialog.getByText('This service sends no mail'));
    await choose('Sent to', 'Slack');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://hooks.slack.com/services/T0/B0/secret');
    await choose('Unit', 'months');
    await choose('Which of them', 'the last');
    await page.getByRole('checkbox', { name: 'Friday' }).check();
    // A slip beside the dialog costs nothing.
    await page.mouse.click(1, 1);
    await page.getByLabel('From').fill('2030-01-01T08:30');
    await dialog.getByRole('combobox', { name: 'Insights' }).press('ArrowDown');
    await page.getByRole('option', { name: 'Sent alone' }).click();
    await dialog.getByRole('combobox', { name: 'Insights' }).press('Tab');
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Make the subscription').click();
    await expectSeen(row(page, 'Subscription', 'sent every month on the last Monday and Friday'));
    await expectSeen(row(page, 'Subscription', 'https://hooks.slack.com/…'));
    const path = api(`/subscriptions/${page.url().split('/').at(-1) ?? ''}/`);
    expect((await service().call('GET', path)).body).toMatchObject({
      target_type: 'slack',
      bysetpos: -1,
      start_date: '2030-01-01T08:30:00Z',
      dashboard_export_insights: [insight.id],
    });

    await button(page, 'Edit').click();
    await expectSeen(dialog.getByText('Left empty: it stays.'));
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

  test('tells times of a subscription by the clock of the project, which says what a Monday is', async () => {
    const insight = await trend('Mondays');
    const { page } = await open(at(`/subscriptions?insight=${insight.id}`), {
      timezoneId: 'Pacific/Auckland',
    });
    await button(page, 'New subscription').click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('textbox', { name: 'Address' }).fill('https://hooks.example.com/reports');
    const from = page.getByLabel('From (UTC)');
    expect(await from.inputValue()).toMatch(/T09:00$/);
    await from.fill('2030-01-07T09:00');
    await page.getByLabel('Until (UTC)').fill('2030-03-04T09:00');
    await button(dialog, 'Make the subscription').click();
    await button(page, 'Edit').click();
    expect(await from.inputValue()).toBe('2030-01-07T09:00');
    const { body } = await service().call('GET', `${api('/subscriptions/')}?insight=${insight.id}`);
    expect(body['results']).toMatchObject([
      { start_date: '2030-01-07T09:00:00Z', until_date: '2030-03-04T09:00:00Z', byweekday: ['monday'] },
    ]);
  });

  test('shows both versions where somebody else has switched an alert or a subscription meanwhile', async () => {
    const insight = await trend('Watched');
    const alert = await alertOn(insight);
    const path = `/alerts/${alert.id}`;
    const { page } = await open(at(path));
    const notice = page.getByRole('dialog', { name: 'Somebody else has changed it' });
    await asBefore(page, `${api(path)}/`);
    await service().call('PATCH', `${api(path)}/`, { name: 'Fewer', enabled: false });
    await button(page, 'Snooze').click();
    await button(page.getByRole('dialog'), 'Snooze').click();
    await expectSeen(notice.getByText('snoozed_until, as it is now'));
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByRole('heading', { name: 'Fewer' }));
    await expectSeen(row(page, 'Alert', 'Disabled'));
    await asBefore(page, `${api(path)}/`);
    await service().call('PATCH', `${api(path)}/`, { name: 'Fewest' });
    await button(page, 'Enable').click();
    await whileWritten(page, () => button(notice, 'Write mine').click());
    expect(await read(path)).toMatchObject({ name: 'Fewest', enabled: true });

    const subscription = await subscriptionTo(insight);
    const sent = `/subscriptions/${subscription.id}`;
    await show(page, at(sent));
    await expectSeen(page.getByRole('heading', { name: 'Weekly' }));
    await asBefore(page, `${api(sent)}/`);
    await service().call('PATCH', `${api(sent)}/`, { title: 'Monthly' });
    await button(page, 'Disable').click();
    await expectSeen(notice.getByText('enabled, as it is now'));
    await button(notice, 'Keep theirs').click();
    await expectSeen(page.getByRole('heading', { name: 'Monthly' }));
    await expectSeen(row(page, 'Subscription', 'On'));
  });

  test('changes an alert or a subscription that is being switched, and nobody else is blamed', async () => {
    const insight = await trend('Switched');
    const alert = await alertOn(insight);
    const subscription = await subscriptionTo(insight);
    const { page } = await open(at('/home'));
    for (const [path, field] of [
      [`/alerts/${alert.id}`, 'Name'],
      [`/subscriptions/${subscription.id}`, 'Title'],
    ] as const) {
      await show(page, at(path));
      const release = await heldBack(page, `**${api(path)}/`, (one) => one.postData()?.includes('enabled') ?? false);
      await button(page, 'Disable').click();
      await button(page, 'Edit').click();
      await whileWritten(page, async () => release());
      await page.getByRole('textbox', { name: field }).fill('Mine');
      await button(page.getByRole('dialog'), 'Save').click();
      await expectSeen(page.getByRole('heading', { name: 'Mine' }));
      expect(await read(path)).toMatchObject({ enabled: false });
    }
  });

  test('opens what a client of PostHog links to', async () => {
    const insight = await made('/insights/', { name: 'Linked question' });
    const board = await made('/dashboards/', { name: 'Linked board' });
    const { page } = await open(at('/home'));
    const links = [
      [`/insights/${String(insight['short_id'])}`, 'Linked question'],
      [`/dashboard/${board.id}`, 'Linked board'],
    ] as const;
    for (const [link, name] of links) {
      await page.goto(`${service().address}/project/${service().project}${link}`);
      await expectSeen(page.getByRole('heading', { name }));
    }
    const refused = await fetch(`${service().address}/project/1/replay/3`);
    expect({ status: refused.status, body: await refused.json() }).toMatchObject({ status: 404 });
  });
});
