/** A service with an insight, whose alerts and subscriptions do what is due when a test says so. */
import { handler as checkAlert } from '../../functions/steps/check-alert.ts';
import { handler as composeSubscription } from '../../functions/steps/compose-subscription.ts';
import { handler as sendMessage } from '../../functions/steps/send-message.ts';
import { tick } from '../../lib/jobs/tick.ts';
import type { Context } from '../../lib/ports/context.ts';
import { Transient } from '../../lib/ports/errors.ts';
import { type TestContext, testContext } from './context.ts';
import { importRecords } from './imports.ts';
import { type CallOptions, testService } from './service.ts';

const STEPS: Readonly<Record<string, typeof checkAlert>> = {
  alert: checkAlert,
  subscription: composeSubscription,
  message: sendMessage,
};

/** Starts what is due and runs it, until nothing is; what a step could not do for now is left to its job. */
export async function runDue(context: TestContext<object>, over: Context = context): Promise<void> {
  for (;;) {
    const from = context.workflow.started.length;
    await tick(context);
    const started = context.workflow.started.slice(from);
    if (started.length === 0) return;
    for (const { machine, input } of started) {
      const run = STEPS[machine]?.(over);
      await run?.(input).catch((error: unknown) => {
        if (!(error instanceof Transient)) throw error;
      });
    }
  }
}

type Body = Record<string, unknown>;

/** The service, with a key that may do everything, and an insight of events `paid` by day. */
export async function notifyingService<Overrides extends object>(overrides: Overrides = {} as Overrides) {
  const context = testContext(overrides);
  const service = await testService(context);
  const inProject = `/api/projects/${service.project.id}`;
  const call = async (method: string, path: string, body?: object, options: CallOptions = {}): Promise<Body> => {
    const reply = await service.call(method, `${inProject}${path}`, { ...(body && { body }), ...options });
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return reply.body ?? {};
  };
  const insightOf = async (query: object, name = 'Payments'): Promise<number> => {
    const { id } = await call('POST', '/insights/', { name, query: { kind: 'TrendsQuery', ...query } });
    return Number(id);
  };
  const series = [{ kind: 'EventsNode', event: 'paid' }];
  const insight = await insightOf({ series });
  let events = 0;
  /** So many events at an instant. */
  const pay = (at: number, count: number, properties: object = {}): Promise<void> =>
    importRecords(
      context,
      service.project.id,
      Array.from({ length: count }, () => {
        events += 1;
        const uuid = `01940000-0000-7000-8000-${String(events).padStart(12, '0')}`;
        return { uuid, event: 'paid', distinct_id: 'ada', timestamp: new Date(at).toISOString(), properties };
      }),
    );
  return { context, service, insight, series, call, insightOf, pay, inProject, run: () => runDue(context) };
}
