/** A user whom the system refuses what a folder's mode forbids, which it does not refuse root. */
import { chmodSync, lchownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { folderOfFile } from './context.ts';

/** On most systems nobody; it need not have a name. */
const NOBODY = 65_534;

/** Does the work as somebody who is not root, and who has `folder` with all that is in it. Tests that root runs are nobody's meanwhile. */
export async function asOrdinaryUser<T>(folder: string, work: () => T | Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  for (const path of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })]) {
    lchownSync(join(folder, path), NOBODY, NOBODY);
  }
  chmodSync(folderOfFile(), 0o711);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
