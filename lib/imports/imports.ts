/** The port to what imports by request need beside the table. */
import type * as z from 'zod';
import { invalid } from '../ports/errors.ts';
import type { FileStore } from '../ports/files/files.ts';
import type { Preview, ReadingOptions } from './model.ts';

export interface Imports {
  /** Uploaded parts, and copies of what was rejected. */
  readonly files: FileStore;
  /** Copies of what imports of the command line rejected, below `importsOf` of their projects. */
  readonly rejected: FileStore;
  /** Returns how many bytes of its disk are free. */
  freeBytes(): Promise<number>;
  /** Reads the first records of uploaded parts. Fails with 429 and 503 when there is too much to do. */
  preview(asked: PreviewTask, organization: string, user?: string): Promise<z.input<typeof Preview>>;
}

export interface PreviewTask {
  /** Of the parts, in their order. */
  readonly paths: readonly string[];
  /** Whether these are all of the file. */
  readonly isWhole: boolean;
  readonly options: ReadingOptions;
}

/** Returns the port. Throws the 400 of a place that takes no files. */
export const offeredImports = ({ imports }: { readonly imports: Imports | null }): Imports =>
  imports ??
  invalid(null, 'Importing files by request is not offered on AWS yet. Import them with the command line, by --stage.');
