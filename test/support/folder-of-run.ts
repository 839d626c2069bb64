import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let made: string | undefined;

/**
 * A temporary folder for a whole run of jest, or a rehearsal, and the processes that it starts: what they leave in it
 * goes with it.
 */
export const folderOfRun = {
  open(): void {
    made = mkdtempSync(join(tmpdir(), 'tests-'));
    // The account that PostgreSQL runs as passes through it.
    chmodSync(made, 0o711);
    process.env['TMPDIR'] = made;
  },
  close(): void {
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
  },
};
