import { resolve } from 'node:path';
import { runAdmin } from '../../lib/admin/program.ts';
import { silentProgress, terminalProgress } from '../../lib/admin/progress.ts';
import { logTo, shortLines } from '../../lib/log.ts';
import { homeFolder, openHome, startedByTheService } from './home.ts';

const write = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(text);

process.exitCode = await runAdmin(process.argv.slice(2), {
  open: async () => ({
    ...openHome(homeFolder(), logTo(shortLines(write(process.stderr)), Date.now, 'WARNING')),
    workflow: startedByTheService,
  }),
  print: write(process.stdout),
  complain: write(process.stderr),
  progress: process.stderr.isTTY ? () => terminalProgress(process.stderr) : silentProgress,
  // npm runs scripts in the project's folder and tells in INIT_CWD where the person was.
  resolve: (path) => resolve(process.env['INIT_CWD'] ?? process.cwd(), path),
});
