/** Answers where the lake is elsewhere: a question is asked again once copies of the files that it reads are there. */
import type { CopiedFile } from '../../lake/copies.ts';
import { type AnswerInput, type ComputedAnswer, computed } from './answerer.ts';
import type { WorldFile } from './looking-world.ts';
import { checkSize, type MostRead } from './read-bytes.ts';
import type { WorldDatabase } from './world.ts';

/** A query, and how much may be read for its answer. Plain JSON. */
export interface AnswerOfCopies extends AnswerInput {
  readonly most: MostRead;
}

/** Plain JSON. */
export type AnsweredOfCopies =
  | { readonly answered: ComputedAnswer; readonly read: readonly string[] }
  /** Some of these files are not there, and all of them are read. */
  | { readonly wanted: readonly CopiedFile[] };

/** Of these files some are not there. */
class Wanted extends Error {
  readonly files: readonly WorldFile[];
  constructor(files: readonly WorldFile[]) {
    super('copies of files are wanted');
    this.files = files;
  }
}

/**
 * Computes an answer of copies, or tells which are wanted first. Throws a 400 when the answer needs more bytes than it
 * may: that is known before a file is fetched, or read.
 */
export async function answerOfCopies(
  worlds: WorldDatabase,
  { most, ...asked }: AnswerOfCopies,
  isThere: (path: string) => boolean,
): Promise<AnsweredOfCopies> {
  const read = new Map<string, WorldFile>();
  try {
    const answered = await computed(worlds, asked, (files) => {
      for (const file of files) read.set(file.path, file);
      const all = [...read.values()];
      checkSize(all, most);
      if (!files.every(({ path }) => isThere(path))) throw new Wanted(all);
    });
    return { answered, read: [...read.keys()] };
  } catch (error) {
    if (!(error instanceof Wanted)) throw error;
    return { wanted: error.files.map(({ path, bytes = 0 }) => ({ path, bytes })) };
  }
}
