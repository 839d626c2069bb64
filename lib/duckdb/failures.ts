/** What DuckDB, whose errors have no codes, says in its texts. */
import { messageOf } from '../basics/text.ts';
import { inWords } from '../ports/disk-failures.ts';

/** Whether it had too little memory, and not too little room on the disk for what it moves there. */
export const isOutOfMemory = (error: unknown): boolean => messageOf(inWords(error)).startsWith('Out of Memory');

/** Whether a value of a row cannot be converted, or computed with. */
export const isOfValues = (error: unknown): boolean =>
  /^(Out of Range|Conversion|Invalid Input) Error/.test(messageOf(error)) && !isOfParquetFile(error);

/** Whether a file is not Parquet as it was written. What it shows of the SQL, from the second line on, may name such files anyway. */
export const isOfParquetFile = (error: unknown): boolean =>
  /parquet|magic bytes/i.test(messageOf(error).split('\n', 1)[0] ?? '');
