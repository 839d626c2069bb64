/** Loaded before all that names a place in the temporary folder: what a rehearsal leaves there goes with its own. */
import { folderOfRun } from '../support/folder-of-run.ts';

folderOfRun.open();
