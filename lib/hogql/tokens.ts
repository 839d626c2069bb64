/**
 * What a text costs to parse, and what the parser would read and leave out of its tree, from the tokens alone. The parser
 * looks ahead from each bracket and keyword to what closes it, and begins anew inside: its time goes by the tokens, each as
 * often as it is nested.
 */
import { refuse, UNREADABLE, within } from './refusal.ts';

const MAX_LEVELS = 20;

/** Tokens, each counted once and twice for each level around it: 0.2 to 0.3 ms each, so at most some 2 s. */
const MAX_WORK = 6000;

const ESCAPE = String.raw`\\(?:[bfrntav0\\]|x[0-9a-f]{2}`;

/** What stands between two quotes, and in a template before an expression or the end. */
const QUOTED: Readonly<Record<"'" | '"' | '`' | 'template', string>> = {
  "'": `(?:[^\\\\']|${ESCAPE}|')|'')*`,
  '"': `(?:[^\\\\"]|${ESCAPE}|")|"")*`,
  '`': `(?:[^\\\\\`]|${ESCAPE}|')|\`\`)*`,
  template: String.raw`(?:[^\\'{]|${ESCAPE}|['{])|'')*`,
};

/** Code, as the parser divides it: the first that fits. */
const CODE = new RegExp(
  [
    String.raw`(?<skipped>\s+|/\*[^]*?\*/|(?:--|//)[^\r\n]*)`,
    String.raw`(?<template>f')`,
    `(?<text>'${QUOTED["'"]}'|\`${QUOTED['`']}\`|"${QUOTED['"']}")`,
    String.raw`(?<word>[a-z_$][\w$]*)`,
    String.raw`(?<tag></|<[a-z_][\w-]*(?=[>/]|\s(?:\s|(?:--|//|#)[^\r\n]*)*[\w>/]))`,
    String.raw`(?<open>[([{])`,
    String.raw`(?<close>[)\]}])`,
    String.raw`(?<unclosed>['"\`])`,
    String.raw`(?<other>[0-9]+|[^])`,
  ].join('|'),
  'iy',
);

/** A template's text up to an expression or the end. */
const TEMPLATE = new RegExp(`${QUOTED.template}(?<end>['{])`, 'iy');

/**
 * Refuses a text or a template, whose inside begins at a place of the query: at the escape that there is not, or at its
 * beginning if it has no end.
 */
function refuseQuoted(query: string, quote: keyof typeof QUOTED, at: number): never {
  const inside = new RegExp(QUOTED[quote], 'iy');
  inside.lastIndex = at;
  inside.exec(query);
  const fault = inside.lastIndex < query.length ? inside.lastIndex : at - 1;
  const [, escaped] = /^\\([^])/u.exec(query.slice(fault)) ?? [];
  const advice = escaped === undefined ? '' : `: in a text \\${escaped} is written \\\\${escaped}`;
  return refuseAt(query, fault, 1, `${UNREADABLE}${advice}`);
}

/** Refuses what stands at a place of the query, which is so many characters long. */
function refuseAt(query: string, at: number, length: number, words: string): never {
  const start = Array.from(query.slice(0, at)).length;
  return within({ start: { offset: start }, end: { offset: start + length } }, () => refuse(words));
}

/** Opens a choice (`a ? b : c`), in whose last part others nest, until what ends it or closes the level around it. */
const CHOICE = '?';

/** Keywords that nest, by what ends them; NOT ends where its operand does, which is with the level around it at last. */
const NESTING: Readonly<Record<string, string>> = { CASE: 'END', BETWEEN: 'AND', NOT: '' };

/** What ends operands beside one another, and so a NOT before them. */
const ENDS_NOT: ReadonlySet<string> = new Set(['AND', 'OR', 'WHEN', 'THEN', 'ELSE', 'END', 'AS', 'FROM', 'WHERE', ',']);

/** What ends choices beside one another, and NOT with them. */
const ENDS_CHOICE: ReadonlySet<string> = new Set([',', 'WHEN', 'THEN', 'ELSE', 'FROM', 'WHERE', 'SELECT']);

/** Words before an operand, which may be a name as any keyword is: `a AND then`. */
const BEFORE_OPERAND: ReadonlySet<string> = new Set([
  'AND',
  'OR',
  'NOT',
  'IN',
  'COHORT',
  'OVER',
  'LIKE',
  'ILIKE',
  'BETWEEN',
  'INTERVAL',
  'DISTINCT',
]);

/** Whether a word behind this one is none that is an operand. */
const endsOperand = (word: string): boolean =>
  word === FILTERED || (/[\w$)\]}'"`]$/.test(word) && !BEFORE_OPERAND.has(word));

/** A WITH behind these names queries; behind anything else it belongs to GROUP BY. */
const BEGINS_QUERY: ReadonlySet<string> = new Set(['', '(', 'ALL', 'DISTINCT', 'UNION', 'INTERSECT', 'EXCEPT']);

/** What is to be said of what the parser reads and tells nobody of: a word by the two before it; undefined: nothing. */
function untold(word: string, isText: boolean, before: string, behind: string): string | undefined {
  if (before === 'NULLS' && word === 'FIRST') return 'NULLS FIRST is not supported; what is missing comes last';
  if (before === 'COLLATE' && isText) return 'COLLATE is not supported';
  if (before === FILTERED && word === 'OVER')
    return 'FILTER is not supported beside OVER; use a form with If, as sumIf()';
  if (behind === 'WITH' && before === 'RECURSIVE' && word !== 'AS' && /^[\w$`"]/.test(word))
    return 'WITH RECURSIVE is not supported; arrayJoin(range(10)) makes numbers';
  if (before === 'WITH' && !BEGINS_QUERY.has(behind) && /^(?:TOTALS|ROLLUP|CUBE)$/.test(word))
    return `WITH ${word} is not supported`;
  return undefined;
}

/** The bracket behind FILTER while it is open, and where it was closed. */
const FILTERED = 'FILTER(';

/** Refuses texts that would take the parser too long, are nested too deeply, say what it leaves out, or are none that it reads. */
export function checkTokens(texts: readonly string[]): void {
  if (texts.reduce((sum, text) => sum + workOf(text), 0) > MAX_WORK)
    refuse('The query is too complex to parse: make it shorter, or nest it less');
}

const isBracket = (one: string): boolean => one === FILTERED || "([{'".includes(one);

function workOf(text: string): number {
  let work = 0;
  // What is open, from outside: brackets, choices, keywords of `NESTING`, and `'` for a template.
  const open: string[] = [];
  /** Closes the innermost, and before it what only ends with a level: NOT, and a BETWEEN or CASE that lacks its end. */
  const close = (what: (one: string) => boolean): string | undefined => {
    const at = open.findLastIndex(what);
    return at >= 0 ? open.splice(at)[0] : undefined;
  };
  const endOperands = (...of: readonly string[]): void => {
    while (of.includes(open.at(-1) ?? '')) open.pop();
  };
  /** Closes the innermost keyword that the word ends, with choices inside it. */
  const endNesting = (word: string): void => {
    const last = open.findLastIndex((one) => one !== CHOICE);
    if (word !== '' && NESTING[open[last] ?? ''] === word) open.splice(last);
    else if (NESTING[open.at(-1) ?? ''] === word) open.pop();
  };
  let at = 0;
  let [before, behind] = ['', ''];
  let path = 0;
  const next = (pattern: RegExp): Readonly<Record<string, string | undefined>> & { 0: string } => {
    pattern.lastIndex = at;
    const found = pattern.exec(text) ?? refuseQuoted(text, 'template', at);
    at = pattern.lastIndex;
    return { ...found.groups, 0: found[0] };
  };
  while (at < text.length) {
    if (open.at(-1) === "'") {
      const { end } = next(TEMPLATE);
      if (end === '{') open.push('{');
      else open.pop();
      continue;
    }
    const token = next(CODE);
    if (token['skipped'] !== undefined) continue;
    if (token['unclosed'] !== undefined) refuseQuoted(text, token['unclosed'] as keyof typeof QUOTED, at);
    const start = at - token[0].length;
    if (token['tag'] !== undefined) refuseAt(text, start, token[0].length, 'Tags are not supported');
    // Each name of a path is read as often as there are names before it.
    path = token[0] === '.' ? path + 1 : before === '.' ? path : 0;
    // What follows a dot or AS is a name, whatever it is.
    const isName = before === '.' || (before === 'AS' && token['open'] === undefined);
    const word = isName ? '' : token[0].toUpperCase();
    const fault = untold(word, token['text'] !== undefined, before, behind);
    if (fault !== undefined) refuseAt(text, start, token[0].length, fault);
    const isFilter = before === 'FILTER' && word === '(';
    [before, behind] = [word === '' ? 'name' : word, before];
    if (word === ',' || endsOperand(behind)) {
      if (ENDS_CHOICE.has(word)) endOperands('NOT', CHOICE);
      else if (ENDS_NOT.has(word)) endOperands('NOT');
    }
    const isChoice = word === CHOICE && text[at] !== '.' && text[at] !== '?';
    if (word === CHOICE && text[at] === '?') at += 1;
    if (token['close'] !== undefined) before = close(isBracket) === FILTERED ? FILTERED : word;
    else if (token['open'] !== undefined) open.push(isFilter ? FILTERED : token[0]);
    else if (token['template'] !== undefined) open.push("'");
    else if (isChoice || Object.hasOwn(NESTING, word)) open.push(word);
    else endNesting(word);
    if (open.length > MAX_LEVELS) refuse(`The query is nested more than ${MAX_LEVELS} levels deep`);
    work += 1 + 2 * open.length + path / 2;
  }
  return work;
}
