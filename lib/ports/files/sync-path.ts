import { open } from 'node:fs/promises';

/** Brings to the disk what a file holds, or the names in a folder. */
export async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
