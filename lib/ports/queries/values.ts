import { beginningOf } from '../../basics/text.ts';

/** What values of a caller's rows may lead to, by the names that Trino begins its reasons with. */
const VALUES =
  /^(?:DIVISION_BY_ZERO|NUMERIC_VALUE_OUT_OF_RANGE|INVALID_FUNCTION_ARGUMENT|INVALID_CAST_ARGUMENT|EXCEEDED_FUNCTION_MEMORY_LIMIT)\b/;

/** Returns whether Athena failed a query for values of the rows that it reads: it would fail another time, too. */
export const isOfValues = (reason: string): boolean => VALUES.test(reason);

/** Returns the reason of such a failure in words for who asked. */
export const valuesInWords = (reason: string): string =>
  `The query cannot be computed: ${beginningOf(reason.split('\n', 1)[0] ?? '', 300)}`;
