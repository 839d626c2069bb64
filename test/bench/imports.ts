/** A web server's log into the lake, by the command line beside the running service. */
import { join } from 'node:path';
import { count, type Part, rate } from './bench.ts';
import { run, start } from './processes.ts';
import { startService } from './service.ts';

export const importing: Part = async (bench) => {
  const lines = bench.small ? 100_000 : 1_000_000;
  const file = join(bench.folder, 'access.log.gz');
  bench.say(`generating ${count(lines)} lines`);
  await run('access-log.ts', { file, lines }, bench);
  const service = await startService(bench, 'import');

  bench.say(`importing ${count(lines)} lines`);
  const words = ['import', file, '--project', String(service.projectId), '--json'];
  const began = performance.now();
  const importing = start('infra/local/admin.ts', words, { WORKSPACE_HOME: service.dataDirectory }, bench);
  const peakMb = await importing.ended();
  const seconds = (performance.now() - began) / 1000;
  const report = JSON.parse(importing.lines().join('\n')) as { added: number; bad: number };
  if (report.added !== lines) throw new Error(`the import added ${report.added} events, and refused ${report.bad}`);
  await service.stop();

  bench.say('reading its lines');
  const bareBegan = performance.now();
  await run('bare-lines.ts', { file }, bench);
  const bare = (performance.now() - bareBegan) / 1000;
  return [
    {
      what: `import, ${count(lines)} log lines`,
      measured: rate(lines / seconds),
      peer: `bare gunzip and split ${rate(lines / bare)}`,
      ratio: bare / seconds,
      note: `peak memory ${count(peakMb)} MB`,
    },
  ];
};
