/** Events and persons in the console, as they arrive and as files bring them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { obstacles } from '../../support/browser.ts';
import {
  button,
  describeConsole,
  expectGone,
  expectSeen,
  HOSTILE,
  heldBack,
  row,
  seenAfterReloads,
} from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';

describeConsole('events in the console', ({ service, open, at, api, made, read }) => {
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
    await expectSeen(page.getByText('No event matches.'));
    expect(page.url()).toContain(`/projects/${project}/events?`);
    await page.goBack();
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Default project' }));
    await page.clock.install();
    await page.reload();
    await expectSeen(row(page, 'Events', 'paid'));
    await page.clock.fastForward('03:00:00');
    await expectSeen(row(page, 'Events', 'paid').getByText('3 hours ago'));
  });

  test('does not say that it follows who reads on in older events, and leads them back to the newest', async () => {
    let newest = 'Newer';
    const { page } = await open(at('/home'));
    await page.route('**/events/?*', (asked) => {
      const isOlder = new URL(asked.request().url()).searchParams.has('cursor');
      const event = isOlder ? 'Older' : newest;
      const one = {
        id: event,
        event,
        distinct_id: 'ada',
        timestamp: '2015-05-17T10:05:03Z',
        properties: {},
        person: null,
      };
      return asked.fulfill({ json: { next: isOlder ? null : `${service().address}/?cursor=more`, results: [one] } });
    });
    // The list of the first page has no *Follow*.
    await page.reload();
    await button(page, 'Show more').click();
    await expectSeen(row(page, 'Events', 'Older'));
    await button(page, 'Show the newest').click();
    await expectGone(row(page, 'Events', 'Older'));
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    const follow = (checked: boolean) => page.getByRole('switch', { name: 'Follow', checked });
    await expectSeen(row(page, 'Events', 'Newer'));
    await expectSeen(follow(true));
    await button(page, 'Show more').click();
    await expectSeen(row(page, 'Events', 'Older'));
    await expectSeen(follow(false));
    newest = 'Newest';
    await button(page, 'Show the newest').press('Enter');
    await expectSeen(row(page, 'Events', 'Newest'));
    // The button is gone.
    await expectSeen(follow(true).and(page.locator(':focus')));
    await expectGone(row(page, 'Events', 'Older'));
    await button(page, 'Show more').click();
    await expectSeen(row(page, 'Events', 'Older'));
    newest = 'Last';
    await follow(false).press('Space');
    await expectSeen(row(page, 'Events', 'Last'));
    await expectSeen(follow(true));
    await follow(true).press('Space');
    await expectSeen(follow(false));
  });

  test('shows the events up to an instant that is chosen, which the address keeps, and follows none meanwhile', async () => {
    for (const [event, timestamp] of [
      ['older', '2016-05-17T09:59:00Z'],
      ['newer', '2016-05-17T10:01:00Z'],
    ])
      await service().send({ event, distinct_id: 'in-2016', timestamp });
    const { page } = await open(at('/events?distinct_id=in-2016'), { timezoneId: 'Europe/Berlin' });
    const follow = (checked: boolean) => page.getByRole('switch', { name: 'Follow', checked });
    for (const event of ['older', 'newer']) await expectSeen(row(page, 'Events', event));
    await expectSeen(follow(true));
    // The year is whole with its fourth digit.
    await page.getByLabel('Up to (Europe/Berlin)').pressSequentially('05172016', { delay: 20 });
    await page.keyboard.type('1200PM');
    await expectGone(row(page, 'Events', 'newer'));
    await expectSeen(row(page, 'Events', 'older'));
    await page.waitForURL((url) => url.hash.includes(encodeURIComponent('2016-05-17T10:00:00.000Z')));
    await expectSeen(follow(false));
    await page.reload();
    await expectSeen(row(page, 'Events', 'older'));
    expect(await row(page, 'Events', 'newer').count()).toBe(0);
    expect(await page.getByLabel('Up to (Europe/Berlin)').inputValue()).toBe('2016-05-17T12:00');
    await page.getByLabel('Up to (Europe/Berlin)').fill('2016-05-17T11:59');
    await expectSeen(page.getByText('No event matches.'));
    await follow(false).press('Space');
    await expectSeen(row(page, 'Events', 'newer'));
    await expectSeen(follow(true));
    expect(await page.getByLabel('Up to (Europe/Berlin)').inputValue()).toBe('');
  });

  test('shows what a page needs that is not built: of the posthog-js that is tested here, and it sends', async () => {
    const { body } = await service().call('POST', '/api/organizations/@current/projects/', { name: 'Shop' });
    const { page } = await open(`/projects/${String(body['id'])}/home`);
    await page.getByRole('tab', { name: 'HTML' }).click();
    const snippet = await page.getByRole('tabpanel', { name: 'HTML' }).locator('pre').textContent();
    const modules = join(import.meta.dirname, '../../../node_modules');
    const { version } = JSON.parse(readFileSync(join(modules, 'posthog-js/package.json'), 'utf8')) as {
      version: string;
    };
    // A browser of tests is a robot to it.
    const code = snippet?.replace('{ api_host', '{ opt_out_useragent_filter: true, api_host');
    const shop = await page.context().newPage();
    await shop.route(`${service().address}/shop`, (asked) =>
      asked.fulfill({ contentType: 'text/html', body: `<!doctype html><title>Shop</title>${code}` }),
    );
    await shop.route(`https://cdn.jsdelivr.net/npm/posthog-js@${version}/dist/array.js`, (asked) =>
      asked.fulfill({ contentType: 'text/javascript', path: join(modules, 'posthog-js/dist/array.js') }),
    );
    await shop.goto(`${service().address}/shop`);
    await expectSeen(row(page, 'Events', 'bought'));
  });

  test('leads from an event to the page of who did it', async () => {
    await service().send({ event: 'joined', distinct_id: 'ada', properties: { $set: { email: 'ada@example.com' } } });
    await service().send({ event: 'left', distinct_id: 'nobody', properties: { $process_person_profile: false } });
    const { page, complaints } = await open(at('/events'));
    await button(page, 'left').click();
    const detail = page.getByRole('dialog', { name: 'left' });
    await expectSeen(detail.getByText('by nobody'));
    expect(await button(detail, 'nobody').count()).toBe(0);
    await page.keyboard.press('Escape');
    await button(page, 'joined').click();
    await button(page.getByRole('dialog', { name: 'joined' }), 'ada').click();
    await expectSeen(page.getByRole('heading', { name: 'ada@example.com' }));
    expect(complaints).toEqual([]);
  });

  test('deletes a person with their events when asked to, and shows nothing of them any more, also by “back”', async () => {
    const properties = { $set: { email: 'eve@example.com' } };
    await service().send({ event: 'signed up', distinct_id: 'eve', properties });
    const { page } = await open(at('/events'));
    await button(page, 'signed up').click();
    await button(page.getByRole('dialog', { name: 'signed up' }), 'eve').click();
    await expectSeen(page.getByRole('heading', { name: 'eve@example.com' }));
    const person = page.url();
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog', { name: 'Delete' });
    await dialog.getByRole('checkbox', { name: 'Their events too' }).check();
    expect(await obstacles(page)).toEqual([]);
    await button(dialog, 'Delete').click();
    await expectSeen(page.getByText('The person is deleted.'));
    await expectSeen(page.getByRole('heading', { name: 'Persons', level: 1 }));
    await page.goBack();
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
    expect(page.url()).not.toBe(person);
    await expectGone(row(page, 'Events', 'signed up'));
    await page.goto(person);
    await expectSeen(page.getByText('It is not there, was deleted, or is not for you to see.'));
    expect(await page.getByText('eve@example.com').count()).toBe(0);
  });

  test('takes dots for nobody: their page is not the project’s, which it could delete', async () => {
    const { page } = await open(at('/events'));
    await expectSeen(page.getByRole('heading', { name: 'Events' }));
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    for (const dots of ['persons/..', 'exports/%2e%2e', 'persons/.']) {
      await page.goto(`${service().address}/#${at(`/${dots}`)}`);
      await expectSeen(page.getByRole('alert').filter({ hasText: 'It is not there' }).first());
    }
    expect(asked.filter((path) => path.endsWith(`/${service().project}/`))).toEqual([]);
  });

  test('says in its fields what the list is asked for, also after “back” and by the menu', async () => {
    const { page } = await open(at('/persons?search=ada'));
    const field = page.getByRole('textbox', { name: 'Search' });
    /** Resolves when the address ends so, and the first field says that. */
    const known = async (address: string, text: string): Promise<void> => {
      await page.waitForURL((url) => url.hash.endsWith(address));
      await page.waitForFunction(`document.querySelector('main input').value === ${JSON.stringify(text)}`);
    };
    await known('/persons?search=ada', 'ada');
    await field.fill('bea');
    await known('/persons?search=bea', 'bea');
    // What is typed after a pause is no page of its own.
    await field.fill('beatrice');
    await known('/persons?search=beatrice', 'beatrice');
    await page.goBack();
    await known('/persons?search=ada', 'ada');
    await field.fill('eve');
    await known('/persons?search=eve', 'eve');
    await page.goBack();
    await known('/persons?search=ada', 'ada');
    await page.getByRole('link', { name: 'Persons' }).click();
    await known('/persons', '');
    await field.fill('bea');
    await known('/persons?search=bea', 'bea');
    await page.goto(`${service().address}/#${at('/events?event=joined')}`);
    await expectSeen(page.getByRole('heading', { name: 'Events', level: 1 }));
    await known('/events?event=joined', 'joined');
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await known('/events', '');
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

  test('imports a file that is chosen: its first records, its columns, how far it is, and what was rejected', async () => {
    const { page, complaints } = await open(at('/import'));
    await expectSeen(page.getByText('Nothing was imported here yet.'));
    await choose(page, 'nothing.csv', '');
    await expectSeen(page.getByRole('alert').filter({ hasText: 'nothing.csv is empty.' }));
    await choose(page, `${HOSTILE}.csv`, `Action,Who,When\nimported,ada,2025-12-31\n${HOSTILE},ada,never\n`);
    await expectSeen(
      page.getByText('It is a table. Choose which columns are the event, the person and the time.', { exact: true }),
    );
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByLabel('Event').selectOption('Action');
    await page.getByLabel('Person (distinct_id)').selectOption('Who');
    await expectSeen(page.getByText('It is a table. Choose which column is the time.'));
    await page.getByLabel('Time').selectOption('When');
    await expectSeen(page.getByText('It is read as CSV'));
    await expectSeen(row(page, 'First records', 'imported'));
    await expectSeen(row(page, 'First records', 'a quote within a field'));
    expect(await obstacles(page)).toEqual([]);
    await button(page, 'Import').click();
    await expectSeen(page.getByText(`The import of ${HOSTILE}.csv has begun.`));
    const done = row(page, 'Imports', 'Completed');
    await expectSeen(done.getByText('1 event added'));
    await expectSeen(done.getByText('1 record rejected'));
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Download what was rejected').click(),
    ]);
    const rejected = join(temporaryFolder(), 'rejected.csv');
    await download.saveAs(rejected);
    expect(readFileSync(rejected, 'utf8')).toBe(`Action,Who,When\n${HOSTILE},ada,never\n`);
    await choose(page, 'again.jsonl', '{"event":"imported","distinct_id":"ada","timestamp":"2025-12-31"}\n');
    await expectSeen(page.getByText('It is read as JSON lines'));
    await page.reload();
    await row(page, 'Imports', 'again.jsonl').getByRole('button', { name: 'Go on' }).click();
    await expectSeen(page.getByText('It is read as JSON lines'));
    const refused = { type: 'server_error', code: 'unavailable', detail: 'Not now.', attr: null };
    await page.route('**/imports/?*', (one) => one.fulfill({ status: 429, json: refused }), { times: 1 });
    const [again] = await Promise.all([
      page.waitForResponse((one) => one.status() === 429),
      page.getByRole('region', { name: 'Import again.jsonl' }).getByRole('button', { name: 'Cancel' }).click(),
    ]);
    await again.finished();
    await expectSeen(page.getByText('This may be old: it could not be read again.'));
    expect(await done.count()).toBe(1);
    await button(page, 'Try again').click();
    await expectSeen(row(page, 'Imports', 'Cancelled'));
    await done.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await done.waitFor({ state: 'detached' });
    await expectSeen(row(page, 'Imports', 'Cancelled'));
    await page.goto(`${service().address}/#${at('/events')}?event=imported`);
    await expectSeen(row(page, 'Events', 'imported'));
    expect(await page.title()).not.toBe('taken');
    expect(complaints.filter((one) => !one.includes('429'))).toEqual([]);
  });

  test('begins no import that could add nothing, says what is missing, and what was not read is not told as completed', async () => {
    const { page } = await open(at('/import'));
    const start = button(page, 'Import');
    const lacks = async (why: string): Promise<void> =>
      expectSeen(start.and(page.locator(`[aria-disabled=true][aria-description="${why}"]`)));
    await choose(page, 'umsatz.csv', 'Who;What;Wann;Betrag\nada;paid;2025-12-30;12\n');
    await lacks('Choose which columns are the event, the person and the time first');
    await page.getByLabel('Event').selectOption('What');
    await page.getByLabel('Person (distinct_id)').selectOption('Who');
    await lacks('Choose which column is the time first');
    await page.getByLabel('Time').selectOption('Wann');
    await expectSeen(row(page, 'First records', 'paid'));
    await expectSeen(start.and(page.locator(':not([aria-disabled])')));
    await button(page, 'Cancel').first().click();
    await choose(page, 'packed.csv', 'PK\x03\x04');
    await lacks('Nothing of it can be read');
    await button(page, 'Cancel').first().click();

    // Over the API it can be begun.
    const { id } = await made('/imports/', { name: 'packed.zip', bytes: 4 });
    const headers = { Authorization: `Bearer ${service().key}` };
    const path = `/imports/${String(id)}`;
    await fetch(`${service().address}${api(`${path}/content/?offset=0`)}`, {
      method: 'PUT',
      headers,
      body: 'PK\x03\x04',
    });
    await service().call('POST', api(`${path}/start/`), {});
    // A list in which nothing moves is not asked for again.
    await page.reload();
    await expectSeen(row(page, 'Imports', 'packed.zip').getByText('Nothing read'));
  });

  test('imports a file of whose beginning nothing is known yet', async () => {
    const { page } = await open(at('/import'));
    const good = '{"event": "late", "distinct_id": "ada", "timestamp": "2025-12-31T00:00:00Z"}\n';
    await choose(page, 'long-line.jsonl', `{"event": "${'x'.repeat(3_000_000)}"}\n${good}`);
    await button(page, 'Import').click();
    await expectSeen(row(page, 'Imports', 'long-line.jsonl').getByText('1 event added'));
  });

  test('imports the file that was chosen last, and shows it as it is to be read, in whatever order answers come', async () => {
    const { page } = await open(at('/import'));
    const isOfFirst = (one: Request): boolean => one.postData()?.includes('first.csv') === true;
    const begin = await heldBack(page, '**/imports/', isOfFirst);
    await choose(page, 'first.csv', 'Action\nleft\n');
    await choose(page, 'second.csv', 'Action,Who,When\nkept,bob,2025-12-30\n');
    await expectSeen(page.getByText('It is a table.'));
    begin();
    await expectSeen(row(page, 'Imports', 'first.csv').filter({ hasText: 'Cancelled' }));
    await expectSeen(page.getByRole('region', { name: 'Import second.csv' }));

    const isOfEvent = (one: Request): boolean => one.postData()?.includes('distinct_id') === false;
    const preview = await heldBack(page, '**/preview/', isOfEvent);
    await page.getByLabel('Event').selectOption('Action');
    const answer = page.waitForResponse(
      (one) => one.url().endsWith('/preview/') && !one.request().postData()?.includes('Who'),
    );
    await page.getByLabel('Person (distinct_id)').selectOption('Who');
    await page.getByLabel('Time').selectOption('When');
    await expectSeen(row(page, 'First records', 'kept'));
    preview();
    await (await answer).finished();
    await drawn(page);
    expect(await row(page, 'First records', 'kept').count()).toBe(1);
    await button(page, 'Import').click();
    await expectSeen(row(page, 'Imports', 'second.csv').getByText('1 event added'));
  });

  test('breaks the name of an export to which an import is to be delivered, where there is no room for it', async () => {
    const { id } = await made('/imports/', { name: 'wide.jsonl', bytes: 10 });
    const range = {
      export: id,
      name: 'Nightly '.repeat(40),
      start: '2026-01-01T00:00:00Z',
      end: '2026-01-02T00:00:00Z',
    };
    const { page } = await open(at('/import'), { viewport: { width: 1280, height: 800 } });
    const listed = await read('/imports');
    const imports = (listed['results'] as object[]).map((one) => ({ ...one, backfills: [range] }));
    await page.route('**/imports/?*', (asked) => asked.fulfill({ json: { ...listed, results: imports } }));
    await page.reload();
    const deliver = page.getByRole('button', { name: /^Deliver it to Nightly/ }).first();
    await expectSeen(deliver);
    const { width = 0 } = (await deliver.boundingBox()) ?? {};
    expect(width).toBeLessThan(700);
    const table = page.getByRole('table', { name: 'Imports' });
    expect(await table.evaluate((one) => one.scrollWidth <= (one.parentElement?.clientWidth ?? 0))).toBe(true);
  });

  test('delivers what an import has added far apart by as many backfills as that takes', async () => {
    const destination = { type: 'NoOp', config: {} };
    const { id } = await made('/batch_exports/', { name: 'Often', interval: 'every 5 minutes', destination });
    await made('/imports/', { name: 'far.jsonl', bytes: 10 });
    const hours = ['2019-05-05', '2023-05-05'].map((day) => ({
      export: id,
      name: 'Often',
      start: `${day}T10:00:00Z`,
      end: `${day}T11:00:00Z`,
    }));
    const { page } = await open(at('/import'));
    const listed = await read('/imports');
    const imports = (listed['results'] as object[]).map((one) => ({ ...one, backfills: hours }));
    await page.route('**/imports/?*', (asked) => asked.fulfill({ json: { ...listed, results: imports } }));
    await page.reload();
    await page.getByRole('button', { name: 'Deliver it to Often' }).first().click();
    await expectSeen(page.getByText('The backfills of Often have begun.'));
    const begun = await service().call('GET', api(`/batch_exports/${String(id)}/backfills/`));
    const results = begun.body['results'] as { start_at: string }[];
    expect(results.map(({ start_at }) => start_at.slice(0, 4)).toSorted()).toEqual(['2019', '2023']);
  });

  test('takes nothing of several files or a folder that are dropped, says so, and takes one file', async () => {
    const folder = temporaryFolder();
    const [one, two] = ['one.jsonl', 'two.jsonl'].map((name) => join(folder, name));
    for (const path of [one, two]) writeFileSync(String(path), '{"event": "dropped", "distinct_id": "ada"}\n');
    const { page, requests } = await open(at('/import'));
    await drop(page, [String(one), String(two)]);
    await expectSeen(page.getByText('None of the 2 files is taken: drop one at a time.'));
    await drop(page, [folder]);
    await expectSeen(page.getByText(`${basename(folder)} is a folder.`));
    await expectGone(page.getByText('None of the 2 files is taken'));
    expect(requests.filter((url) => /\/imports\/[^?]/.test(url))).toEqual([]);
    expect(await obstacles(page)).toEqual([]);
    await drop(page, [String(one)]);
    await expectSeen(page.getByRole('region', { name: 'Import one.jsonl' }));
    expect(await page.getByText('is a folder').count()).toBe(0);
    await button(page, 'Cancel').first().click();
  });

  test('goes on with a file of which a part is there, once it is chosen again', async () => {
    const record = { event: 'long', timestamp: '2025-12-31', properties: { text: 'x'.repeat(200_000) } };
    const lines = Array.from({ length: 10 }, (_, at) => `${JSON.stringify({ ...record, distinct_id: `ada${at}` })}\n`);
    const content = lines.join('');
    const { id } = await made('/imports/', { name: 'half.jsonl', bytes: content.length });
    const part = content.slice(0, 1024 * 1024);
    const kept = await fetch(`${service().address}${api(`/imports/${String(id)}/content/?offset=0`)}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${service().key}` },
      body: part,
    });
    expect(kept.status).toBe(200);
    const { page, complaints } = await open(at('/import'));
    await row(page, 'Imports', 'half.jsonl').getByRole('button', { name: 'Go on' }).click();
    await expectSeen(page.getByText('1 MB of 2 MB uploaded. Choose the file again to go on.'));
    await expectSeen(row(page, 'First records', 'ada0'));
    expect(await button(page, 'Import').isDisabled()).toBe(true);
    expect(await obstacles(page)).toEqual([]);
    await choose(page, 'half.jsonl', 'another\n', 'Choose the file again');
    await expectSeen(
      page.getByText(`It is not the file that was begun, which is half.jsonl and has ${content.length} bytes.`),
    );
    // What does not come through leaves a way to go on, too.
    const refused = { type: 'server_error', code: 'unavailable', detail: 'Not now.', attr: null };
    await page.route('**/content/?*', (one) => one.fulfill({ status: 429, json: refused }), { times: 1 });
    await choose(page, 'half.jsonl', content, 'Choose the file again');
    await expectSeen(page.getByText('Not now.'));
    const [rest] = await Promise.all([
      page.waitForRequest('**/content/?*'),
      choose(page, 'half.jsonl', content, 'Choose the file again'),
    ]);
    expect(new URL(rest.url()).searchParams.get('offset')).toBe(String(part.length));
    await button(page, 'Import').click();
    await expectSeen(row(page, 'Imports', 'half.jsonl').getByText('10 events added'));
    expect(complaints.filter((one) => !one.includes('429'))).toEqual([]);
  });
});

/** Resolves when the page shows what it knows. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');

/** Drops files and folders onto the place for them, as somebody who drags them from another window. */
async function drop(page: Page, files: readonly string[]): Promise<void> {
  const place = page.getByRole('region', { name: 'Drop a file' });
  const { x = 0, y = 0 } = (await place.boundingBox()) ?? {};
  const browser = await page.context().newCDPSession(page);
  const data = { items: [], files: [...files], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await browser.send('Input.dispatchDragEvent', { type, x: x + 10, y: y + 10, data });
}

/** Chooses a file with the button that asks for one. */
async function choose(page: Page, name: string, content: string, by = 'Choose a file'): Promise<void> {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, by).click()]);
  await chooser.setFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });
}
