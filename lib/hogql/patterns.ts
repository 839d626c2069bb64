/** Patterns, formats and zones of queries: constants that both dialects must understand alike, and never fail on. */
import { beginningOf } from '../basics/text.ts';
import { timeZoneOf } from '../basics/time-zones.ts';
import type { FormatCode, FormatPiece } from './expression.ts';
import { refuse } from './refusal.ts';

const MAX_PATTERN = 1000;
/** RE2 refuses repeats inside one another that come to more. */
const MAX_REPEATS = 1000;
/** In characters. RE2 has memory for what is three times as long, whatever it is made of. */
const MAX_WRITTEN_OUT = 20_000;
/** Replacements name groups with one digit, and Trino needs one for itself. */
const MAX_GROUPS = 8;

/** A regular expression as the printers take it; a dot matches line ends too, as in ClickHouse. */
interface Pattern {
  readonly pattern: string;
  readonly groups: number;
  /** The fewest characters that it matches. */
  readonly least: number;
}

/** One piece of a pattern, by what RE2 and Java have in common. */
const TOKEN =
  /(?<open>\((?:\?:|\?[ims]{1,3}:|\?P?<[A-Za-z]\w{0,30}>|(?!\?)))|(?<flags>\(\?[ims]{1,3}\))|(?<close>\))|(?<set>\[\^?\]?(?:\\(?:[dDwWsStnrfv]|x[0-9a-fA-F]{2}|(?![A-Za-z0-9])\p{ASCII})|\[(?!:)|[^\]\\[])*\])|(?<times>[*+?]\??|\{\d{1,4}(?:,\d{0,4})?\}\??)|(?<escape>\\(?:[dDwWsSbBAz]|[tnrfv]|x[0-9a-fA-F]{2}|(?![A-Za-z0-9])\p{ASCII}))|(?<bar>\|)|(?<plain>[^\\()[\]{}*+?|])/guy;

/** A pattern that is safe in both dialects: no look-around, no back reference, no class of either's own. */
export function checkedPattern(source: string): Pattern {
  const fault = (why: string): never => refuse(`Regular expression '${beginningOf(source, 100)}' ${why}`);
  if (source.length > MAX_PATTERN) fault(`is longer than ${MAX_PATTERN} characters`);
  const tokens = [...source.matchAll(TOKEN)];
  let [level, groups, end] = [0, 0, 0];
  let isRepeatable = false;
  for (const { 0: piece, groups: kinds = {} } of tokens) {
    const { open, close, times, set, bar, flags } = kinds;
    end += piece.length;
    if (open !== undefined) {
      level += 1;
      if (open === '(' || open.includes('<')) groups += 1;
    }
    if (close !== undefined && --level < 0) fault("has a ')' too many");
    if (set !== undefined) checkSet(set, fault);
    if (times !== undefined) {
      if (!isRepeatable) fault(`repeats nothing with '${times}'`);
      const { least, most } = timesOf(times);
      if (most < least) fault(`has '${times}'`);
    }
    isRepeatable =
      open === undefined && bar === undefined && flags === undefined && times === undefined && !isPlace(piece);
  }
  if (end < source.length) fault(`has '${source.slice(end, end + 4)}', which is not supported`);
  if (level > 0) fault("has a '(' too many");
  if (groups > MAX_GROUPS) fault(`has more than ${MAX_GROUPS} groups`);
  if (measured(tokens, REPEATS) > MAX_REPEATS) fault(`repeats more than ${MAX_REPEATS} times`);
  if (measured(tokens, WRITTEN_OUT) > MAX_WRITTEN_OUT)
    fault(`is longer than ${MAX_WRITTEN_OUT} characters when its repeats are written out`);
  const pieces = tokens.map(([piece]) => piece);
  // On Athena a dollar is before a last line end too; only where it may end any line, the engines agree.
  const ofLines = pieces.some((piece) => /^\(\?[is]*m/.test(piece));
  const pattern = pieces.map((piece) => (piece === '$' && !ofLines ? '\\z' : shared(piece))).join('');
  return { pattern: `(?s)${pattern}`, groups, least: measured(tokens, LEAST) };
}

/** A piece of a pattern where both write it in another way. */
const shared = (piece: string): string =>
  piece
    // Names of groups are read by nobody.
    .replace(/^\(\?P?<.*/, '(')
    // From 128 on a number is a character in RE2, and a byte of one on Athena. In a set `&&` and a bracket have a meaning there.
    .replace(/\\(?:x([89a-fA-F][0-9a-fA-F])|.)|(?<=.)[[&]/gsu, (found, code?: string) =>
      code !== undefined
        ? String.fromCodePoint(Number.parseInt(code, 16))
        : found.startsWith('\\')
          ? found
          : `\\${found}`,
    );

/** How often a piece is to stand, as `*`, `{2}`, `{2,}` and `{2,3}` say it. */
function timesOf(times: string): { readonly least: number; readonly most: number } {
  const [, from = '', to = from] = /^\{(\d+)(?:,(\d*))?\}/.exec(times) ?? [];
  if (from === '') return { least: times.startsWith('+') ? 1 : 0, most: times.startsWith('?') ? 1 : Infinity };
  return { least: Number(from), most: to === '' ? Infinity : Number(to) };
}

/** A number that is told of a pattern by its pieces. */
interface Measure {
  /** Of a piece without pieces. */
  of(piece: string, isFlags: boolean): number;
  /** Of pieces behind one another. */
  together(pieces: readonly number[]): number;
  /** Of branches, of which there is one at least. */
  either(branches: readonly number[]): number;
  /** Of a piece that is repeated. */
  repeated(piece: number, least: number, most: number): number;
}

const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/** As often RE2 writes out what is repeated: where there is no end, the rest is a loop. */
const copies = (least: number, most: number): number => Math.max(1, most === Infinity ? least : most);

/** The fewest characters that a pattern matches. */
const LEAST: Measure = {
  of: (piece, isFlags) => (isFlags || isPlace(piece) ? 0 : 1),
  together: sum,
  either: (branches) => Math.min(...branches),
  repeated: (piece, least) => piece * least,
};

/** How often a piece is written out at most, by the repeats around it. */
const REPEATS: Measure = {
  of: () => 1,
  together: (pieces) => Math.max(1, ...pieces),
  either: (branches) => Math.max(...branches),
  repeated: (piece, least, most) => piece * copies(least, most),
};

/** How long a pattern is when its repeats are written out. */
const WRITTEN_OUT: Measure = {
  of: (piece) => (piece.startsWith('[') ? lengthOfSet(piece) : piece.length),
  together: sum,
  either: sum,
  repeated: (piece, least, most) => piece * copies(least, most),
};

function measured(tokens: readonly RegExpExecArray[], measure: Measure): number {
  // Of the groups that are open: their branches before, and the pieces of the branch that is being read.
  const open = [{ branches: [] as number[], pieces: [] as number[] }];
  const whole = ({ branches, pieces } = { branches: [] as number[], pieces: [] as number[] }): number =>
    measure.either([...branches, measure.together(pieces)]);
  for (const { 0: piece, groups = {} } of tokens) {
    const { branches = [], pieces = [] } = open.at(-1) ?? {};
    if (groups['open'] !== undefined) open.push({ branches: [], pieces: [] });
    else if (groups['close'] !== undefined) open.at(-2)?.pieces.push(whole(open.pop()));
    else if (groups['bar'] !== undefined) branches.push(measure.together(pieces.splice(0)));
    else if (groups['times'] !== undefined) {
      const { least, most } = timesOf(piece);
      pieces.push(measure.repeated(pieces.pop() ?? 0, least, most));
    } else pieces.push(measure.of(piece, groups['flags'] !== undefined));
  }
  return whole(open[0]);
}

/** Whether a piece of a pattern is a place between characters. */
const isPlace = (piece: string): boolean => /^(?:[\^$]|\\[bBAz])$/.test(piece);

/** The members of a set; a hyphen between two makes a range of them. */
const membersOf = (set: string): string[] =>
  [...set.slice(set.startsWith('[^') ? 2 : 1, -1).matchAll(/\\x[0-9a-fA-F]{2}|\\.|[^\\]/gsu)].map(([member]) => member);

/** How long a set is as RE2 holds it: characters of ASCII that follow one another are a range, and as long as one. */
function lengthOfSet(set: string): number {
  const members = membersOf(set);
  const codes = new Set<number>();
  let others = 0;
  for (const [n, member] of members.entries()) {
    if (member === '-' && n > 0 && n < members.length - 1) {
      const [from = 0, to = 0] = [members[n - 1], members[n + 1]].map((end) => end?.codePointAt(0));
      for (let code = from; code <= to; code += 1) codes.add(code);
    } else if (/^(?:[ -~]|\\[^A-Za-z0-9])$/.test(member)) codes.add(member.codePointAt(member.length - 1) ?? 0);
    else others += member.length;
  }
  const ranges = [...codes].filter((code) => !codes.has(code - 1)).length;
  return set.length - members.join('').length + ranges + others;
}

/** Ranges must go upward. */
function checkSet(set: string, fault: (why: string) => never): void {
  const members = membersOf(set);
  if (members.length === 0) fault("has an empty set '[]'");
  // A closing bracket that comes first is a member for RE2; it must be escaped.
  if (members[0] === ']') fault("has ']' in a set; write '\\]'");
  for (const [n, member] of members.entries()) {
    if (member !== '-' || n === 0 || n === members.length - 1) continue;
    const [from, to] = [members[n - 1] ?? '', members[n + 1] ?? ''];
    const isRange = /^(?:[A-Za-z]|[0-9])$/.test(from) && /^(?:[A-Za-z]|[0-9])$/.test(to);
    if (!isRange || from > to) fault(`has the range '${from}-${to}'; write '\\-' for a hyphen`);
  }
}

/** A text as the piece of a pattern that matches it alone. */
export const unspecial = (text: string): string => text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');

/** A text in which nothing has a meaning of its own. */
export const quotedPattern = (text: string): string => `(?s)${unspecial(text)}`;

/** A replacement with `\1` for groups and `\\` for a backslash. */
export function checkedReplacement(source: string, groups: number): (string | number)[] {
  const pieces: (string | number)[] = [];
  for (const [piece, escaped] of source.matchAll(/\\(.)|[^\\]+|\\$/gsu)) {
    if (escaped !== undefined && /\d/.test(escaped)) {
      if (Number(escaped) > groups)
        refuse(`Replacement '${beginningOf(source, 100)}' has '${piece}', a group that the expression lacks`);
      pieces.push(Number(escaped));
    } else pieces.push(escaped ?? piece);
  }
  return pieces;
}

/** A LIKE pattern in which a backslash stands only before what it escapes. */
export const checkedLike = (source: string): string =>
  source.replace(/\\([%_\\])|\\/g, (_, escaped?: string) => `\\${escaped ?? '\\'}`);

/** A checked LIKE pattern as a regular expression. */
export const likePattern = (like: string): string => {
  const pieces = [...like.matchAll(/\\?./gsu)].map(([piece]) =>
    piece === '%' ? '.*' : piece === '_' ? '.' : unspecial(piece.startsWith('\\') ? piece.slice(1) : piece),
  );
  // What may begin and end with anything needs no anchor.
  return `(?s)${`^${pieces.join('')}\\z`.replace(/^\^(?:\.\*)+/, '').replace(/(?:\.\*)+\\z$/, '')}`;
};

/** A text as the pattern that matches what holds it. */
export const likeHolding = (text: string): string => `%${text.replace(/[%_\\]/g, '\\$&')}%`;

const CODES: Readonly<Record<string, readonly FormatPiece[]>> = {
  ...Object.fromEntries(
    ['Y', 'y', 'm', 'd', 'H', 'I', 'i', 'S', 'p', 'j', 'a', 'b', 'M', 'W'].map((code) => [
      code,
      [{ code: code as FormatCode }],
    ]),
  ),
  h: [{ code: 'I' }],
  s: [{ code: 'S' }],
  F: [{ code: 'Y' }, { text: '-' }, { code: 'm' }, { text: '-' }, { code: 'd' }],
  D: [{ code: 'm' }, { text: '/' }, { code: 'd' }, { text: '/' }, { code: 'y' }],
  T: [{ code: 'H' }, { text: ':' }, { code: 'i' }, { text: ':' }, { code: 'S' }],
  R: [{ code: 'H' }, { text: ':' }, { code: 'i' }],
  '%': [{ text: '%' }],
  n: [{ text: '\n' }],
  t: [{ text: '\t' }],
};

/** A date's format, by the codes that ClickHouse shares with MySQL. */
export function checkedFormat(source: string): FormatPiece[] {
  if (source === '' || source.length > MAX_PATTERN) refuse(`A format is 1 to ${MAX_PATTERN} characters long`);
  return [...source.matchAll(/%([^]?)|[^%]+/gu)].flatMap(([piece, code]): readonly FormatPiece[] =>
    code === undefined
      ? [{ text: piece }]
      : Object.hasOwn(CODES, code)
        ? (CODES[code] ?? [])
        : refuse(
            `Format '${piece}' is not supported; there are ${Object.keys(CODES)
              .map((one) => `%${one}`)
              .join(' ')}`,
          ),
  );
}

/** The name that every tz database has for a time zone. */
export const checkedZone = (source: string): string =>
  timeZoneOf(source) ?? refuse(`Unknown time zone '${beginningOf(source, 100)}'`);

/** A number, in what RE2, Java and JavaScript share. */
export const FLOAT = String.raw`[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`;

const FLOAT_ALONE = new RegExp(`^${FLOAT}$`);

/** Whether a text is a number, as it is read in a row. */
export const namesNumber = (text: string): boolean => FLOAT_ALONE.test(text);

/** A time in ISO 8601, in what RE2, Java and JavaScript share. */
export const INSTANT = String.raw`[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?)?`;

const INSTANT_ALONE = new RegExp(`^${INSTANT}$`);

/**
 * Whether a text names a time that there is: JavaScript takes 30 February for a day in March. The year 0 passes, which
 * queries write for what is before all times.
 */
export function namesTime(text: string): boolean {
  const day = text.slice(0, 10);
  if (!INSTANT_ALONE.test(text) || Number.isNaN(Date.parse(day))) return false;
  return new Date(day).toISOString().startsWith(day);
}

/** A time as a number since 1970, as ClickHouse tells its unit by the digits. */
export const UNIX_TIME = String.raw`(?:[0-9]{9,10}(?:\.[0-9]+)?|[0-9]{13}|[0-9]{16})`;

const UNIX_TIME_ALONE = new RegExp(`^${UNIX_TIME}$`);

/** A constant that is read as a time, as a row may have it: with a zero before a digit that is a month or a day. */
export const checkedTime = (source: string): string =>
  timeOf(source) ??
  refuse(`'${beginningOf(source, 100)}' names no time; write one as 2026-11-01 or 2026-11-01T10:00:00`);

/** The time that a constant names, as a row may have it; undefined: it names none. */
export function timeOf(source: string): string | undefined {
  const [, year, month = '', day = '', rest] =
    /^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])([^]*)$/.exec(source) ?? [];
  const text = year === undefined ? source : `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}${rest}`;
  return UNIX_TIME_ALONE.test(text) || namesTime(text) ? text : undefined;
}

/** The texts that are read as booleans, in any letter case. */
export const BOOLEAN_WORDS = {
  true: ['true', 't', 'yes', 'y', 'on', '1', 'enabled'],
  false: ['false', 'f', 'no', 'n', 'off', '0', 'disabled'],
};

/** Whether a text is a boolean, as it is read in a row. */
export const namesBoolean = (text: string): boolean =>
  Object.values(BOOLEAN_WORDS).some((words) => words.includes(text.toLowerCase()));
