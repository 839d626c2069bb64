/** The columns that a SELECT gives. */
import { beginningOf } from '../../basics/text.ts';
import { expression, type Scope, standing, standingFor } from '../check.ts';
import { clickhouseType } from '../clickhouse-types.ts';
import type { Column, Expression } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { chainOf, isA, type Syntax } from '../syntax.ts';
import { hogqlName } from '../text.ts';
import type { Making } from './making.ts';

/** The columns of an entry of SELECT: one, or those that `*` stands for. */
export function columnsOf(syntax: Syntax, making: Making, scope: Scope): Column[] {
  const path = isA(syntax, 'Field') ? syntax.chain : [];
  if (path.at(-1) === '*') return starOf(path.slice(0, -1), making, scope);
  const aliased = isA(syntax, 'Alias') ? syntax : undefined;
  if (aliased !== undefined) return [columnNamed(aliased.alias, standingFor(aliased.alias, aliased.expr, scope))];
  const column = columnNamed(hogqlName(syntax), expression(syntax, scope));
  const { computed } = making.whole;
  const chain = chainOf(syntax);
  // A field may be such a column of a subquery.
  if (chain === undefined || chain.some((part) => computed.has(String(part)))) computed.add(column.name);
  return [column];
}

export const columnNamed = (name: string, value: Expression): Column => ({
  name,
  type: value.type,
  clickhouse: clickhouseType(value),
  expression: value,
});

function starOf(table: readonly (string | number)[], making: Making, scope: Scope): Column[] {
  const [name] = table;
  const relations =
    name === undefined ? making.relations : making.relations.filter(({ names }) => names.includes(String(name)));
  if (relations.length === 0 || table.length > 1)
    refuse(`Unknown table ${beginningOf(table.join('.'), 100)} before .*`);
  return relations.flatMap((relation) =>
    relation.all.map((field) => {
      const { value } = relation.find([field]) as { readonly value: Expression };
      making.whole.names.set(value, field);
      return columnNamed(field, standing(value, scope));
    }),
  );
}

/** The column that a number names by its place, from 0; undefined: it is no number. */
export function positionOf(syntax: Syntax, columns: number): number | undefined {
  if (!isA(syntax, 'Constant') || typeof syntax.value !== 'object' || syntax.value === null) return undefined;
  const number = Number(syntax.value.number);
  if (!Number.isInteger(number)) return undefined;
  return number >= 1 && number <= columns ? number - 1 : refuse(`There is no column ${number}`);
}
