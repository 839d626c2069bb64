/** Regular expressions: what passes is compiled by the engines. */
import type { DuckDBConnection } from '@duckdb/node-api';
import * as fc from 'fast-check';
import { literal, openDatabase } from '../../../lib/duckdb/database.ts';
import { checkedPattern } from '../../../lib/hogql/patterns.ts';
import { Refusal } from '../../../lib/hogql/refusal.ts';
import { onEnd } from '../../support/on-end.ts';

let duckdb: DuckDBConnection;
beforeAll(async () => {
  const database = await openDatabase({ threads: 1 });
  duckdb = await database.connect();
  onEnd(() => {
    duckdb.closeSync();
    database.closeSync();
  });
});

const runs = (pattern: string) =>
  duckdb.runAndReadAll(`SELECT regexp_matches(event, ${literal(pattern)}) FROM (VALUES ('a')) rows(event)`);

/** What is repeated: what RE2 writes out longest, and what comes close to its limits. */
const piece = fc.constantFrom(
  'a',
  '.',
  'é',
  '[^a]',
  '\\W',
  '[\\W\\D]',
  '(?i)',
  '[éßσ]',
  '[abcdefghijklmnopqrstuvwxyz0-9_.+-]',
  '[acegikmoqsuwyACEGIKMOQSUWY]',
  '[^!#%(*,.02468:<>@]',
  '^',
  '\\b',
  '|',
  'a{3}',
  '.{0,33}',
);
const times = fc.constantFrom(
  '',
  '',
  '*',
  '+?',
  '?',
  '{2}',
  '{0}',
  '{5,0}',
  '{3,}',
  '{10,31}',
  '{100}',
  '{333}',
  '{1000}',
);
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc
    .array(
      fc.tuple(
        fc.oneof(
          { maxDepth: 4 },
          piece,
          fc.tuple(piece, fc.constantFrom(30, 300)).map(([one, n]) => one.repeat(n)),
          tie('group'),
        ),
        times,
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((all) => all.flat().join('')),
  group: tie('pattern').map((inside) => `(?:${inside})`),
}));

test('a pattern that passes is compiled, whatever it repeats', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(pattern, async (source) => {
      let checked: string;
      try {
        checked = checkedPattern(source).pattern;
      } catch (error) {
        if (error instanceof Refusal) return;
        throw error;
      }
      accepted += 1;
      await runs(checked);
    }),
    { numRuns: 500 },
  );
  expect(accepted).toBeGreaterThan(50);
});

test.each([
  ['repeats beside one another', `a{1000}b{1000}(?:c|d{9}){100}`],
  ['repeats inside one another that come to a thousand', '(?:(?:a{5}b){10,20}){10}'],
  ['a loop around repeats', '(?:a{1000}b)*'],
  ['many letters of a set that follow one another', '[abcdefghijklmnopqrst]{1000}'],
  ['a set of an address, as often as repeats may', String.raw`[abcdefghijklmnopqrstuvwxyz0-9_.+\-]{1,1000}`],
  ['letters of a set that do not follow one another, nearly too often', '(?i)[^acegikmoqsuwy02468]{950}'],
  ['the longest pieces, nearly too often', `(?:${'.'.repeat(20)}){1000}`],
])('%s pass', async (_, source) => {
  await expect(runs(checkedPattern(source).pattern)).resolves.toBeDefined();
});

test.each([
  ['(?:a{100}){11}', "Regular expression '(?:a{100}){11}' repeats more than 1000 times"],
  ['(?:b|(?:a{0,33}c){31})*', 'repeats more than 1000 times'],
  ['a{1001}', 'repeats more than 1000 times'],
  ['a{2,1}', "has '{2,1}'"],
  ['a{5,0}', "has '{5,0}'"],
  ['[!#%(*,.02468:<>@acegik]{1000}', 'is longer than 20000 characters when its repeats are written out'],
  [`(?:${'.'.repeat(21)}){1000}`, 'is longer than 20000 characters when its repeats are written out'],
])('%s is refused', (source, words) => {
  expect(() => checkedPattern(source)).toThrow(words);
});
