/** Placeholders of a query, `{name}`, and what is put in their place: syntax, never text. */
import { beginningOf } from '../basics/text.ts';
import { refuse } from './refusal.ts';
import { type BetweenExpr, isA, type JoinExpr, type SelectQuery, type Syntax } from './syntax.ts';
import { all, any, comparison, constant } from './write.ts';

/**
 * What stands for a placeholder. A function is asked with the names of the tables that the SELECT around it reads itself.
 * Null: there is nothing to compare with, and a comparison with it holds.
 */
export type Filling = Syntax | null | ((tables: ReadonlySet<string>) => Syntax);

/** Returns the syntax with every placeholder filled. Throws a `Refusal` for one that has no value. */
export function filled(syntax: Syntax, values: Readonly<Record<string, Filling>>): Syntax {
  /** Placeholders that nothing can be compared with, outside of the comparisons that were read. */
  const missing: string[] = [];
  const walk = (value: unknown, tables: ReadonlySet<string>): unknown => {
    if (Array.isArray(value)) return value.map((one) => walk(one, tables));
    if (typeof value !== 'object' || value === null) return value;
    const node = 'node' in value ? value.node : undefined;
    if (node === 'Placeholder') return valueOf(nameOf(value), tables);
    if (node === 'BetweenExpr') return between(value as BetweenExpr, tables);
    const inside = node === 'SelectQuery' ? tablesOf(value as SelectQuery) : tables;
    const made = () => Object.fromEntries(Object.entries(value).map(([key, below]) => [key, walk(below, inside)]));
    return isComparison(value) ? (compared(made) ?? constant(true)) : made();
  };
  /** What is made; undefined: there is nothing to compare it with. */
  const compared = <Made>(make: () => Made): Made | undefined => {
    const before = missing.length;
    const made = make();
    return missing.splice(before).length === 0 ? made : undefined;
  };
  /** A bound that is missing is left out, as of the two comparisons that it stands for. */
  const between = ({ expr, low, high, ...rest }: BetweenExpr, tables: ReadonlySet<string>): Syntax => {
    const [value, from, to] = [expr, low, high].map((one) => compared(() => walk(one, tables) as Syntax));
    if (value && from && to) return { ...rest, expr: value, low: from, high: to } satisfies BetweenExpr;
    const side = (op: string, bound: Syntax | undefined): Syntax =>
      value && bound ? comparison(op, value, bound) : constant(true);
    return rest.negated ? any([side('<', from), side('>', to)]) : all([side('>=', from), side('<=', to)]);
  };
  const valueOf = (name: string, tables: ReadonlySet<string>): Syntax => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) return refuseName(name);
    if (value !== null) return typeof value === 'function' ? value(tables) : value;
    missing.push(name);
    return constant(null);
  };
  const whole = walk(syntax, new Set()) as Syntax;
  return missing[0] === undefined ? whole : refuseName(missing[0]);
}

const COMPARING = /^(?:equals|notEquals|less|lessOrEquals|greater|greaterOrEquals)$/i;

const isComparison = (value: object): boolean => {
  const { node, name = '' } = value as { readonly node?: string; readonly name?: string };
  return node === 'CompareOperation' || (node === 'Call' && COMPARING.test(name));
};

const refuseName = (name: string): never => refuse(`The placeholder {${beginningOf(name, 100)}} has no value`);

/** The tables that a SELECT names after FROM and JOIN. */
function tablesOf({ select_from: from }: SelectQuery): ReadonlySet<string> {
  const names = new Set<string>();
  for (let join: JoinExpr | null | undefined = from; join; join = join.next_join)
    if (isA(join.table, 'Field')) names.add(join.table.chain.join('.'));
  return names;
}

function nameOf(placeholder: object): string {
  const { expr } = placeholder as { readonly expr?: { readonly node?: string; readonly chain?: readonly unknown[] } };
  return expr?.node === 'Field' && expr.chain !== undefined
    ? expr.chain.join('.')
    : refuse('A placeholder is a name in braces, as in {filters}');
}
