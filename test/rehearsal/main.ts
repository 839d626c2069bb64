/**
 * `npm run rehearse [-- --short] [-- --tests <pattern>] [-- --keep]`: proves what AWS would run, without AWS. Synthesizes
 * the dev stage, starts it from the assembly alone, and runs against it a journey, and the contract suite: all of it,
 * the tests whose names match the pattern, or, in the short form, one valid request for each row. Fails when
 * something did not go as it should, when IAM would have refused a call, and on calls nobody knows.
 */
import './own-folder.ts';
import { appendFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { jsonLines, logTo } from '../../lib/ports/log.ts';
import { folderOfRun } from '../support/folder-of-run.ts';
import { readAssembly } from './assembly.ts';
import { contract } from './contract.ts';
import { journey } from './journey.ts';
import { reportOf } from './report.ts';
import { type Stage, startStage, synthesize } from './stage.ts';

const { values } = parseArgs({
  options: { short: { type: 'boolean' }, tests: { type: 'string' }, keep: { type: 'boolean' } },
});
const short = values.short === true;
/** One path of each row, and one case. */
const VALID = '^(?!.*/api/environments).* answers a valid request';
const folder = tmpdir();
const logs = join(folder, 'logs');
mkdirSync(logs);
const write = (text: string): void => void process.stdout.write(text);
const log = logTo(
  jsonLines((text) => appendFileSync(join(logs, 'rehearsal.log'), text)),
  Date.now,
  'INFO',
);

let failures = 0;
async function step(name: string, work: () => Promise<string>): Promise<void> {
  const began = performance.now();
  const took = (): string => `${((performance.now() - began) / 1000).toFixed(1)} s`.padStart(8);
  try {
    const said = await work();
    write(`${took()}  ${name}: ${said}\n`);
  } catch (error) {
    failures += 1;
    write(`${took()}  FAILED ${name}: ${error instanceof Error ? error.stack : String(error)}\n`);
  }
}

const began = performance.now();
let stage: Stage | undefined;
try {
  let assembly = '';
  await step('the assembly is synthesized', async () => {
    const made = await synthesize('dev');
    process.once('exit', made.remove);
    assembly = made.folder;
    return 'stage dev';
  });
  await step('the stage is started', async () => {
    stage = await startStage({
      assembly: readAssembly(assembly),
      log,
      functionLog: (name, text) => appendFileSync(join(logs, `${name.replaceAll('/', '-')}.log`), text),
    });
    return stage.address;
  });
  if (stage !== undefined) {
    const running = stage;
    await journey({ stage: running, folder, short, log, step });
    await step('the contract suite', () => contract(running, values.tests ?? (short ? VALID : undefined)));
    const { text, faults } = reportOf(running);
    write(`\n${text}\n`);
    failures += faults;
  }
} finally {
  await stage?.close();
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  write(
    `\n${failures === 0 ? 'The rehearsal went well' : `The rehearsal failed in ${failures} places`}, in ${seconds} s.\n`,
  );
  if (failures > 0 || values.keep === true) write(`Logs of the functions are in ${logs}\n`);
  else folderOfRun.close();
}
process.exit(failures === 0 ? 0 : 1);
