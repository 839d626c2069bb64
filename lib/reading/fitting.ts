/** How many rows of a page are read whole: what sorts rows holds all that it is asked for, and the longest have megabytes. */

/** So few of the longest rows are sorted as they are; of more it is looked first how many fit. */
export const MOST_SORTED_WHOLE = 11;

/**
 * SQL that stands behind a SELECT of rows that tell their `bytes`, in the order of a page: of these it leaves those that
 * have so many bytes together, and the first behind them, so that whoever reads them finds that they are too many.
 */
export const fittingIn = (order: string, most: number): string =>
  `WINDOW so_far AS (${order} ROWS UNBOUNDED PRECEDING)
   QUALIFY row_number() OVER so_far <= 2 OR sum(bytes) OVER so_far - bytes <= ${most}`;
