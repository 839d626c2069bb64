import { App } from 'aws-cdk-lib';
import { builtBundles } from './bundle.ts';
import { BadOptions } from './options.ts';
import { addStacks } from './stacks.ts';
import { stageNamed, UnknownStage } from './stages.ts';

try {
  const app = new App();
  const stage = stageNamed(app.node.tryGetContext('stage'));
  const { folder } = await builtBundles();
  addStacks(app, stage, folder);
  app.synth();
} catch (error) {
  if (!(error instanceof UnknownStage || error instanceof BadOptions)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
