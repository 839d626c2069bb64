/** How many rows of a page are read whole: what sorts rows holds all that it is asked for, and the longest have megabytes. */
import { MOST_READ_BYTES } from '../warehouse/reader.ts';

/** So few of the longest rows are sorted as they are; of more it is looked first how many fit. */
export const MOST_SORTED_WHOLE = 11;

/**
 * SQL that stands behind a SELECT of rows that tell their `bytes`, in the order of a page: of these it leaves those that
 * have as many bytes together as a reading gives, and the first behind them, so that it says that they were cut.
 */
export const fittingIn = (order: string): string =>
  `WINDOW so_far AS (${order} ROWS UNBOUNDED PRECEDING)
   QUALIFY row_number() OVER so_far <= 2 OR sum(bytes) OVER so_far - bytes <= ${MOST_READ_BYTES}`;
