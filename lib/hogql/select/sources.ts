/** What FROM and JOIN name: tables, queries of WITH, subqueries. */

import { getOrMake } from '../../basics/maps.ts';
import { beginningOf } from '../../basics/text.ts';
import { integerConstant } from '../build.ts';
import { refuseParts } from '../check.ts';
import { withClickhouseType } from '../clickhouse-types.ts';
import type { Column, Expression, Join, Select, Source } from '../expression.ts';
import { refuse, within } from '../refusal.ts';
import { columnOf } from '../size.ts';
import { isA, isQuery, type JoinExpr, type Syntax } from '../syntax.ts';
import { columnNamed } from './columns.ts';
import type { Relation } from './making.ts';
import { countSource, type Named, relationName, type TableFields, type Whole } from './whole.ts';

const FROM_CLAUSES: Readonly<Record<string, string>> = {
  table_args: 'Table functions are not supported',
  sample: 'SAMPLE is not supported',
  table_final: 'FINAL is not supported',
  column_aliases: 'Column aliases of a table are not supported',
};

const KINDS: Readonly<Record<string, Join['kind']>> = {
  JOIN: 'inner',
  'INNER JOIN': 'inner',
  'LEFT JOIN': 'left',
  'LEFT OUTER JOIN': 'left',
  'CROSS JOIN': 'cross',
};

interface Joined {
  readonly source: Source;
  readonly relation: Relation;
  readonly kind: Join['kind'];
  readonly on: Syntax | undefined;
}

export function sourcesOf(first: JoinExpr, named: Named, whole: Whole): Joined[] {
  const all: Joined[] = [];
  for (let join: JoinExpr | null | undefined = first; join; join = join.next_join) {
    const read = join;
    const kind = within(read, () => kindOf(read));
    countSource(whole);
    const found = within(read.table, () => sourceOf(read, named, whole));
    const taken = all.flatMap(({ relation }) => relation.names);
    const twice = found.relation.names.find((name) => taken.includes(name));
    if (twice !== undefined) refuse(`Two tables have the name ${twice}; give one another by AS`);
    all.push({ ...found, kind, on: read.constraint?.expr });
  }
  return all;
}

/** How a table is joined. Refuses what else is said of it. */
function kindOf(join: JoinExpr): Join['kind'] {
  refuseParts(join, ['node', 'table', 'alias', 'next_join', 'join_type', 'constraint'], FROM_CLAUSES);
  const { constraint, join_type } = join;
  const type = join_type ?? 'CROSS JOIN';
  const kind = KINDS[type] ?? refuse(`${type} is not supported; there are INNER, LEFT and CROSS JOIN`);
  if (constraint?.constraint_type === 'USING') refuse('USING is not supported; use ON');
  if (kind !== 'cross' && !constraint) refuse(`${type} takes a condition after ON`);
  return kind === 'cross' && constraint ? refuse('CROSS JOIN takes no condition') : kind;
}

function sourceOf({ table, alias }: JoinExpr, named: Named, whole: Whole): Pick<Joined, 'source' | 'relation'> {
  const as = relationName(whole);
  if (isQuery(table)) {
    const { query, columns } = whole.check(table, named);
    return { source: { query, as }, relation: ofColumns(as, alias === null ? [] : [alias], columns) };
  }
  if (table.node === 'Placeholder') refuse('A placeholder has no value');
  if (!isA(table, 'Field')) return refuse('FROM takes a table or a subquery');
  const name = table.chain.join('.');
  const names = [alias ?? name];
  const query = named.get(name);
  if (query !== undefined) return { source: { named: query.name, as }, relation: ofColumns(as, names, query.columns) };
  const fields =
    whole.tables.get(name) ??
    refuse(`Unknown table ${beginningOf(name, 100)}. There are: ${[...whole.tables.keys()].toSorted().join(', ')}.`);
  return { source: { table: name, as }, relation: ofTable(as, names, name, fields, whole) };
}

/** Columns of a query, by their names. */
function ofColumns(as: string, names: readonly string[], columns: readonly Column[]): Relation {
  const found = new Map(
    columns.map(({ name, expression: value, clickhouse }, n) => {
      const column = columnOf(value, as, `c${n}`);
      return [name, withClickhouseType(column, clickhouse)] as const;
    }),
  );
  return {
    as,
    names,
    all: [...found.keys()],
    below: [],
    find: ([name]) => {
      const value = found.get(String(name));
      return value && { value, length: 1 };
    },
  };
}

function ofTable(as: string, names: readonly string[], table: string, fields: TableFields, whole: Whole): Relation {
  const longest = Math.max(0, ...[...fields.keys()].map((name) => name.split('.').length));
  const found = new Map<string, Expression>();
  return {
    as,
    names,
    all: [...fields.keys()].filter((name) => !name.includes('.')),
    below: [...fields.keys()].filter((name) => name.includes('.')),
    find: (path) => {
      for (let length = Math.min(longest, path.length); length > 0; length -= 1) {
        const name = path.slice(0, length).join('.');
        const field = fields.get(name);
        if (field === undefined) continue;
        const value = getOrMake(found, name, () =>
          withClickhouseType({ relation: as, column: field.column, type: field.type }, field.clickhouse),
        );
        getOrMake(whole.read, table, () => new Set()).add(field.column);
        return { value, length };
      }
      return undefined;
    },
  };
}

/** One row of no use. */
export function nothingSelected(whole: Whole): Source {
  const one = integerConstant(1);
  const query: Select = { joins: [], columns: [columnNamed('1', one)], distinct: false, order: [] };
  return { query, as: relationName(whole) };
}
