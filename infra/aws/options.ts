import type { App } from 'aws-cdk-lib';
import * as z from 'zod';
import type { Stage } from './stages.ts';

/**
 * What a deployment says of a stage in cdk.json, below `context.stages.<name>`: names that are its own, so none of them
 * is in the code.
 */
const StageOptions = z.strictObject({
  /**
   * A table that was restored from a backup, by its name: it is used instead of the stage's own, which stays where it
   * is. It needs the keys and indexes of the own one.
   */
  restoredTable: z
    .string()
    .regex(/^[\w.-]{3,255}$/, 'must be the name of a table')
    .optional(),
  /** Who is told by e-mail of alarms and of the budget. */
  alertEmail: z.email().optional(),
  /** The API's own address. The certificate is in the stage's Region, and covers the name. */
  domain: z
    .strictObject({
      name: z.hostname(),
      certificateArn: z.string().startsWith('arn:', 'must be the ARN of a certificate in ACM'),
    })
    .optional(),
});
export type StageOptions = z.output<typeof StageOptions>;

/** The options in cdk.json are not understood; the message says which, and where. */
export class BadOptions extends Error {
  override readonly name = 'BadOptions';
}

/** The options of a stage; none are needed. */
export function optionsOf(app: App, { name }: Stage): StageOptions {
  const all: unknown = app.node.tryGetContext('stages') ?? {};
  const found = z.record(z.string(), z.unknown()).safeParse(all);
  const checked = StageOptions.safeParse((found.success ? found.data[name] : all) ?? {});
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const path = ['context', 'stages', name, ...(issue?.path ?? [])].join('.');
  throw new BadOptions(`${path} in cdk.json cannot be used: ${issue?.message}.`);
}
