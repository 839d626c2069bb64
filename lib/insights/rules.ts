import { invalid } from '../ports/errors.ts';
import type { InsightItem } from './model.ts';

/** An insight holds at most so many bytes. */
const MAX_BYTES = 100 * 1024;

/** Returns whether an insight has PostHog's older `filters` in the place of a query: they are kept, and not answered. */
export const hasFiltersAlone = ({ query, filters }: Pick<InsightItem, 'query' | 'filters'>): boolean =>
  query === null && filters !== '{}';

/** Throws a 400 for an insight of filters without a query, which nothing would ever answer. */
export function refuseFiltersAlone(written: Pick<InsightItem, 'query' | 'filters'>): void {
  if (hasFiltersAlone(written)) {
    invalid('filters', "'filters' are not answered without a query. Send `query`, such as a TrendsQuery.");
  }
}

/** Throws a 400 when an insight is too large to be stored; `attr` names the field that holds it. */
export function checkInsightSize(written: Partial<InsightItem>, attr: string | null = null): void {
  if (Buffer.byteLength(JSON.stringify(written)) > MAX_BYTES) {
    invalid(attr, `An insight may hold at most ${MAX_BYTES / 1024} KiB.`);
  }
}
