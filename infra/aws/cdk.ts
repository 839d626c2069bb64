/**
 * `npm run deploy` and `npm run diff`: the CDK's own command, once it is sure that it can do something. What is missing
 * is said in a sentence, before anything is built.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { checkBootstrap, NotReady } from './account.ts';
import { stageNamed, UnknownStage } from './stages.ts';

const words = process.argv.slice(2);

try {
  const named = words
    .map((word) => /^(?:(?:-c|--context)=)?stage=(.*)$/.exec(word)?.[1])
    .find((name) => name !== undefined);
  // Without one it is the stage of cdk.json.
  if (named !== undefined) stageNamed(named);
  await checkBootstrap();
  const cdk = createRequire(import.meta.url).resolve('aws-cdk/bin/cdk');
  process.exitCode = spawnSync(process.execPath, [cdk, ...words], { stdio: 'inherit' }).status ?? 1;
} catch (error) {
  if (!(error instanceof NotReady || error instanceof UnknownStage)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
