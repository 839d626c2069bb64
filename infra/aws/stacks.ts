import { type App, Tags, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { DataStack } from './data-stack.ts';
import { optionsOf } from './options.ts';
import { ServiceStack } from './service-stack.ts';
import { dataStackName, type Stage, serviceStackName, tagsOf } from './stages.ts';

/**
 * The two stacks of a stage: what must survive, and what can be rebuilt from it. `folder` says where a function's
 * bundle is. Synthesis fails on every finding of cdk-nag that is not explained where it is made.
 */
export function addStacks(app: App, stage: Stage, folder: (name: string) => string) {
  const options = optionsOf(app.node.tryGetContext('stages'), stage);
  const data = new DataStack(app, dataStackName(stage), { stage, options });
  const service = new ServiceStack(app, serviceStackName(stage), {
    stage,
    options,
    data,
    folder,
  });
  for (const [key, value] of Object.entries(tagsOf(stage))) Tags.of(app).add(key, value);
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  return { data, service };
}
