import { resolve } from 'node:path';
import { runAdmin } from '../../lib/admin/program.ts';
import { silentProgress, terminalProgress } from '../../lib/admin/progress.ts';
import { ImportStopped } from '../../lib/lake/import/import.ts';
import { logTo, shortLines } from '../../lib/ports/log.ts';
import { dataDirectoryPath, openDataDirectory } from './data-directory.ts';
import { endWithReader, interruption } from './terminal.ts';

endWithReader(process.stdout);

const write = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(text);
const log = logTo(shortLines(write(process.stderr)), Date.now, 'WARNING');

process.exitCode = await runAdmin(process.argv.slice(2), {
  open: async (stage) => {
    if (stage === undefined) return openDataDirectory(dataDirectoryPath(), log);
    // The SDK and the stages are of no use to whoever has one machine.
    const { openStage } = await import('../aws/stage-runtime.ts');
    return openStage(stage, dataDirectoryPath(), log);
  },
  print: write(process.stdout),
  complain: write(process.stderr),
  interruption: () => interruption(new ImportStopped()),
  progress: process.stderr.isTTY ? () => terminalProgress(process.stderr) : silentProgress,
  // npm runs scripts in the project's folder and tells in INIT_CWD where the person was.
  resolve: (path) => resolve(process.env['INIT_CWD'] ?? process.cwd(), path),
});
