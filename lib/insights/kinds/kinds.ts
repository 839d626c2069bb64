/** The kinds of query that are answered, and what else a query may be sent as. */
import { invalid } from '../../ports/errors.ts';
import { isObject } from '../../ports/raw-number.ts';
import { actorsOf } from './actors.ts';
import { events } from './events.ts';
import { funnels } from './funnels.ts';
import { hogql } from './hogql.ts';
import type { Kind } from './kind.ts';
import { lifecycle } from './lifecycle.ts';
import { paths } from './paths.ts';
import { retention } from './retention.ts';
import { stickiness } from './stickiness.ts';
import { trends } from './trends.ts';

/** Those that count persons, and may say who is behind a number. */
const COUNTING = [funnels, lifecycle, paths, retention, stickiness, trends];

const KINDS = [...COUNTING, actorsOf(COUNTING), events, hogql];

const byName: ReadonlyMap<string, unknown> = new Map(KINDS.map((kind) => [kind.name, kind]));

/** Nodes that say how an answer is shown; they are answered as their `source`. */
const WRAPPERS: ReadonlySet<unknown> = new Set(['InsightVizNode', 'DataTableNode', 'DataVisualizationNode']);

const MAX_WRAPPERS = 4;

/** A query as its kind has it: an object with `kind`. */
export type SentQuery = Readonly<Record<string, unknown>> & { readonly kind: string };

/** Returns the query that is answered, out of what shows it. Throws a 400 for what is no query. */
export function sourceOf(sent: unknown, wrappers = 0): SentQuery {
  if (!isObject(sent)) return invalid('query', 'A query is an object with a `kind`, such as {"kind": "TrendsQuery"}.');
  const { kind } = sent;
  if (typeof kind !== 'string' || kind === '')
    return invalid('query', `The query has no \`kind\`. ${known()}`, 'parse_error');
  if (WRAPPERS.has(kind) && wrappers < MAX_WRAPPERS) return sourceOf(sent['source'], wrappers + 1);
  return { ...sent, kind };
}

/** Returns the kind of a query. Throws a 400 when there is none of its name. */
export function kindOf({ kind: name }: SentQuery): Kind {
  const kind = byName.get(name);
  // Its schema has read the query before it answers.
  if (kind !== undefined) return kind as Kind;
  const shown = name.slice(0, 100);
  if (/^\w+Node$/.test(name)) return invalid('query', `Unsupported query kind: ${shown}`, 'parse_error');
  return invalid('query', `'${shown}' is not a kind of query that is answered here. ${known()}`, 'parse_error');
}

const known = (): string => `These are answered: ${[...byName.keys()].toSorted().join(', ')}.`;
