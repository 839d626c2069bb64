/** From what a query answered to its chart. */
import type { Chart } from '../chart.ts';
import { type Answered, type Describer, nothing } from './describer.ts';
import { describeFunnels } from './funnels.ts';
import { describePaths } from './paths.ts';
import { shownQuery, text } from './read.ts';
import { describeRetention } from './retention.ts';
import { describeRows } from './rows.ts';
import { describeLifecycle, describeStickiness, describeTrends } from './trends.ts';

/** By the `kind` of the query. */
const DESCRIBERS: Readonly<Record<string, Describer>> = {
  TrendsQuery: describeTrends,
  FunnelsQuery: describeFunnels,
  RetentionQuery: describeRetention,
  StickinessQuery: describeStickiness,
  LifecycleQuery: describeLifecycle,
  PathsQuery: describePaths,
  EventsQuery: describeRows,
  HogQLQuery: describeRows,
  ActorsQuery: describeRows,
};

/**
 * Returns the chart of what a query answered, in the display that the query asks for. It never throws: what cannot be
 * read is a chart that says so.
 */
export function chartOf(query: unknown, answered: Answered): Chart {
  const source = shownQuery(query);
  const describer = DESCRIBERS[text(source['kind']) ?? ''];
  if (describer === undefined) return nothing('There is no picture of this kind of query.');
  return describer(source, answered);
}
