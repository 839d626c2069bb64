/**
 * `npm run synth`, `deploy` and `diff`: the CDK's own command, once it is sure that it can do something. What is missing
 * is said in a sentence, before anything is built.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { messageOf } from '../../lib/basics/text.ts';
import { checkAddress, checkBootstrap, checkConcurrency, checkDataLayout, NotReady } from './account.ts';
import { FUNCTIONS, reservedOf } from './functions.ts';
import { BadOptions, concurrencyOf, optionsOf } from './options.ts';
import { stageNamed, UnknownStage } from './stages.ts';

const words = process.argv.slice(2);

try {
  const context = contextIn(new URL('../../cdk.json', import.meta.url));
  const named = words.map((word) => /^(?:-c=?|--context=)?stage(?:=(.*))?$/.exec(word)).find((found) => found !== null);
  const stage = stageNamed(named == null ? context['stage'] : (named[1] ?? ''));
  const options = optionsOf(context['stages'], stage);
  const concurrency = concurrencyOf(options, stage);
  if (words[0] !== 'synth') await checkBootstrap();
  if (words[0] === 'deploy') {
    await checkConcurrency(FUNCTIONS.reduce((sum, spec) => sum + (reservedOf(spec, concurrency) ?? 0), 0));
    await checkAddress(stage, options);
    await checkDataLayout(stage, options);
  }
  const cdk = createRequire(import.meta.url).resolve('aws-cdk/bin/cdk');
  process.exitCode = spawnSync(process.execPath, [cdk, ...words], { stdio: 'inherit' }).status ?? 1;
} catch (error) {
  if (!(error instanceof NotReady || error instanceof UnknownStage || error instanceof BadOptions)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** What a file like cdk.json sets. */
function contextIn(file: URL): Readonly<Record<string, unknown>> {
  try {
    const { context = {} } = JSON.parse(readFileSync(file, 'utf8')) as { context?: Record<string, unknown> };
    return context;
  } catch (error) {
    throw new BadOptions(`cdk.json cannot be read: ${messageOf(error)}.`);
  }
}
