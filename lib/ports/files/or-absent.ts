/** Returns what the file system gives for a path; undefined when nothing is there. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether the file system says that a path leads to no file, or to no folder. */
export const isAbsence = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Returns what a path leads to; undefined when that is no file, or no folder. */
export async function orNoFile<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}
