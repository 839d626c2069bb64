/**
 * How large a tree is, and the values that it makes: known before any row is read, so that no query grows without bound.
 * A value that follows from the row is measured by it: in times of the row's own length.
 */
import { movedInto, zoneOf } from './clock.ts';
import {
  type Expression,
  isList,
  isTuple,
  type List,
  type OPERATORS,
  type Operator,
  operandsOf,
  type Type,
} from './expression.ts';
import { refuse } from './refusal.ts';

/** A tree is at most so large and deep, printed sizes being in proportion: 3,000 nodes are some 60 kB of SQL. */
const MAX_WEIGHT = 3000;
const MAX_DEPTH = 60;

/** So many characters of a constant, of a parameter or of what a text has besides the row weigh as much as a node. */
const CHARACTERS_OF_A_NODE = 40;

/** A value is at most so many times as long as its row, or as the element of a list that it is made of. */
const MAX_GROWTH = 100;

/** What a text that is longer than its row weighs, for each time: DuckDB holds some 2,000 of them at once. */
const WEIGHT_OF_A_ROW = 5;

/** What a value has besides, whatever the row is, is at most so long. */
const MAX_CHARACTERS = 100_000;

/** A text that is cut to at most so many characters is of constant length. */
const MAX_CUT = 1000;

/** What is read of the row in a lambda is read again for each element, of which it is not known how many there are. */
const UNKNOWN_ELEMENTS = 100;

/** A list of integers that follow one another has at most so many, as many as Trino makes. One of more is null. */
export const MAX_RANGE = 10_000;

/** Numbers, times and booleans as text. */
const CHARACTERS_OF_A_SCALAR = 40;

/**
 * The most that a value may have in characters: so many times each source, and so many besides. Source 0 is the row, n + 1
 * the n-th element that lambdas go through, counted from outside. A list is as long as its texts and one for each.
 */
interface Length {
  readonly times: readonly number[];
  readonly characters: number;
}

/** What is known of a tree. */
interface Measure {
  /** Nodes, as many times as they are printed and, in lambdas, evaluated; a long value weighs as much as the row again. */
  readonly weight: number;
  /** Of the node alone. */
  readonly own: number;
  readonly depth: number;
  readonly length: Length;
  /** The sources that are read, a bit for each. */
  readonly reads: number;
}

type Node = Extract<Expression, { readonly operator: Operator }>;

/** A lambda: what it does with the element, and which element that is. */
export interface LambdaMeasure {
  readonly variable: number;
  readonly body: Expression;
}

const measures = new WeakMap<Expression, Measure>();

/** The measure of a tree that was measured when it was made, or of a leaf. */
const measureOf = (expression: Expression): Measure => measures.get(expression) ?? measureOfLeaf(expression);

const NO_TIMES: readonly number[] = [];
const ofCharacters = (characters: number): Length => ({ times: NO_TIMES, characters });
const SCALAR = ofCharacters(CHARACTERS_OF_A_SCALAR);

function measureOfLeaf(leaf: Expression): Measure {
  const [source, constant] =
    'variable' in leaf ? [leaf.variable + 1, ''] : 'column' in leaf ? [0, ''] : [undefined, constantOf(leaf)];
  const own = weightOf(constant.length);
  const length =
    source === undefined
      ? ofCharacters(constant.length)
      : isText(leaf.type)
        ? { times: Array.from({ length: source + 1 }, (_, n) => (n === source ? 1 : 0)), characters: 0 }
        : SCALAR;
  return { weight: own, own, depth: 1, length, reads: source === undefined ? 0 : 2 ** source };
}

const constantOf = (leaf: Expression): string => ('constant' in leaf ? String(leaf.constant ?? '') : '');
const weightOf = (characters: number): number => 1 + Math.floor(characters / CHARACTERS_OF_A_NODE);
const isText = (type: Type): boolean => type === 'text' || type === 'json' || isList(type) || isTuple(type);
const sum = (all: readonly number[]): number => all.reduce((total, one) => total + one, 0);

/** Sources one by one, and what is besides. */
function joined(all: readonly Length[], join: (values: readonly number[]) => number): Length {
  const sources = Math.max(0, ...all.map(({ times }) => times.length));
  const times = Array.from({ length: sources }, (_, n) => join(all.map((one) => one.times[n] ?? 0)));
  return { times, characters: join(all.map(({ characters }) => characters)) };
}

const together = (all: readonly Length[]): Length => joined(all, sum);
const longest = (all: readonly Length[]): Length => joined(all, (values) => Math.max(0, ...values));
const multiplied = (length: Length, by: number): Length => joined([length], ([value = 0]) => value * by);
const isConstant = ({ times }: Length): boolean => times.every((one) => one === 0);

/** How long the value of an operator may be, by its arguments. */
type Growth = (of: readonly Length[], node: Node, lambda: LambdaMeasure | undefined) => Length;

const same: Growth = (of) => longest(of);
const scalar: Growth = () => SCALAR;

type Grows = {
  [O in Operator]: (typeof OPERATORS)[O]['gives'] extends
    | 'text'
    | 'json'
    | 'any'
    | 'list'
    | 'element'
    | 'tuple'
    | 'part'
    | List
    ? O
    : never;
}[Operator];

/** Of each operator that gives text: one that is new must say how it grows. Others give a value of constant length. */
const GROWTH: Readonly<Record<Grows, Growth>> = {
  if: same,
  coalesce: same,
  least: same,
  greatest: same,
  uuid_of_text: scalar,
  text_of_json: same,
  text_of_integer: scalar,
  text_of_float: scalar,
  text_of_boolean: scalar,
  text_of_instant: scalar,
  text_of_date: scalar,
  json_of_text: same,
  lower: same,
  upper: same,
  trim: same,
  substring_from: same,
  extract: same,
  split: (of) => together([longest(of), ofCharacters(1)]),
  element: same,
  filter: same,
  sort: same,
  reverse: same,
  distinct: same,
  range: (_, { of: [, end] }) =>
    ofCharacters(end !== undefined && 'constant' in end ? Math.min(MAX_RANGE, Number(end.constant)) : MAX_RANGE),
  property: same,
  property_value: same,
  json_raw: same,
  json_scalar: same,
  json_elements: same,
  json_texts: same,
  json_keys: same,

  concat: together,
  list: (of) => together([...of, ofCharacters(of.length)]),
  tuple: (of) => together([...of, ofCharacters(of.length)]),
  tuple_part: same,
  join: ([list = SCALAR], { with: parameters }) => multiplied(list, Math.max(1, parameters?.text?.length ?? 0)),
  substring: ([text = SCALAR], { of: [, , count] }) => {
    const most = count !== undefined && 'constant' in count ? Number(count.constant) : Number.NaN;
    return most <= MAX_CUT ? ofCharacters(Math.max(0, most)) : text;
  },
  format: (_, { with: parameters }) =>
    ofCharacters(sum((parameters?.format ?? []).map((piece) => ('text' in piece ? piece.text.length : 10)))),
  replace: ofReplacement,
  replace_pattern: ([text = SCALAR], node) => together([multiplied(text, growthOfMatch(node)), atEnds(node)]),
  replace_pattern_once: ([text = SCALAR], node) => {
    const [letters, groups] = replacementOf(node);
    return together([multiplied(text, Math.max(1, groups)), ofCharacters(letters)]);
  },
  map: ofMapped,
};

/** What is put in the place of a match: so many letters, and so many times the match. */
function replacementOf({ with: parameters }: Node): readonly [letters: number, groups: number] {
  const pieces = parameters?.replacement ?? [];
  return [sum(pieces.map((piece) => (typeof piece === 'string' ? piece.length : 0))), pieces.filter(isGroup).length];
}

const isGroup = (piece: string | number): boolean => typeof piece === 'number';

/** By how much the longest of all matches grows. What may match nothing does so between all letters. */
function growthOfMatch(node: Node): number {
  const [letters, groups] = replacementOf(node);
  const least = node.with?.least ?? 0;
  return least === 0 ? 1 + letters + groups : Math.max(1, letters / least + groups);
}

const atEnds = (node: Node): Length => ofCharacters(replacementOf(node)[0]);

/**
 * A text whose matches are replaced by another. One of the two may follow from the row, but not both. Single letters that
 * are replaced one after the other, as `<` by `&lt;`, are followed to what becomes of each.
 */
function ofReplacement([text = SCALAR, by = SCALAR]: readonly Length[], node: Node): Length {
  const from = node.with?.text?.length ?? 1;
  if (isConstant(by)) {
    const chain = chainOf(node);
    const inner = chain[0]?.of[0];
    return inner === undefined
      ? multiplied(text, Math.max(1, by.characters / from))
      : multiplied(measureOf(inner).length, growthOfLetters(chain));
  }
  if (isConstant(text)) return together([text, multiplied(by, text.characters / from)]);
  return refuse(
    'replaceAll() of a text of the event takes a replacement that is a constant, or cut to a constant length, as in ' +
      "replaceAll(event, 'x', left(distinct_id, 50))",
  );
}

/** Replacements of single letters by constants, from inside to outside; none, if the node is another. */
function chainOf(node: Expression | undefined): readonly Node[] {
  if (node === undefined || !('operator' in node) || node.operator !== 'replace') return [];
  const [inner, by] = node.of;
  const isOfLetter = Array.from(node.with?.text ?? '').length === 1 && by !== undefined && 'constant' in by;
  return isOfLetter ? [...chainOf(inner), node] : [];
}

/** How many letters the one that grows most becomes. */
function growthOfLetters(chain: readonly Node[]): number {
  const results = chain.map((first, n) =>
    chain.slice(n + 1).reduce<string | undefined>((text, next) => {
      const pieces = text?.split(next.with?.text ?? '') ?? [];
      const by = constantBy(next);
      return (pieces.length - 1) * by.length > MAX_CHARACTERS ? undefined : text && pieces.join(by);
    }, constantBy(first)),
  );
  return Math.max(1, ...results.map((text) => text?.length ?? Number.MAX_SAFE_INTEGER));
}

const constantBy = ({ of: [, by] }: Node): string => (by === undefined ? '' : constantOf(by));

/** A list whose elements are replaced by what the lambda makes of them. */
function ofMapped([list = SCALAR]: readonly Length[], { of: [from] }: Node, lambda: LambdaMeasure | undefined): Length {
  if (lambda === undefined || from === undefined) return list;
  if (!isText(lambda.body.type)) return list;
  const { length } = measureOf(lambda.body);
  const ofElement = length.times[lambda.variable + 1] ?? 0;
  const others = { times: length.times.map((one, n) => (n === lambda.variable + 1 ? 0 : one)), characters: 0 };
  const elements = multiplied(list, Math.max(ofElement, length.characters + 1));
  if (isConstant(others)) return elements;
  const count = knownElements(from);
  if (count === undefined)
    return refuse(
      'The lambda of arrayMap() makes texts of more than its element: cut what else it takes to a constant length, as in ' +
        'left(event, 50)',
    );
  return together([elements, multiplied(others, count)]);
}

/** How many elements a list has at most, where it is the same of every row; undefined: that is not known. */
function knownElements(list: Expression): number | undefined {
  if ('operator' in list && list.operator === 'list') return list.of.length;
  const { reads, length } = measureOf(list);
  return reads === 0 ? length.characters : undefined;
}

/** Keeps the measure of a node that was made now, of children that were measured. Refuses what is, or grows, too large. */
export function measured(node: Node, lambda?: LambdaMeasure): Expression {
  const of = node.of.map(measureOf);
  const length = isText(node.type)
    ? GROWTH[node.operator as Grows](
        of.map((one) => one.length),
        node,
        lambda,
      )
    : SCALAR;
  if (Math.max(0, ...length.times) > MAX_GROWTH || length.characters > MAX_CHARACTERS)
    refuse(
      `The query makes texts that may be more than ${MAX_GROWTH} times as long as the event: repeat and replace less, ` +
        'or cut texts, as in left(event, 50)',
    );
  const parameters = node.with === undefined ? 0 : JSON.stringify(node.with).length;
  const own =
    weightOf(parameters + (isText(node.type) ? length.characters : 0)) +
    WEIGHT_OF_A_ROW * Math.max(0, sum(length.times) * copiesOf(node) - 1);
  const within = lambda === undefined ? undefined : measureOf(lambda.body);
  const weight =
    own +
    sum(of.map((one) => one.weight)) +
    (lambda === undefined ? 0 : weightOfLambda(node.of[0] as Expression, lambda));
  const depth = 1 + Math.max(0, ...of.map((one) => one.depth), within?.depth ?? 0);
  if (weight > MAX_WEIGHT || depth > MAX_DEPTH) refuse(TOO_COMPLEX);
  const readByLambda = lambda === undefined ? 0 : (within?.reads ?? 0) & ~(2 ** (lambda.variable + 1));
  const reads = of.reduce((all, one) => all | one.reads, readByLambda);
  measures.set(node, { weight, own, depth, length, reads });
  return node;
}

/** How often an operator makes its value: `concat` joins by halves; an element of a list has a head of 16 bytes. */
function copiesOf({ operator, of, type }: Node): number {
  if (operator === 'concat') return Math.ceil(Math.log2(of.length));
  return isList(type) ? 4 : 1;
}

export const TOO_COMPLEX = 'The query is too complex';

/** A lambda is evaluated for each element; what it reads of other sources, for each of perhaps many. */
function weightOfLambda(list: Expression, { variable, body }: LambdaMeasure): number {
  const { weight } = measureOf(body);
  const count = knownElements(list);
  if (count !== undefined) return weight * Math.max(1, count);
  return weight + UNKNOWN_ELEMENTS * weightOfOthers(body, 2 ** (variable + 1));
}

/** What the nodes weigh that read anything but this source. */
function weightOfOthers(expression: Expression, source: number): number {
  const { own, reads } = measureOf(expression);
  if ((reads & ~source) === 0) return 0;
  return own + sum(operandsOf(expression).map((one) => weightOfOthers(one, source)));
}

/** Whether a list follows from this element, or from nothing: only such a list is gone through in a lambda of it. */
export const readsOnly = (list: Expression, variable: number): boolean =>
  (measureOf(list).reads & ~(2 ** (variable + 1))) === 0;

/** The same tree as another node. */
export function copied(expression: Expression): Expression {
  const copy = { ...expression };
  measures.set(copy, measureOf(expression));
  return copy;
}

/** What columns of queries hold. */
const held = new WeakMap<Expression, Expression>();

/** The expression that a column holds; undefined: it is one of a table. */
export const heldBy = (column: Expression): Expression | undefined => held.get(column);

/** A column that holds what an expression gives, is as long, and of a time in the same zone. */
export function columnOf(expression: Expression, relation: string, column: string): Expression {
  const leaf: Expression = { relation, column, type: expression.type };
  held.set(leaf, expression);
  measures.set(leaf, { ...measureOf(leaf), length: measureOf(expression).length });
  return movedInto(zoneOf(expression), leaf);
}

/** Returns what expressions weigh in sum. */
export const weightOfAll = (expressions: readonly Expression[]): number =>
  sum(expressions.map((one) => measureOf(one).weight));

/** Refuses expressions that are too large in sum. */
export function checkSizes(expressions: readonly Expression[]): void {
  if (weightOfAll(expressions) > MAX_WEIGHT) refuse(TOO_COMPLEX);
}
