import * as z from 'zod';
import { type Concurrency, STAGE_NAMES, type Stage } from './stages.ts';

/** Of the function that takes events, where a deployment names the others' shares alone. */
const CAPTURE_AT_ONCE = 10;
/** The same of those that read the lake. */
const QUERIES_AT_ONCE = 10;

const share = z.int().min(1, 'must be at least 1');

/** What a deployment says of a stage in cdk.json, below `context.stages.<name>`: names that are its own. */
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
  /** Who mail of alerts and subscriptions is from: an address that SES knows, or of a domain that it knows. */
  mailFrom: z.email().optional(),
  /** What of the account's functions at once is set apart for the stage's, in place of its own numbers. Null: nothing. */
  concurrency: z
    .strictObject({
      authorizer: share,
      capture: share.default(CAPTURE_AT_ONCE),
      senders: share,
      queries: share.default(QUERIES_AT_ONCE),
      tests: share,
    })
    .nullable()
    .optional(),
  /**
   * The API's own address. The certificate is in the stage's Region, and covers the name. The address at `execute-api`, by
   * which the stage is reached without one, is closed with it, unless it is to stay open for whoever has to move yet.
   */
  domain: z
    .strictObject({
      name: z.hostname('must be a name such as api.example.com'),
      certificateArn: z
        .string('must be the ARN of a certificate in ACM')
        .regex(/^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, 'must be the ARN of a certificate in ACM'),
      defaultAddress: z.enum(['open', 'closed'], 'must be "open" or "closed"').optional(),
    })
    .optional(),
});
export type StageOptions = z.output<typeof StageOptions>;

/** Returns what a stage sets apart of the account's functions: as cdk.json says, else its own. Null: nothing. */
export const concurrencyOf = ({ concurrency }: StageOptions, stage: Stage): Concurrency | null =>
  concurrency === undefined ? stage.concurrency : concurrency;

/** Returns whether a stage is reached by its own address alone. */
export const isDefaultAddressClosed = ({ domain }: Pick<StageOptions, 'domain'>): boolean =>
  domain !== undefined && domain.defaultAddress !== 'open';

/** The options in cdk.json are not understood; the message says which, and where. */
export class BadOptions extends Error {
  override readonly name = 'BadOptions';
}

/** What cdk.json may say of each stage. */
const AllOptions = z.partialRecord(z.enum(STAGE_NAMES), StageOptions).default({});

/** The options of a stage; none are needed. `stages` is what the context of that name holds: of all stages. */
export function optionsOf(stages: unknown, { name }: Stage): StageOptions {
  const checked = AllOptions.safeParse(stages);
  if (checked.success) return checked.data[name] ?? {};
  const [issue] = checked.error.issues;
  const path = ['context', 'stages', ...(issue?.path ?? [])].join('.');
  throw new BadOptions(`${path} in cdk.json cannot be used: ${issue?.message}.`);
}
