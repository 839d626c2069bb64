/** The conditions by which SQL of Athena reads some files of the lake, of those that its tables have. */
import { trinoLiterals } from '../hogql/trino.ts';

/** By their addresses, of which Athena also knows which files it need not open. */
export const inFilesAt = (addresses: readonly string[]): string => `"$path" IN (${trinoLiterals(addresses)})`;

/** By the last names of their paths: the same in a third of the bytes. */
export const inFilesNamed = (paths: readonly string[]): string =>
  `regexp_extract("$path", '[^/]+$') IN (${trinoLiterals(paths.map((path) => path.slice(path.lastIndexOf('/') + 1)))})`;
