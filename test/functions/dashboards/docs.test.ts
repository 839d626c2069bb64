/** The commands of docs/dashboards.md are run, over the events that stand there, and answer what stands there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { testService } from '../../support/service.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/dashboards.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', body = '']) => ({
  language,
  body,
}));

test('from nothing to a shared chart', async () => {
  const context = testContext();
  const service = await testService(context);
  const events = blocks.filter(({ language }) => language === 'jsonl').flatMap(({ body }) => body.trim().split('\n'));
  await importRecords(context, service.project.id, events);
  for (const [at, { language, body }] of blocks.entries()) {
    const [, path = ''] = /127\.0\.0\.1:8010(\/api\/[^\s']+)/.exec(body) ?? [];
    const [, method = 'GET'] = /-X (\w+)/.exec(body) ?? [];
    const [, sent] = / -d '([\s\S]*)'\s*$/.exec(body) ?? [];
    const expected = blocks[at + 1];
    if (language !== 'sh' || expected?.language !== 'json') continue;
    const reply = await service.call(method, path, sent === undefined ? {} : { body: JSON.parse(sent) as unknown });
    expect(reply.body).toMatchObject(JSON.parse(expected.body) as object);
  }
  const { body } = await service.call('GET', '/api/projects/1/dashboards/1/sharing/');
  const page = await service.call('GET', `/shared/${String(body?.['access_token'])}`, { key: null });
  expect(page.text).toContain('Bar chart of $pageview, 5-Jan-2026 to 6-Jan-2026; from 1 to 2.');
});
