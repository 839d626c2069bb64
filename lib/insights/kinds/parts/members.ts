/** Members that queries of several kinds have besides their question. */
import * as z from 'zod';
import { DateRange } from './date-range.ts';
import { propertyFilters } from './property-filters.ts';

/**
 * Returns a field for what PostHog's API has and this service lacks, by its name in words: it is refused unless it is
 * absent, null, or one of the values that change nothing.
 */
export const lacking = (what: string, ...harmless: readonly unknown[]) =>
  z
    .unknown()
    .refine((sent) => sent === undefined || sent === null || harmless.includes(sent), {
      error: `${what} not supported.`,
    })
    .optional();

const isEmpty = (list: readonly unknown[]): boolean => list.length === 0;

/** Returns `breakdownFilter` of a kind that lacks breakdowns, by its name in words: it may name nothing. */
export const noBreakdown = (of: string) => {
  const what = `Breakdowns of ${of} are`;
  const none = z.array(z.unknown()).refine(isEmpty, `${what} not supported.`).meta({ maxItems: 0 });
  return z
    .object({
      breakdown: z.preprocess((sent) => (Array.isArray(sent) && isEmpty(sent) ? null : sent), lacking(what, '')),
      breakdowns: none.nullish(),
    })
    .nullish();
};

/** Which events a query is about; and what no kind supports, to be refused by its name. */
export const MEMBERS = {
  dateRange: DateRange.nullish(),
  properties: propertyFilters(),
  filterTestAccounts: z.boolean().nullish(),
  samplingFactor: lacking('Sampling is', 1),
  aggregation_group_type_index: lacking('Groups are'),
} as const;
