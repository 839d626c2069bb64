/** What the editor of HogQL completes while somebody types. */
import {
  type Completion,
  CompletionContext,
  type CompletionResult,
  type CompletionSource,
  completeFromList,
  ifNotIn,
  snippetCompletion,
} from '@codemirror/autocomplete';
import { keywordCompletionSource, SQLDialect, type SQLNamespace, schemaCompletionSource } from '@codemirror/lang-sql';
import { ensureSyntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';

/** Words that are neither names nor functions. */
const KEYWORDS =
  'all and as asc between by case cast cross current desc distinct else end following from group having ilike in inner ' +
  'interval is join left like limit not null offset on or order over partition preceding range row rows select then ' +
  'unbounded union when where window with second minute hour day week month quarter year';

/** HogQL, as PostHog and so this service reads it. */
export const HOGQL = SQLDialect.define({ keywords: KEYWORDS, backslashEscapes: true, slashComments: true });

/** The columns that are completed, by table. */
const COLUMNS = {
  events: ['uuid', 'event', 'distinct_id', 'properties', 'timestamp', 'created_at', 'person_id'],
  persons: ['id', 'created_at', 'properties', 'is_identified'],
  sessions: ['session_id', 'distinct_id', 'person_id', '$start_timestamp', '$end_timestamp', '$session_duration'],
  person: ['id', 'properties', 'created_at'],
};

/** What stands in a query without a table is a column of events more often than anything else. */
const column = (label: string): SQLNamespace => ({ self: { label, type: 'property', boost: 2 }, children: [] });
const namespace = (labels: readonly string[]) => Object.fromEntries(labels.map((label) => [label, column(label)]));

const SCHEMA: SQLNamespace = {
  events: namespace(COLUMNS.events),
  persons: namespace(COLUMNS.persons),
  sessions: namespace(COLUMNS.sessions),
  // It belongs to an event, as a column does.
  person: { self: { label: 'person', type: 'property', boost: 1 }, children: namespace(COLUMNS.person) },
};

const NAMES: ReadonlySet<string> = new Set([...Object.keys(COLUMNS), ...Object.values(COLUMNS).flat()]);

/** Functions that are also words between two conditions, which the language completes. */
const WORDS: ReadonlySet<string> = new Set(KEYWORDS.split(' '));

const WORD = /^\w*$/;

/** Returns what completes a word that stands alone: behind a dot is what the name before it has. */
const alone =
  (source: CompletionSource): CompletionSource =>
  (context) =>
    context.matchBefore(/\.\s*\w*$/) === null ? source(context) : null;

type Completes = (context: CompletionContext) => Promise<CompletionResult | null>;

/**
 * Returns what completes a query. A word that is whole, such as the name of a column, a function or something that the
 * query names elsewhere, is left as it is, so that Enter is the end of a line; who wants more of it asks for it.
 */
export function hogqlCompletions(functions: readonly string[]): readonly Completes[] {
  // They are found in other letter cases, as keywords are.
  const anyCase = new Set([...functions, ...WORDS].map((name) => name.toLowerCase()));
  const isWhole = (text: string, from: number, state: EditorState): boolean =>
    NAMES.has(text) || anyCase.has(text.toLowerCase()) || isNamedElsewhere(text, from, state.doc.toString());

  const calls = completeFromList(
    functions
      .filter((name) => !WORDS.has(name.toLowerCase()))
      .map((name) => snippetCompletion(`${name}(\${})`, { label: name, type: 'function' })),
  );
  const sources: CompletionSource[] = [
    schemaCompletionSource({ dialect: HOGQL, schema: SCHEMA, defaultTable: 'events' }),
    alone(keywordCompletionSource(HOGQL, true)),
    alone(ifNotIn(['QuotedIdentifier', 'String', 'LineComment', 'BlockComment'], calls)),
  ];
  return sources.map(
    (source): Completes =>
      async (context) => {
        const word = context.matchBefore(/\w*$/);
        if (word === null || isOther(context)) return null;
        if (!context.explicit && isWhole(word.text, word.from, context.state)) return null;
        const found = await source(readToItsEnd(context));
        const isBehind = isBehindTable(context);
        return (
          found && {
            ...found,
            // Half a word may be read as a name that the query gives, which would then come first as its own completion.
            options: found.options
              .filter(({ label }) => label !== word.text)
              .map((one) => (isBehind ? clausesFirst(one) : one)),
            validFor: (text, from, _, state) => WORD.test(text) && !isWhole(text, from, state),
          }
        );
      },
  );
}

/**
 * Returns the same place in a query that is read to its end. The editor reads for some milliseconds only at each change,
 * in which a busy computer comes to no end of a short one either, and what is offered depends on all of it.
 */
function readToItsEnd({ state, pos, explicit, view }: CompletionContext): CompletionContext {
  ensureSyntaxTree(state, state.doc.length, Infinity);
  // What was read by then is seen from the next state on.
  return new CompletionContext(state.update({}).state, pos, explicit, view);
}

const isBehindTable = (context: CompletionContext): boolean =>
  /\bfrom\s+\w+\s/i.test(context.state.sliceDoc(0, context.pos));

/** Words with which a part of a query begins, and of which each query has some. */
const CLAUSES: ReadonlySet<string> = new Set(['WHERE', 'GROUP', 'ORDER', 'LIMIT']);

/** Such a word goes before others that begin alike. */
const clausesFirst = (one: Completion): Completion => (CLAUSES.has(one.label) ? { ...one, boost: 3 } : one);

/** Is the word a part of a name that is not completed, or a name of its own? */
const isOther = (context: CompletionContext): boolean =>
  context.matchBefore(/\$\w*$/) !== null || context.matchBefore(/\bas\s+\w*$/i) !== null;

/** Does a query say a word, which begins at `from` in it, in another place too? */
function isNamedElsewhere(word: string, from: number, query: string): boolean {
  if (word === '') return false;
  const places = query.matchAll(new RegExp(`(?<![\\w$])${word}(?![\\w$])`, 'g'));
  return places.some(({ index }) => index !== from);
}
