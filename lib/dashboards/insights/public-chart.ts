/** The chart of an answer, as others than members may see it. */
import { MINUTE_MS } from '../../basics/units.ts';
import type { Chart } from '../../charts/chart.ts';
import { chartOf } from '../../charts/describe/describe.ts';
import { shownQuery } from '../../charts/describe/read.ts';
import { wireInstant } from '../../http/instant.ts';
import { parseJson } from '../../http/json.ts';
import type { KeptAnswer } from '../../insights/answering/cache.ts';
import type { KnownAnswer } from '../../insights/answering/computations.ts';
import { meansTheSame } from '../../insights/answering/freshness.ts';
import { publicColumns } from './public-answer.ts';

/** An answer of a project's insight, and the query with its display, as it is stored. */
export interface AnsweredInsight {
  readonly project: number;
  readonly query: string;
  /** The project's zone. */
  readonly timezone: string;
  readonly told: KnownAnswer;
  /** When it is shown. */
  readonly now: number;
}

/** The clocks of all zones show another quarter of an hour at once. */
const QUARTER_MS = 15 * MINUTE_MS;

/**
 * Returns when an answer that is kept is known to have been true, to a quarter of an hour after it was computed: it is true
 * as long as the clock makes it no other one, and has been asked for anew where its files are others.
 */
export const trueAt = ({ at, clock }: KeptAnswer, { timezone, now }: AnsweredInsight): number =>
  meansTheSame(clock, at, now, timezone) ? Math.max(at, now - (now % QUARTER_MS)) : at;

/** Returns the chart of an answer that is kept, as others than members may see it: `publicColumns`. */
export function chartOfAnswer(answered: AnsweredInsight): Chart {
  const { query, timezone, told } = answered;
  const { kept } = told;
  const answer = kept?.answer ?? { results: null };
  const { results, columns, types, hasMore = false, resolved_date_range: range } = answer;
  const asked = parseJson(query);
  return chartOf(asked, {
    results,
    columns: columns?.map(String),
    names: publicColumns(shownQuery(asked), answer),
    hasMore,
    timezone,
    ...(kept !== null && { computedAt: wireInstant(kept.at), trueAt: wireInstant(trueAt(kept, answered)) }),
    range,
    ...(Array.isArray(types) ? { types } : {}),
  });
}
