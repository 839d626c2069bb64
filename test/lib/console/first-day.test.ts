/** The first day of somebody who has nothing but the page: from the link to a mended export, without a command and without a manual. */
import { execFile } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { describeConsole } from '../../support/console.ts';
import { temporaryFolder } from '../../support/context.ts';
import { describeOnPostgres, newDatabase } from '../../support/postgres.ts';

/** What the customer has from before: three payments of a morning. */
const HISTORY = ['10:05', '10:20', '10:40'].map((time, n) =>
  JSON.stringify({ event: 'paid', distinct_id: `person ${n}`, timestamp: `2026-01-05T${time}:00Z` }),
);

describeOnPostgres('somebody new', () => {
  describeConsole('with a browser', ({ service, open }) => {
    test('sends an event, draws and shares a chart, exports to PostgreSQL, mends what fails, and brings others in', async () => {
      const { project } = service();
      const database = await newDatabase();
      await database.sql('CREATE SCHEMA reports');

      const { page, complaints } = await open(`/projects/${project}/home`);
      const button = (name: string, place: Page | Locator = page): Locator =>
        place.getByRole('button', { name, exact: true });
      const field = (name: string): Locator => page.getByRole('textbox', { name, exact: true });
      const link = (name: string): Locator => page.getByRole('link', { name, exact: true }).first();
      const row = (table: string, text: string | RegExp, n = 0): Locator =>
        page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text }).nth(n);

      // Sends an event as the page says, and sees it arrive.
      await page.getByRole('heading', { name: 'Send your first event' }).waitFor();
      await page.getByRole('tab', { name: 'Node.js' }).click();
      const snippet = String(await page.getByRole('tabpanel', { name: 'Node.js' }).locator('pre').textContent());
      await ranAlone(snippet);
      await row('Events', 'ada').waitFor();

      // What there was before is imported.
      const history = join(temporaryFolder(), 'history.jsonl');
      writeFileSync(history, HISTORY.join('\n'));
      expect((await service().admin('import', '--project', project, history)).code).toBe(0);

      // Makes a dashboard and a chart on it, and shares it.
      await link('Dashboards').click();
      await button('New dashboard').click();
      await field('Name').fill('Money');
      await button('Create').click();
      await page.getByRole('heading', { name: 'Money' }).waitFor();
      await link('Insights').click();
      // A dashboard without tiles has a link of that name, too.
      await page.getByRole('heading', { name: 'Insights' }).waitFor();
      await link('New insight').click();
      await page.getByRole('combobox', { name: 'Event 1' }).fill('paid');
      await field('Name').fill('Payments');
      await page.getByRole('combobox', { name: 'On dashboards' }).press('ArrowDown');
      await page.getByRole('option', { name: 'Money' }).click();
      await page.keyboard.press('Escape');
      await button('Save').click();
      await page.getByRole('heading', { name: 'Payments' }).waitFor();
      await link('Dashboards').click();
      await link('Money').click();
      await page.getByRole('region', { name: 'Payments' }).locator('figure').waitFor();
      await button('Share').click();
      await page.getByRole('switch', { name: 'Anybody who has the link', disabled: false }).press('Space');
      const shared = await fetch(String(await page.getByText('/shared/').first().textContent()));
      expect(await shared.text()).toContain('Payments');
      await page.keyboard.press('Escape');

      // Makes an export, whose destination is checked first.
      await link('Exports').click();
      await link('New export').click();
      await page.getByRole('radio', { name: /^Postgres/ }).check();
      const { host, port, user, password, database: name } = database.config;
      await field('Host').fill(host);
      await field('Port').fill(String(port));
      await field('Database').fill(name);
      await field('User').fill(user);
      await page.getByLabel(/^Password/).fill(password);
      await field('Schema').fill('reports');
      await field('Name').fill('Payments for finance');
      await button('Check the destination').click();
      const checks = page.getByRole('list', { name: 'Checks' });
      await checks.getByLabel('Passed').nth(3).waitFor();
      await button('Create the export').click();
      await page.getByRole('heading', { name: 'Payments for finance' }).waitFor();

      // Delivers the past, and sees its runs.
      const backfill = async (): Promise<void> => {
        await page.getByRole('tab', { name: 'Backfills' }).click();
        await page.getByRole('textbox', { name: /^From/ }).fill('2026-01-05T00:00');
        await page.getByRole('textbox', { name: /^To/ }).fill('2026-01-06T00:00');
        await button('Estimate').click();
        await page.getByText(/24 intervals with 3 rows/).waitFor();
        await button('Begin the backfill').click();
      };
      await backfill();
      await row('Backfills', 'Completed').waitFor();
      await page.getByRole('tab', { name: 'Runs' }).click();
      await row('Runs', '2026, 10:00').getByText('Completed').waitFor();
      const delivered = (schema: string) => database.sql(`SELECT count(*) AS n FROM ${schema}.events`);
      expect(await delivered('reports')).toEqual([{ n: '3' }]);

      // Somebody moves the table; the runs fail, and say why.
      await database.sql('ALTER SCHEMA reports RENAME TO finance');
      await backfill();
      await row('Backfills', 'Failed').waitFor();
      await page.getByRole('tab', { name: 'Runs' }).click();
      const failed = row('Runs', 'Failed');
      await failed.getByText('reports').waitFor();
      await failed.getByRole('link', { name: 'Log' }).click();
      await page.getByRole('log').getByText('ERROR').first().waitFor();

      // Mends the export without its password, and runs again what failed.
      await page.getByRole('tab', { name: 'Settings' }).click();
      await field('Schema').fill('finance');
      await button('Check the destination').click();
      await checks.getByLabel('Passed').nth(3).waitFor();
      await button('Save').click();
      await page.getByText('Payments for finance is changed.').waitFor();
      await database.sql('TRUNCATE finance.events');
      await page.getByRole('tab', { name: 'Runs' }).click();
      await button('Retry', failed).click();
      await page.getByText('The interval runs again.').waitFor();
      await page.getByRole('tab', { name: 'Backfills' }).click();
      await row('Backfills', 'Completed', 1).waitFor();
      expect(Number((await delivered('finance'))[0]?.['n'])).toBeGreaterThan(0);

      // Brings others in, and makes a key for a script.
      await link('People').click();
      await field('Email').fill('bea@example.com');
      await button('Invite').click();
      await page.getByText('/#/invites/').first().waitFor();
      await link('Keys').click();
      await button('New key').click();
      await field('Label').fill('Script');
      await page.getByRole('checkbox', { name: 'batch_export:read' }).check();
      await button('Make the key').click();
      await page.getByText(/^phx_\w{20,}$/).waitFor();

      expect(complaints).toEqual([]);
      await database.close();
    });
  });
});

/** Runs a program as somebody who has copied it into an empty folder and installed its package. */
async function ranAlone(program: string): Promise<void> {
  const folder = temporaryFolder();
  symlinkSync(join(import.meta.dirname, '../../../node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'send.mjs'), program);
  await promisify(execFile)(process.execPath, ['send.mjs'], { cwd: folder });
}
