import { jsonLines, logTo } from '../../../lib/ports/log.ts';
import { type PoolOptions, workerPool } from '../../../lib/workers/pool.ts';
import { variable, write } from './environment.ts';

/** Returns these MB, which suit a function of `declared` MB, or as much less as this one has less: a stage may give less. */
export const ofMemory = (mb: number, declared: number): number => {
  const given = Number(process.env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'] ?? declared);
  return Math.floor(mb * Math.min(1, given / declared));
};

/** A worker process of a function, which does one thing at a time and is frozen with it between calls. */
export const workers = ({
  memoryMb,
  ...options
}: Pick<PoolOptions, 'program' | 'options' | 'what' | 'silenceMs'> & { readonly memoryMb: number }) =>
  workerPool({
    ...options,
    turns: { atOnce: 1, each: 1 },
    memory: { each: memoryMb, all: memoryMb },
    log: logTo(jsonLines(write), Date.now, 'INFO', { stage: variable('STAGE') }),
  });
