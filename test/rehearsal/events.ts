/** EventBridge: the template's rules and its schedule, and whom they call. */
import { randomUUID } from 'node:crypto';
import { ACCOUNT, type Assembly, PARTITION, REGION } from './assembly.ts';
import type { Lambda } from './lambda.ts';
import type { Permissions } from './permissions.ts';

type Pattern = { readonly [name: string]: Pattern | readonly unknown[] };

/** Returns whether an event has what a pattern wants. A list names the values of which the event has one. */
function matches(pattern: Pattern, event: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(pattern).every(([name, wanted]) => {
    const found = event[name];
    if (!Array.isArray(wanted)) {
      return (
        typeof found === 'object' && found !== null && matches(wanted as Pattern, found as Record<string, unknown>)
      );
    }
    if (wanted.some((one) => typeof one === 'object' && one !== null)) {
      throw new Error(`the rehearsal does not know the filter ${JSON.stringify(wanted)}`);
    }
    return wanted.includes(found);
  });
}

interface Options {
  readonly assembly: Assembly;
  readonly permissions: Permissions;
  readonly lambda: Lambda;
}

/** Sends an event to the targets of every rule that it matches. Throws when a target failed. */
export async function emit({ assembly, permissions, lambda }: Options, event: object): Promise<void> {
  for (const rule of assembly.ofType('AWS::Events::Rule')) {
    const { EventPattern, State, Targets } = rule.properties;
    if (State !== 'ENABLED' || !matches(EventPattern, event as Record<string, unknown>)) continue;
    for (const { Arn } of Targets as { Arn: string }[]) {
      if (!permissions.mayInvoke(Arn, 'events.amazonaws.com', assembly.attribute(rule, 'Arn'))) continue;
      const outcome = await lambda.invoke(Arn, event);
      if ('failed' in outcome) throw new Error(`${outcome.failed.errorType}: ${outcome.failed.errorMessage}`);
    }
  }
}

/** One entry of `PutEvents`. */
interface Entry {
  readonly EventBusName: string;
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
}

/** Answers `PutEvents` for the default bus, and hands each event to the rules. */
export function eventBus(options: Options): (action: string, asked: { Entries: Entry[] }) => Promise<object> {
  return async (action, { Entries }) => {
    if (action !== 'PutEvents') throw new Error(`the rehearsal does not know events:${action}`);
    const bus = `arn:${PARTITION}:events:${REGION}:${ACCOUNT}:event-bus/default`;
    for (const { EventBusName, Source: source, DetailType, Detail } of Entries) {
      if (EventBusName !== bus) throw new Error(`there is no bus ${EventBusName}`);
      await emit(options, { source, 'detail-type': DetailType, detail: JSON.parse(Detail) as object });
    }
    return { FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) };
  };
}

/** Calls the target of the one schedule, as it does every minute; returns what the function answered. */
export async function ring({ assembly, permissions, lambda }: Options): Promise<unknown> {
  const { ScheduleExpression, State, Target } = assembly.theOne('AWS::Scheduler::Schedule').properties;
  if (ScheduleExpression !== 'rate(1 minute)' || State !== 'ENABLED')
    throw new Error(`the tick is ${ScheduleExpression}, ${State}`);
  const access = { action: 'lambda:InvokeFunction', resource: Target['Arn'] };
  if (!permissions.allows(Target['RoleArn'], access, 'the schedule'))
    throw new Error('the schedule may not call the tick');
  const outcome = await lambda.invoke(Target['Arn'], Target['Input'] ?? {});
  if ('failed' in outcome) throw new Error(`the tick failed: ${outcome.failed.errorMessage}`);
  return JSON.parse(outcome.payload);
}
