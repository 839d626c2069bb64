import { isAbsolute, relative, sep } from 'node:path';

/** Returns whether an absolute path is one of the roots, or leads below one by its names; links are not followed. */
export const isBelow = (path: string, roots: readonly string[]): boolean =>
  roots.some((root) => {
    const way = relative(root, path);
    return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
  });
