/** LIMIT, OFFSET and LIMIT BY. */
import { expression, type Scope } from '../check.ts';
import type { Select } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { isA, type SelectQuery, type Syntax } from '../syntax.ts';

const MAX_ROWS = 10_000_000;

function rowsOf(syntax: Syntax, clause: string): number {
  const value = isA(syntax, 'Constant') ? syntax.value : null;
  const count = typeof value === 'object' && value !== null ? Number(value.number) : Number.NaN;
  return Number.isInteger(count) && count >= 0 && count <= MAX_ROWS
    ? count
    : refuse(`${clause} takes a whole number from 0 to ${MAX_ROWS}`);
}

export function limits({ limit, offset }: Pick<SelectQuery, 'limit' | 'offset'>): Pick<Select, 'limit' | 'offset'> {
  return {
    ...(limit && { limit: rowsOf(limit, 'LIMIT') }),
    ...(offset && { offset: rowsOf(offset, 'OFFSET') }),
  };
}

export const limitByOf = ({ n, offset_value, exprs }: NonNullable<SelectQuery['limit_by']>, scope: Scope) => ({
  count: rowsOf(n, 'LIMIT BY'),
  offset: offset_value ? rowsOf(offset_value, 'OFFSET') : 0,
  of: exprs.map((one) => expression(one, scope)),
});
