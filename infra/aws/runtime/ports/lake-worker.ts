import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AnswerWorkerOptions } from '../../../../lib/insights/answering/answer-worker.ts';
import { type LakeWorker, lakeWorker as workerOver } from '../../../../lib/insights/answering/lake-worker.ts';
import { BACKGROUND_MS } from '../../../../lib/insights/answering/pooled-answerer.ts';
import { lakeCopies } from '../../../../lib/lake/copies.ts';
import type { Context } from '../../../../lib/ports/context.ts';
import { READING_MS } from '../../../../lib/warehouse/reader.ts';
import type { RowWorkerOptions } from '../../../../lib/warehouse/row-worker.ts';
import { ofMemory, workers } from '../workers.ts';
import { lake } from './lake.ts';

/** What functions.ts declares the function with, in MB. */
const DECLARED = 4_096;
/** Of them: DuckDB's, and those of the process in which it runs. */
const ANSWER_MEMORY = { databaseMb: ofMemory(1_800, DECLARED), workerMb: ofMemory(2_800, DECLARED) };
/** Beside a worker of answers that waits, of which at most 60 percent of its memory are left. */
const READ_MEMORY = { databaseMb: ofMemory(500, DECLARED), workerMb: ofMemory(900, DECLARED) };
/** Of the 10 GB of disk; the rest is what DuckDB spills. */
const COPIES_BYTES = 6e9;

const ANY_BYTES = { waited: Infinity, background: Infinity, athena: Infinity };

/** The function's own disk. */
const FOLDER = join(tmpdir(), 'lake');

const program = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url));

/** Who reads the lake, in the functions that do: with DuckDB, in workers whose programs lie beside it (bundle.ts). */
export const lakeWorker = ({ clock, log, settings }: Pick<Context, 'clock' | 'log' | 'settings'>): LakeWorker =>
  workerOver({
    mostBytes: settings.queryBytes ?? ANY_BYTES,
    copies: lakeCopies({ lake: lake(), folder: FOLDER, mostBytes: COPIES_BYTES }),
    answers: workers({
      program: program('answer-worker'),
      options: {
        lake: FOLDER,
        parsed: join(tmpdir(), 'parsed'),
        memoryLimit: `${ANSWER_MEMORY.databaseMb}MB`,
      } satisfies AnswerWorkerOptions,
      what: 'Answering the query',
      memoryMb: ANSWER_MEMORY.workerMb,
      silenceMs: BACKGROUND_MS,
    }),
    rows: workers({
      program: program('row-worker'),
      options: { lake: FOLDER, memoryLimit: `${READ_MEMORY.databaseMb}MB` } satisfies RowWorkerOptions,
      what: 'Reading',
      memoryMb: READ_MEMORY.workerMb,
      silenceMs: READING_MS,
    }),
    clock,
    log,
  });
