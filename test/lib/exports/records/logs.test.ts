import * as fc from 'fast-check';
import { DAY_MS, HOUR_MS } from '../../../../lib/basics/units.ts';
import { type LogLine, type LogQuery, lineOps, readLines, writeLines } from '../../../../lib/exports/records/logs.ts';
import { testContext } from '../../../support/context.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const AT = Date.UTC(2026, 0, 1);
const line = (at: number, fields: Partial<LogLine> = {}): LogLine => ({
  at,
  level: 'INFO',
  message: `at ${at}`,
  instance: 'run',
  ...fields,
});
const everything: LogQuery = {
  after: AT - 30 * DAY_MS,
  before: AT + 30 * DAY_MS,
  levels: [],
  search: '',
  limit: 1_000,
  offset: 0,
};

test('lines come newest first, with the true count of all that match', async () => {
  const context = testContext();
  for (let n = 0; n < 40; n++) await writeLines(context, 'e', `h${n}`, 'send', [line(AT + n), line(AT + n * HOUR_MS)]);
  const { count, lines } = await readLines(context.table, 'e', { ...everything, limit: 5, offset: 2 });
  expect(count).toBe(80);
  expect(lines.map(({ at }) => at)).toEqual([37, 36, 35, 34, 33].map((n) => AT + n * HOUR_MS));
});

test('while very many lines are read others have their turn, again and again', async () => {
  const context = testContext();
  for (let n = 0; n < 2_000; n++) await writeLines(context, 'e', `h${n}`, 'send', [line(AT + n)]);
  let turns = 0;
  let isRead = false;
  const take = (): void => {
    if (isRead) return;
    turns += 1;
    setImmediate(take);
  };
  take();
  const { count, lines } = await readLines(context.table, 'e', { ...everything, limit: 2 });
  isRead = true;
  expect([count, ...lines.map(({ at }) => at - AT)]).toEqual([2_000, 1_999, 1_998]);
  expect(turns).toBeGreaterThan(15);
});

test('lines are chosen by time (exclusive), level, words in any case, and what they are about', async () => {
  const context = testContext();
  await writeLines(context, 'e', 'h', 'send', [
    line(AT),
    line(AT + 1, { level: 'ERROR', message: 'No Bucket' }),
    line(AT + 2, { level: 'WARNING', instance: 'other' }),
    line(AT + 3),
  ]);
  await writeLines(context, 'another', 'h', 'send', [line(AT + 1)]);
  const found = async (query: Partial<LogQuery>): Promise<number[]> => {
    const { count, lines } = await readLines(context.table, 'e', { ...everything, ...query });
    expect(count).toBe(lines.length);
    return lines.map(({ at }) => at - AT);
  };
  expect(await found({})).toEqual([3, 2, 1, 0]);
  expect(await found({ after: AT, before: AT + 3 })).toEqual([2, 1]);
  expect(await found({ levels: ['ERROR', 'WARNING'] })).toEqual([2, 1]);
  expect(await found({ search: 'no bUCKET' })).toEqual([1]);
  expect(await found({ search: 'o_B%t' })).toEqual([1]);
  expect(await found({ search: 'o.B' })).toEqual([]);
  expect(await found({ instanceId: 'other' })).toEqual([2]);
  expect(await found({ instanceId: '__proto__' })).toEqual([]);
});

test.each(['', 'x'])('a message that is too long is cut between characters, after %j', async (first) => {
  const context = testContext();
  await writeLines(context, 'e', 'h', 'begin', [line(AT, { message: `${first}${'😀'.repeat(3_000)}` })]);
  const [cut] = (await readLines(context.table, 'e', everything)).lines;
  expect(cut?.message).toMatch(/^x?😀+…$/u);
  expect(cut?.message.length).toBeGreaterThan(3_990);
});

test('the same step that writes again replaces its lines', async () => {
  const context = testContext();
  for (let n = 0; n < 3; n++) await writeLines(context, 'e', 'h', 'begin', [line(AT)]);
  expect((await readLines(context.table, 'e', everything)).count).toBe(1);
});

test('lines go after the days that they are kept', async () => {
  const context = testContext();
  await writeLines(context, 'e', 'h', 'send', [line(AT)]);
  context.clock.set(AT + context.settings.logDays * DAY_MS - 1000);
  expect((await readLines(context.table, 'e', everything)).count).toBe(1);
  context.clock.set(AT + context.settings.logDays * DAY_MS + 1000);
  expect((await readLines(context.table, 'e', everything)).count).toBe(0);
});

test('lines of a batch are one item; many or long ones, and ones far apart, are several of at most 100 KB', () => {
  const context = testContext();
  const batch = Array.from({ length: 96 }, (_, n) => line(AT, { instance: `run ${n}`, message: 'x'.repeat(200) }));
  expect(lineOps(context, 'e', 'h', 'begin', batch)).toHaveLength(1);
  const many = Array.from({ length: 500 }, () => line(AT, { message: '€'.repeat(10_000) }));
  const sizes = lineOps(context, 'e', 'h', 'begin', many).map((op) => Buffer.byteLength(JSON.stringify(op)));
  expect(sizes.length).toBeGreaterThan(10);
  expect(Math.max(...sizes)).toBeLessThan(102_400);
  expect(lineOps(context, 'e', 'h', 'send', [line(AT), line(AT + HOUR_MS)])).toHaveLength(2);
  expect(lineOps(context, 'e', 'h', 'send', [])).toEqual([]);
});

test('every line is found in any window that holds its instant, and in no other', async () => {
  const context = testContext();
  const minutes = fc.integer({ min: -2_000, max: 2_000 });
  let n = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(minutes, minutes), { maxLength: 12 }), minutes, minutes, async (spans, a, b) => {
      n += 1;
      const lines = spans.map((span) =>
        span.map((minute) => line(AT + minute * 60_000)).toSorted((x, y) => x.at - y.at),
      );
      for (const [i, some] of lines.entries()) await writeLines(context, `e${n}`, `h${i}`, 'send', some);
      const window = { after: AT + a * 60_000, before: AT + b * 60_000 };
      const { count, lines: found } = await readLines(context.table, `e${n}`, { ...everything, ...window });
      const expected = lines.flat().filter(({ at }) => at > window.after && at < window.before);
      expect(count).toBe(expected.length);
      expect(found.map(({ at }) => at)).toEqual(expected.map(({ at }) => at).toSorted((x, y) => y - x));
    }),
    { numRuns: propertyRuns(60) },
  );
});
