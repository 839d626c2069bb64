import { fileURLToPath } from 'node:url';
import { SECOND_MS } from '../../../../lib/basics/units.ts';
import { pooledCompiler } from '../../../../lib/exports/query/compiler.ts';
import { workers } from '../workers.ts';

/** A query of a thousand columns takes 1.3 s of a whole core; on the sixth of one that a function may have, 8. */
const QUERY_SILENCE_MS = 10 * SECOND_MS;
/** Of the 512 MB that its functions have. */
const QUERY_MEMORY_MB = 250;

/** Its worker's program lies beside the function's own (bundle.ts). */
export const compiler = () =>
  pooledCompiler(
    workers({
      program: fileURLToPath(new URL('./query-worker.js', import.meta.url)),
      options: null,
      what: 'Reading the query',
      memoryMb: QUERY_MEMORY_MB,
      silenceMs: QUERY_SILENCE_MS,
    }),
  );
