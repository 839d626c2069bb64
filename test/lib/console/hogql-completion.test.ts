/** What the editor of HogQL offers at the end of what is typed. */
import { CompletionContext } from '@codemirror/autocomplete';
import { EditorState } from '@codemirror/state';
import { HOGQL, hogqlCompletions } from '../../../lib/console/parts/insights/hogql-completion.ts';
import { AGGREGATE_NAMES } from '../../../lib/hogql/aggregates.ts';
import { FUNCTION_NAMES } from '../../../lib/hogql/functions.ts';

const SOURCES = hogqlCompletions([...FUNCTION_NAMES, ...AGGREGATE_NAMES]);

/** Returns the names that are offered at the end of a text, of which those are left that begin as its last word does. */
async function offered(text: string, isAskedFor = false): Promise<string[]> {
  const state = EditorState.create({ doc: text, extensions: HOGQL.extension });
  const context = new CompletionContext(state, text.length, isAskedFor);
  const results = await Promise.all(SOURCES.map((source) => source(context)));
  const start = (/\w*$/.exec(text)?.[0] ?? '').toLowerCase();
  return results
    .flatMap((result) => result?.options ?? [])
    .toSorted((one, other) => (other.boost ?? 0) - (one.boost ?? 0))
    .map(({ label }) => label)
    .filter((label) => label.toLowerCase().startsWith(start));
}

test.each([
  ['SELECT ev', 'event'],
  ['SELECT count() FROM events ORDER BY tim', 'timestamp'],
  ['SELECT event FROM events WHERE dist', 'distinct_id'],
  ['SELECT person.prop', 'properties'],
  ['SELECT 1 FROM events AS e WHERE e.tim', 'timestamp'],
  ['SELECT 1 FROM sessions AS s WHERE s.sess', 'session_id'],
])('%s is completed by a column first, as %s', async (text, first) => {
  expect((await offered(text))[0]).toBe(first);
});

test.each([
  ['SELECT arrayStr', 'arrayStringConcat'],
  ['SELECT event FROM ev', 'events'],
  ['SELECT event FROM events gro', 'GROUP'],
])('%s is completed by %s', async (text, name) => {
  expect(await offered(text)).toContain(name);
});

test.each([
  ['SELECT event FROM events whe', 'WHERE'],
  ['SELECT event FROM events e whe', 'WHERE'],
  ["SELECT event FROM events WHERE event = 'a' gro", 'GROUP'],
  ['SELECT event FROM events ord', 'ORDER'],
  ['SELECT event FROM events li', 'LIMIT'],
  ['SELECT gro', 'groupArray'],
])('%s is completed first by %s', async (text, first) => {
  expect((await offered(text))[0]).toBe(first);
});

test.each(['SELECT event FROM events whe', 'SELECT event FROM events e', 'SELECT event FROM even'])(
  'the word that is being typed is no completion of itself: %s',
  async (text) => {
    expect(await offered(text, true)).not.toContain(/\w*$/.exec(text)?.[0]);
  },
);

test.each([
  ['a column', 'SELECT event FROM events GROUP BY event'],
  ['a column that a keyword of SQL is called', 'SELECT event FROM events ORDER BY timestamp'],
  ['a table', 'SELECT 1 FROM events'],
  ['a function', 'SELECT count'],
  ['a function in another letter case', 'SELECT COUNT'],
  ['a keyword', 'SELECT event from'],
  ['a name of the query', 'SELECT count() AS times FROM events ORDER BY times'],
  ['a new name', 'SELECT count() AS tim'],
  ['a property', 'SELECT properties.$br'],
  ['a property without a sign', 'SELECT properties.tim'],
  ['a text', "SELECT event FROM events WHERE event = 'ev"],
  ['a comment', 'SELECT 1 -- ev'],
])('%s is left as it is typed: %s', async (_what, text) => {
  expect(await offered(text)).toEqual([]);
});

test('no word is offered that only other dialects have', async () => {
  expect(await offered('SELECT br', true)).toEqual([]);
});

test('more of a whole word is offered to who asks for it', async () => {
  expect(await offered('SELECT event', true)).toContain('events');
});

test('what was offered ends with the letter that makes a word whole', async () => {
  const state = EditorState.create({ doc: 'SELECT even', extensions: HOGQL.extension });
  const results = await Promise.all(SOURCES.map((source) => source(new CompletionContext(state, 11, false))));
  const found = results.filter((result) => result !== null);
  expect(found.length).toBeGreaterThan(0);
  const typed = EditorState.create({ doc: 'SELECT event', extensions: HOGQL.extension });
  for (const { validFor } of found)
    expect(typeof validFor === 'function' && validFor('event', 7, 12, typed)).toBe(false);
});

test('a busy computer, on which the editor has read only the beginning of the query, is offered the same', async () => {
  const text = "SELECT e. FROM events AS e WHERE event = 'a' -- of today";
  const offeredAt = async (at: number): Promise<string[]> => {
    const state = EditorState.create({ doc: text, extensions: HOGQL.extension });
    const context = new CompletionContext(state, at, false);
    const results = await Promise.all(SOURCES.map((source) => source(context)));
    return results.flatMap((result) => result?.options ?? []).map(({ label }) => label);
  };
  const places = ['SELECT e.'.length, text.indexOf("a'") + 1, text.length];
  const expected = await Promise.all(places.map(offeredAt));
  let now = 0;
  // Each look at the clock is a minute later, so that the editor ends what it reads at once.
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => (now += 60_000));
  const busy = await Promise.all(places.map(offeredAt)).finally(() => clock.mockRestore());
  expect(busy).toEqual(expected);
  expect(expected[0]).toContain('distinct_id');
  expect(expected.slice(1)).toEqual([[], []]);
});
