/** What the parser makes of a text, as far as it is read here. */

/** A node of any kind: a name, and whatever it has. */
interface OtherSyntax {
  readonly node: string;
}

interface Field {
  readonly node: 'Field';
  readonly chain: readonly (string | number)[];
}

interface Constant {
  readonly node: 'Constant';
  /** A number as it was written, so that no digit is lost. */
  readonly value: string | { readonly number: string } | boolean | null;
  /** A number that JSON has no way to write, as text: over 64 bits, infinity, not a number. */
  readonly value_type?: 'number';
}

export interface Call {
  readonly node: 'Call';
  readonly name: string;
  readonly args: readonly Syntax[];
  readonly params?: readonly Syntax[] | null;
  readonly distinct?: boolean;
  readonly filter_expr?: Syntax | null;
  readonly order_by?: unknown;
}

export interface Alias {
  readonly node: 'Alias';
  readonly alias: string;
  readonly expr: Syntax;
}

interface ArithmeticOperation {
  readonly node: 'ArithmeticOperation';
  readonly op: '+' | '-' | '*' | '/' | '%';
  readonly left: Syntax;
  readonly right: Syntax;
}

export interface CompareOperation {
  readonly node: 'CompareOperation';
  readonly op: string;
  readonly left: Syntax;
  readonly right: Syntax;
}

interface BetweenExpr {
  readonly node: 'BetweenExpr';
  readonly expr: Syntax;
  readonly low: Syntax;
  readonly high: Syntax;
  readonly negated: boolean;
}

interface Logic {
  readonly node: 'And' | 'Or';
  readonly exprs: readonly Syntax[];
}

interface Not {
  readonly node: 'Not';
  readonly expr: Syntax;
}

interface ArrayAccess {
  readonly node: 'ArrayAccess';
  readonly array: Syntax;
  readonly property: Syntax;
}

interface TupleAccess {
  readonly node: 'TupleAccess';
  readonly tuple: Syntax;
  readonly index: number;
}

export interface Listing {
  readonly node: 'Tuple' | 'Array';
  readonly exprs: readonly Syntax[];
}

export interface Lambda {
  readonly node: 'Lambda';
  readonly args: readonly string[];
  readonly expr: Syntax;
}

interface TypeCast {
  readonly node: 'TypeCast';
  readonly expr: Syntax;
  readonly type_name: string;
}

export type Known =
  | Field
  | Constant
  | Call
  | Alias
  | ArithmeticOperation
  | CompareOperation
  | BetweenExpr
  | Logic
  | Not
  | ArrayAccess
  | TupleAccess
  | Listing
  | Lambda
  | TypeCast;

export type Syntax = Known | OtherSyntax;

/** A query: one that only selects expressions from a table has nothing but these. */
export interface SelectQuery {
  readonly node: 'SelectQuery';
  readonly select: readonly Syntax[];
  readonly select_from: JoinExpr | null;
  readonly where?: Syntax | null;
}

export interface JoinExpr {
  readonly node: 'JoinExpr';
  readonly table: Syntax;
  readonly alias: string | null;
  readonly next_join?: unknown;
}
