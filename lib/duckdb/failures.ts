/** What DuckDB, whose errors have no codes, says in its texts. */
import { messageOf } from '../basics/text.ts';
import { inWords } from '../ports/disk-failures.ts';

/** Whether it had too little memory, and not too little room on the disk for what it moves there. */
export const isOutOfMemory = (error: unknown): boolean => messageOf(inWords(error)).startsWith('Out of Memory');

/** Whether a value of a row cannot be converted, or computed with. */
export const isOfValues = (error: unknown): boolean =>
  /^(Out of Range|Conversion|Invalid Input) Error/.test(messageOf(error));
