/**
 * The disk of a function that makes files: loaded before anything else, it empties what a process has left that ran out of
 * time or memory. Lambda starts the next one over the same disk, and so the files of one call would take the room of another.
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html#runtimes-lifecycle-invoke-with-errors
 */
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const own = join(tmpdir(), 'workspaces-function');
rmSync(own, { recursive: true, force: true });
mkdirSync(own, { recursive: true });
process.env['TMPDIR'] = own;
