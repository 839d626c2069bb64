import { allFiles, type LakeFile } from '../lake/catalog.ts';
import type { Model } from '../lake/schema.ts';
import type { Context } from '../ports/context.ts';
import { invalid } from '../ports/errors.ts';
import { READING_MS, type Reading, type ReadRows } from '../warehouse/reader.ts';

/** What reads a project for one answer. */
export interface Look {
  /** The project's number. */
  readonly project: number;
  /** Returns all files of a model, in the order of arrival days. */
  files(model: Model): Promise<LakeFile[]>;
  /** Returns rows of files; of no files there are none. `Row` is what the reading's SQL makes of the lake's rows, which nothing but tests can hold it to. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- whoever writes the SQL says what its rows are
  rows<Row>(reading: Reading): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }>;
}

/** Where is read. */
interface Place {
  readonly organization: { readonly id: string };
  readonly project: { readonly id: number };
}

/**
 * Returns what reads a project for one answer, in the turn of its organization and of who asks, for so long as somebody waits
 * for it. Throws a 400 where that is not offered.
 */
export function lookFor(
  { table, reader, callerLeft, callerUser: user }: Pick<Context, 'table' | 'reader' | 'callerLeft' | 'callerUser'>,
  { organization: { id: organization }, project: { id: project } }: Place,
): Look {
  if (reader === null)
    return invalid(null, 'Reading events, persons and their names is not offered here. Export them instead.');
  const timeout = AbortSignal.timeout(READING_MS);
  const signal = callerLeft === undefined ? timeout : AbortSignal.any([callerLeft, timeout]);
  return {
    project,
    files: (model) => allFiles(table, project, model),
    rows: async (reading) => {
      if (reading.files.length === 0) return { rows: [], isCut: false };
      return reader.read(reading, { organization, user, signal }) as Promise<ReadRows & { rows: never[] }>;
    },
  };
}
