/** The kinds of query that are answered. */
import { beginningOf } from '../../basics/text.ts';
import { invalid } from '../../ports/errors.ts';
import { actorsOf } from './actors.ts';
import { events } from './events.ts';
import { funnels } from './funnels.ts';
import { hogql } from './hogql.ts';
import type { Kind } from './kind.ts';
import { lifecycle } from './lifecycle.ts';
import { metadata } from './metadata.ts';
import { paths } from './paths.ts';
import { retention } from './retention.ts';
import type { SentQuery } from './source.ts';
import { stickiness } from './stickiness.ts';
import { trends } from './trends.ts';

/** Those that count persons, and may say who is behind a number. */
const COUNTING = [funnels, lifecycle, paths, retention, stickiness, trends];

/** Those that have results. */
export const KINDS = [...COUNTING, actorsOf(COUNTING), events, hogql];

/** All of them: one tells of a query, and asks nothing. */
export const ALL_KINDS = [...KINDS, metadata];

const byName: ReadonlyMap<string, unknown> = new Map(ALL_KINDS.map((kind) => [kind.name, kind]));

/** Returns the kind of a query. Throws a 400 when there is none of its name. */
export function kindOf({ kind: name }: SentQuery): Kind {
  const kind = byName.get(name);
  // Its schema has read the query before it answers.
  if (kind !== undefined) return kind as Kind;
  const shown = beginningOf(name, 100);
  if (/^\w+Node$/.test(name)) return invalid('query', `Unsupported query kind: ${shown}`, 'parse_error');
  return invalid('query', `'${shown}' is not a kind of query that is answered here. ${known()}`, 'parse_error');
}

const known = (): string => `These are answered: ${[...byName.keys()].toSorted().join(', ')}.`;
