/** The commands of docs/insights.md are run, over the events that stand there, and give the answers that stand there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testContext } from '../../support/context.ts';
import { importRecords } from '../../support/imports.ts';
import { testService } from '../../support/service.ts';

const text = readFileSync(join(import.meta.dirname, '../../../docs/insights.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', body = '']) => ({
  language,
  body,
}));

/** Each command with a body, and the JSON that follows it. */
const commands = blocks.flatMap(({ language, body }, at) => {
  const sent = language === 'sh' ? /(\/api\/\S+)[\s\S]* -d '([\s\S]*)'\s*$/.exec(body) : null;
  const answer = blocks[at + 1];
  if (sent === null || answer?.language !== 'json') return [];
  const query = JSON.parse(sent[2] ?? '') as { query: { kind: string; query?: string } };
  const name = `${query.query.kind}, command ${at}`;
  return [{ name, path: sent[1] ?? '', sent: query, answer: JSON.parse(answer.body) as object }];
});

const context = testContext();
const service = testService(context);

beforeAll(async () => {
  const events = blocks.filter(({ language }) => language === 'jsonl').map(({ body }) => body.trim().split('\n'));
  await importRecords(context, (await service).project.id, events.flat());
});

test('there are commands', () => {
  expect(commands.length).toBeGreaterThan(1);
});

test.each(commands)('$name answers what stands there', async ({ path, sent, answer }) => {
  const { status, body } = await (await service).call('POST', path, { body: sent });
  expect({ status, body }).toMatchObject({ status: 200, body: answer });
});
