import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { runAdmin } from '../../lib/admin/program.ts';
import { silentProgress, terminalProgress } from '../../lib/admin/progress.ts';
import { pause } from '../../lib/basics/pause.ts';
import { counted } from '../../lib/basics/text.ts';
import { lakeDatabases } from '../../lib/lake/databases.ts';
import { logTo, shortLines } from '../../lib/ports/log.ts';
import { backUp } from './data/backup.ts';
import { openDataDirectory } from './data/data-directory.ts';
import { databaseIn } from './data/data-folder.ts';
import { inWordsOf } from './data/data-stores.ts';
import { findDataDirectory } from './data/data-version.ts';
import { restore } from './data/restore.ts';
import { choicesOf } from './environment.ts';
import { ownAddress, serviceAddress } from './gateway/service-address.ts';
import { endWithReader, interruption } from './terminal.ts';
import { VERSION } from './version.ts';

// What it makes is for its user alone.
process.umask(0o077);
endWithReader(process.stdout);

const write = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(text);
const log = logTo(shortLines(write(process.stderr)), Date.now, 'WARNING');

/** npm runs scripts in the project's folder and tells in INIT_CWD where the person was. */
const fromHere = (path: string): string => resolve(process.env['INIT_CWD'] ?? process.cwd(), path);

const sizeText = ({ files, bytes }: { readonly files: number; readonly bytes: number }): string =>
  `${counted(files, 'file')}, ${(bytes / 1e6).toFixed(1)} MB`;

process.exitCode = await runAdmin(process.argv.slice(2), {
  open: async (stage, { isNew }) => {
    const { folder, settings } = choicesOf(process.env);
    if (stage === undefined) {
      if (!isNew) findDataDirectory(folder);
      const isMade = !existsSync(databaseIn(folder));
      const directory = openDataDirectory(folder, settings, log);
      if (isMade) process.stderr.write(`Made a new data directory: ${folder}\n`);
      return { ...directory, databases: lakeDatabases(directory.lake), api: await ownAddress(process.env) };
    }
    // The SDK and the stages are of no use to whoever has one machine.
    const { openStage } = await import('../aws/stage-runtime.ts');
    return openStage(stage, folder, log);
  },
  copies: {
    backUp: async (target) => {
      const { folder } = choicesOf(process.env);
      const contents = await backUp(folder, target);
      return { object: contents, text: `Backed up ${folder} into ${target}: ${sizeText(contents)}.` };
    },
    restore: async (source) => {
      const { folder } = choicesOf(process.env);
      const contents = await restore(source, folder);
      return { object: contents, text: `Restored ${folder} as of ${contents.made_at}: ${sizeText(contents)}.` };
    },
  },
  version: VERSION,
  inWords: (error) => inWordsOf(choicesOf(process.env).folder, error),
  print: write(process.stdout),
  complain: write(process.stderr),
  interruption,
  progress: process.stderr.isTTY ? () => terminalProgress(process.stderr) : silentProgress,
  resolve: fromHere,
  importFiles: async (words) => {
    const { importFiles } = await import('./import-files.ts');
    return importFiles(words, { resolve: fromHere, input: process.stdin, environment: process.env });
  },
  address: (url) => serviceAddress(url, process.env),
  read: (path) => (path === '-' ? text(process.stdin) : readFile(fromHere(path), 'utf8')),
  pause,
});
