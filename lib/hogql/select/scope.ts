/** What an expression means in a SELECT: fields of its tables, aliases, aggregates, windows, subqueries. */
import { beginningOf } from '../../basics/text.ts';
import { place, type Scope, standing, standingFor } from '../check.ts';
import type { Expression } from '../expression.ts';
import { refuse } from '../refusal.ts';
import { isA, isQuery, type Syntax } from '../syntax.ts';
import { callOf } from './calls.ts';
import { keyFor } from './groups.ts';
import type { Making, Stage } from './making.ts';
import { overCall } from './over.ts';
import { amongQuery, valueOfQuery } from './subqueries.ts';

/** What an expression means at a stage of a SELECT. */
export function scopeOf(making: Making, stage: Stage, takesWindows = false): Scope {
  return {
    beyond: {
      field: (path, scope) => fieldOf(path, making, scope),
      call: (node, scope) => callOf(node, making, stage, scope, () => scopeInside(scope, making, 'rows')),
      other: (syntax, scope) => otherOf(syntax, making, stage, takesWindows, scope),
      among: (value, query) => amongQuery(value, query, making),
      standing: (built) => (stage === 'groups' ? keyFor(built, making) : built),
    },
    table: new Map(),
    reader: 'Queries',
    tables: [],
    aliases: making.aliases,
    built: new Map(),
    following: [],
    variables: [],
    isSelect: true,
    visits: making.whole.visits,
  };
}

/** What an expression means inside another one, which may be what an alias stands for. */
const scopeInside = ({ following }: Scope, making: Making, stage: Stage): Scope => ({
  ...scopeOf(making, stage),
  following,
});

function fieldOf(path: readonly (string | number)[], making: Making, scope: Scope): Expression {
  const name = String(path[0]);
  const aliased = scope.following.includes(name) ? undefined : scope.aliases.get(name);
  if (aliased !== undefined) return below(standingFor(name, aliased, scope), path, 1, making, scope);
  const relation = path.length > 1 ? making.relations.find(({ names }) => names.includes(name)) : undefined;
  const qualified = relation?.find(path.slice(1));
  if (qualified !== undefined) return below(qualified.value, path, qualified.length + 1, making, scope);
  const found = making.relations.flatMap((one) => one.find(path) ?? []);
  const [first] = found;
  if (first === undefined) return unknown(path, making);
  if (found.length > 1) refuse(`Ambiguous query. Found multiple sources for field: ${beginningOf(name, 200)}`);
  return below(first.value, path, first.length, making, scope);
}

/** What lies at the rest of a path, below the value that its beginning names. */
function below(
  value: Expression,
  path: readonly (string | number)[],
  length: number,
  { whole }: Making,
  scope: Scope,
): Expression {
  whole.names.set(value, path.slice(0, length).join('.'));
  return place(standing(value, scope), path.slice(length), path, 'property_value');
}

function unknown(path: readonly (string | number)[], { relations, named }: Making): never {
  const name = beginningOf(path.join('.'), 200);
  if (named.has(name))
    refuse(`${name} is a query that WITH names; its rows are read by FROM, as in IN (SELECT … FROM ${name})`);
  const [first, second] = path;
  const isQualified = path.length > 1 && relations.some(({ names }) => names.includes(String(first)));
  const alike = relations.flatMap(({ below: all }) =>
    all.filter((one) => one.startsWith(`${isQualified ? second : first}.`)),
  );
  const all = alike.length > 0 ? alike : relations.flatMap((one) => one.all);
  const known = [...new Set(all)].toSorted().slice(0, 40).join(', ');
  const fields = known === '' ? '' : `. Fields are: ${known}`;
  const asText = path.length === 1 ? `. A text stands in single quotes: '${name}'` : '';
  return refuse(`Invalid HogQL query: Unable to resolve field: ${name}${fields}${asText}`);
}

/** Windows, and what is refused in a SELECT by another name than in an expression. */
function otherOf(
  syntax: Syntax,
  making: Making,
  stage: Stage,
  takesWindows: boolean,
  scope: Scope,
): Expression | undefined {
  if (syntax.node === 'Placeholder') return refuse('A placeholder has no value');
  if (isQuery(syntax)) return valueOfQuery(syntax, making, stage, scope);
  if (!isA(syntax, 'WindowFunction')) return undefined;
  if (!takesWindows || scope.variables.length > 0)
    refuse(`Window functions are only supported in SELECT and ORDER BY: ${syntax.name}()`);
  return overCall(syntax, making, scopeInside(scope, making, stage));
}
