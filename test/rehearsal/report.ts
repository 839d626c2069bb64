/** The findings of a rehearsal, for a person. */
import type { Stage } from './stage.ts';

/**
 * Why a right stays though a rehearsal does not use it, by the roles that have it. A right that is not named here has
 * no known use.
 */
const STAYS: readonly { readonly right: RegExp; readonly roles: RegExp; readonly why: string }[] = [
  {
    right: /^(s3|logs):/,
    roles: /^Inbox/,
    why: 'what Firehose asks of its role, of which the imitation writes objects alone',
  },
  {
    right: /^dynamodb:(?!BatchWriteItem)/,
    roles: /^Functions/,
    why: 'the verbs of the table, the same for all who hold it',
  },
  {
    right: /^dynamodb:BatchWriteItem /,
    roles: /^Functions(Steps|Ended)/,
    why: 'lines of logs, and what a purge removes',
  },
  {
    right: /^(logs|xray):/,
    roles: /^Functions/,
    why: 'every function writes a log and traces',
  },
  { right: /^kms:Decrypt /, roles: /^FunctionsEndpoints/, why: 'a test of a stored destination that has secrets' },
  { right: /^kms:Decrypt /, roles: /^Functions(Steps|Ended)/, why: 'a last commit, and webhooks that are signed' },
  {
    right: /^states:DescribeExecution /,
    roles: /^Functions(Endpoints\w*Workflow|Steps\w*WorkflowLook\w*)Role$/,
    why: 'what is in the way has died without a word',
  },
  {
    right: /^states:St(op|art)Execution /,
    roles: /^Functions\w*Workflow\w*Role$/,
    why: 'an export is deleted while it runs; a backfill that its request could not start',
  },
  {
    right: /^s3:(AbortMultipartUpload|ListMultipartUploadParts|ListBucketMultipartUploads) .*runfiles/i,
    roles: /./,
    why: 'files over 5 MB are sent in parts',
  },
  {
    right: /^s3:ListBucket .*lake/i,
    roles: /^Functions/,
    why: 'a file that is not there is an absence, not a refusal',
  },
  {
    right: /^lambda:InvokeFunction .*(lakeworker|runqueries)/,
    roles: /^Functions(Endpoints|Internal)/,
    why: 'queries and readings that a rehearsal does not ask of each endpoint, and what shared pages renew',
  },
  {
    right: /^s3:AbortMultipartUpload .*lake/i,
    roles: /^FunctionsSteps/,
    why: 'files over 5 MB are sent in parts',
  },
  {
    right: /^s3:(Delete|Get|Put)Object .*lake/i,
    roles: /^FunctionsSteps\w*Compactor/,
    why: 'files of many hours are joined, which a rehearsal does not have',
  },
  { right: /^s3:PutObject .*inbox.*\/damaged/i, roles: /^FunctionsSteps/, why: 'what is damaged is set aside' },
  { right: /^sqs:/, roles: /^FunctionsEnded/, why: 'an end that could not be settled in three attempts' },
  { right: /^s3:DeleteObject .*runfiles/i, roles: /^Functions(Steps|Ended)/, why: 'what a run that broke has kept' },
  { right: /^s3:GetObject .*runfiles/i, roles: /^Workflows/, why: 'Athena reads what it has written' },
  { right: /^athena:StopQueryExecution /, roles: /^Workflows/, why: 'an execution is stopped while it queries' },
  { right: /^athena:StopQueryExecution /, roles: /^FunctionsInternal/, why: 'a query is cancelled while it runs' },
  {
    right: /^lambda:InvokeFunction .*:\*$/,
    roles: /^TickCaller/,
    why: 'CDK grants the versions of a function with it',
  },
];

/** Returns the report, and how many faults are in it. */
export function reportOf({ lambda, permissions, calls, executions }: Stage): { text: string; faults: number } {
  const functions = lambda.statistics();
  const used = functions.filter(({ invocations }) => invocations > 0);
  const idle = functions.filter(({ invocations }) => invocations === 0).map(({ name }) => name);
  const inits = used.flatMap((one) => one.inits).toSorted((a, b) => a - b);
  const units = calls.log.reduce((sum, one) => sum + one.units, 0);
  const unitsOf = (name: string, invocations: number): string[] => {
    const own = sum(calls.log.flatMap((one) => (one.caller === name ? [one.units] : [])));
    return /^(tick$|steps\/)/.test(name) ? [`${name} ${(own / invocations).toFixed(1)}`] : [];
  };
  const refused = [
    ...new Set(
      permissions.refusals.map(({ role, caller, action, resource }) => `${caller} (${role}): ${action} on ${resource}`),
    ),
  ];
  const unused = [...permissions.unused()];
  const lines = [
    `Functions: ${used.length} of ${functions.length} ran, ${sum(used.map((one) => one.invocations))} invocations, ` +
      `${sum(used.map((one) => one.failures))} failed; ${inits.length} starts, of ${ms(inits[inits.length >> 1])} in the middle`,
    ...(idle.length === 0 ? [] : [`  did not run: ${idle.join(', ')}`]),
    `Executions: ${[...executions.started()].map(([name, names]) => `${names.length} of ${name}`).join(', ') || 'none'}`,
    `Calls to AWS: ${calls.log.length}, ${Math.round(units)} units of DynamoDB`,
    `  units an invocation: ${used.flatMap(({ name, invocations }) => unitsOf(name, invocations)).join(', ')}`,
    ...titled('IAM would refuse', refused),
    ...titled('Calls that nobody knows', [...new Set(calls.strange)]),
    ...titled(
      'Rights that nothing used, and whose',
      unused.flatMap(([right, roles]) => unusedLines(right.replace(/arn:aws:\w+:[\w-]*:\d*:/, ''), roles.map(plain))),
    ),
  ];
  return { text: lines.join('\n'), faults: refused.length + calls.strange.length };
}

/** Returns a line for each reason, and one for the roles without any. */
function unusedLines(right: string, roles: readonly string[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const role of roles) {
    const why = STAYS.find((one) => one.right.test(right) && one.roles.test(role))?.why ?? 'NOBODY KNOWS WHAT FOR';
    reasons.set(why, [...(reasons.get(why) ?? []), role]);
  }
  return [...reasons].map(([why, having]) => `${right} (${why}): ${having.join(', ')}`);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const ms = (value = 0): string => `${Math.round(value)} ms`;
/** Returns a logical id without the mark that CDK puts behind it. */
const plain = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');
const titled = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
