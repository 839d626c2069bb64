/**
 * Text to syntax, by PostHog's own parser: a grammar in WebAssembly. It is synchronous, takes exponential time when an
 * instance is used again, and crashes on deep nesting; so each text has an instance of its own, and the process in which
 * it is read should be one that can be killed.
 */
import { createRequire } from 'node:module';
import { refuse, UNREADABLE, within } from './refusal.ts';
import type { Syntax } from './syntax.ts';
import { checkTokens } from './tokens.ts';

const MAX_QUERY_BYTES = 20_000;

const packages = createRequire(import.meta.url);

/** Reads HogQL. A `Refusal` for what is too long, nested too deeply, or no HogQL. */
export interface Parser {
  query(text: string): Promise<Syntax>;
  /** In their order; the limit of length is that of all together. */
  expressions(texts: readonly string[]): Promise<readonly Syntax[]>;
}

type Rule = 'parseSelect' | 'parseExpr';
/** Makes an instance of the grammar. */
type Grammar = () => Promise<Readonly<Record<Rule, (text: string, isInternal: boolean) => string>>>;

/** Returns the parser, which reads in this process. */
export const hogqlParser = (): Parser => ({
  query: async (text) => (await parse('parseSelect', [text]))[0] ?? refuse(UNREADABLE),
  expressions: (texts) => parse('parseExpr', texts),
});

async function parse(rule: Rule, texts: readonly string[]): Promise<Syntax[]> {
  if (Buffer.byteLength(texts.join('')) > MAX_QUERY_BYTES)
    refuse(`The query is longer than ${MAX_QUERY_BYTES / 1000} kB`);
  checkTokens(texts);
  const parsed: Syntax[] = [];
  for (const text of texts) parsed.push(syntaxOf(await read(rule, text), text));
  return parsed;
}

/** Refuses when the grammar crashes, or says nothing, as of a text that it has no room for. */
async function read(rule: Rule, text: string): Promise<string> {
  const grammar = await (packages('@posthog/hogql-parser') as Grammar)();
  let answer = '';
  try {
    answer = grammar[rule](text, false);
  } catch {
    // It is as if nothing was said.
  }
  return answer === '' ? refuse(UNREADABLE) : answer;
}

function syntaxOf(answer: string, text: string): Syntax {
  const characters = Array.from(text);
  const revived = (key: string, value: unknown, context?: { source?: string }): unknown => {
    if (typeof value === 'object' && value !== null) refuseMisread(value, characters);
    return withNumbers(key, value, context);
  };
  const syntax = JSON.parse(answer, revived) as Syntax & { readonly error?: true; readonly message?: string };
  if (syntax.error !== true) return syntax;
  const [, unread] = UNREAD.exec(syntax.message ?? '') ?? [];
  if (unread !== undefined) refuse(`${unread.toUpperCase()} is not supported${INSTEAD[unread] ?? ''}`);
  return within(syntax, () => refuse(UNREADABLE));
}

interface Place {
  readonly offset: number;
}
type Placed = Readonly<Record<'start' | 'end', Place>>;
type Misread = Placed & {
  readonly limit?: Placed;
  readonly offset?: Placed;
  readonly alias?: string;
  readonly expr?: Placed;
};

/** Refuses what the grammar reads otherwise than ClickHouse: `LIMIT 1, 2` as the limit first, `1_000` as a 1 that is named. */
function refuseMisread(node: object, text: readonly string[]): void {
  const { limit, offset, alias, expr, start, end } = node as Partial<Misread>;
  const between = (from: Place, to: Place): string => text.slice(from.offset, to.offset).join('');
  if (limit && offset && /^(?!.*offset).*,/is.test(between(limit.end, offset.start)))
    within(offset, () => refuse('LIMIT with a comma is not supported; write LIMIT n OFFSET m'));
  if (!alias || !expr || !start || !end || between(expr.end, end) !== alias) return;
  if (/[0-9.]$/.test(between(expr.start, expr.end)))
    within(node, () => refuse(`${between(start, end)} is no number; write AS before a name`));
}

/** What the grammar says of that which it knows and does not read: `Unsupported: SelectStmt.settingsClause()`; it has no place. */
const UNREAD = /^Unsupported(?: rule)?: (?:SelectStmt\.|ColumnExpr)?(.+?)(?:Clause\(\))?$/;

/** What is written instead. */
const INSTEAD: Readonly<Record<string, string>> = { Substring: '; write substring(x, 1, 3)' };

/** Whole numbers of a query as they are written, for JavaScript's have 53 bits; floats, of which the grammar writes 17 digits, in short. */
const withNumbers = (key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown =>
  key === 'value' && typeof value === 'number' ? { number: WHOLE.test(source) ? source : float(value) } : value;

const WHOLE = /^-?\d+$/;

/** Returns the shortest text of a float that is read as the same float again. */
function float(value: number): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  return WHOLE.test(text) ? `${text}.0` : text;
}
