import { statfs } from 'node:fs/promises';

/** How many bytes this process may still write to the disk of a folder that is there. */
export async function freeBytesAt(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
