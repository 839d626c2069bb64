/** What a rehearsal found, for a person. */
import type { Stage } from './stage.ts';

/** The report, and how many faults are in it. */
export function reportOf({ lambda, permissions, calls, executions }: Stage): { text: string; faults: number } {
  const functions = lambda.statistics();
  const used = functions.filter(({ invocations }) => invocations > 0);
  const idle = functions.filter(({ invocations }) => invocations === 0).map(({ name }) => name);
  const inits = used.flatMap((one) => one.inits).toSorted((a, b) => a - b);
  const units = calls.log.reduce((sum, one) => sum + one.units, 0);
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
    ...titled('IAM would refuse', refused),
    ...titled('Calls that nobody knows', [...new Set(calls.strange)]),
    ...titled(
      'Rights that nothing used, and whose',
      unused.map(([right, roles]) => `${right.replace(/arn:aws:\w+:[\w-]*:\d*:/, '')}: ${roles.map(plain).join(', ')}`),
    ),
  ];
  return { text: lines.join('\n'), faults: refused.length + calls.strange.length };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const ms = (value = 0): string => `${Math.round(value)} ms`;
/** A logical id without the mark that CDK puts behind it. */
const plain = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');
const titled = (title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
