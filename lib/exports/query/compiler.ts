/** The compiler of exports' queries as the service sees it: callers' texts are read and compiled by worker processes. */
import { hogqlParser, type Parser } from '../../hogql/parse.ts';
import { invalid, Transient } from '../../ports/errors.ts';
import { type PoolTask, WorkerLost, type WorkerPool } from '../../workers/pool.ts';
import { failFull, LineFull, type Waiter } from '../../workers/turns.ts';
import type { BatchExportPatch } from '../records/model.ts';
import { type QueryFields, queryFields, type Selection, type StoredQuery, selectionOf } from './compile.ts';

type SentQuery = Pick<BatchExportPatch, 'hogql_query' | 'filters'>;

/** Who waits for the compiler. */
export interface CompileTurn extends Waiter {
  /** It is for a delivery, which does not wait behind what is tried. */
  readonly isDelivery?: boolean;
}

export interface Compiler {
  /** Returns what is stored of the query and the filters that were sent. Fails with 400 for what cannot be exported. */
  fields(sent: SentQuery, waiting: CompileTurn): Promise<QueryFields>;
  /** Returns what a run of the export selects. Throws `Permanent` when what is stored is not supported, or no longer. */
  selection(stored: StoredQuery, waiting: CompileTurn): Promise<Selection>;
}

/** Compiles in this process, in which a text may take any time and memory: what a worker does. */
export const directCompiler = (parser: Parser = hogqlParser()): Compiler => ({
  fields: (sent) => queryFields(parser, sent),
  selection: (stored) => selectionOf(parser, stored),
});

/**
 * A compiler over a pool whose workers run `query-worker.ts`. What takes more time or memory than a worker has is a 400
 * that says so; when too much waits already it is a 429. What is for deliveries is compiled by a pool of its own, if there is one.
 */
export function pooledCompiler(pool: WorkerPool, ofDeliveries = pool): Compiler {
  const direct = directCompiler();
  return {
    fields: async (sent, waiting) => {
      const { hogql_query, filters } = sent;
      if (isEmpty(hogql_query) && isEmpty(filters)) return direct.fields(sent, waiting);
      try {
        return (await pool.run(task('fields', { hogql_query, filters }, waiting))) as QueryFields;
      } catch (error) {
        if (error instanceof WorkerLost) {
          const attr = isEmpty(hogql_query) ? 'filters' : 'hogql_query';
          return invalid(attr, `${error.message} Make the query shorter, or nest less in it.`);
        }
        if (error instanceof LineFull) failFull('Too many queries wait to be read at this moment.');
        throw error;
      }
    },
    selection: async (stored, waiting) => {
      const { hogql_query, schema, filters } = stored;
      if (isEmpty(hogql_query) && isEmpty(filters)) return direct.selection(stored, waiting);
      try {
        const workers = waiting.isDelivery === true ? ofDeliveries : pool;
        return (await workers.run(task('selection', { hogql_query, schema, filters }, waiting))) as Selection;
      } catch (error) {
        if (error instanceof LineFull)
          throw new Transient('Too many queries wait to be read at this moment.', { isOwn: true });
        throw error;
      }
    },
  };
}

const task = (name: string, input: object, { organization, user, signal }: CompileTurn): PoolTask => ({
  name,
  input,
  owner: organization,
  user,
  signal,
});

const isEmpty = (sent: unknown): boolean => sent === undefined || sent === null;
