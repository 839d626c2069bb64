/** What an insight's answer looks like. */
import type { Chart } from '../charts/chart.ts';
import { chartOf } from '../charts/describe/describe.ts';
import { parseJson } from '../http/json.ts';
import type { ResultFields } from './results.ts';

/** Returns the chart of an answer to an insight's query, which is JSON. */
export function chartOfResult(query: string, { result, columns, types, hasMore }: ResultFields): Chart {
  return chartOf(parseJson(query), {
    results: result,
    columns: columns?.map(String),
    hasMore,
    ...(Array.isArray(types) ? { types } : {}),
  });
}
