/** Does what is due of an alert or a subscription. */
import { insightMoment } from '../accounts/organizations/projects/time.ts';
import type { Context } from '../ports/context.ts';
import type { Key, Op } from '../ports/table/table.ts';
import { untilWritten } from '../ports/table/until-written.ts';
import type { NotifierInput } from '../workflow/messages.ts';
import { messageOps, type Outcome } from './messages/message.ts';
import { dueOps, type NotifierItem, type NotifierKind } from './notifier.ts';
import { type NotifierTenant, notifierTenantOf } from './tenant.ts';

/** What is done of one, and when. */
interface Doing<T extends NotifierItem> {
  readonly kind: NotifierKind;
  readonly key: Key<T>;
  /** The field that says when it is due next. */
  readonly field: keyof T & string;
  /** Returns when it is due; null: it is not. */
  readonly dueOf: (item: T, timezone: string) => number | null;
  /** Returns when it is due after now; null: never. */
  readonly nextOf: (item: T, now: number, timezone: string) => number | null;
  readonly outcome: (item: T, tenant: NotifierTenant, now: number) => Promise<Outcome>;
}

/**
 * Does what is due: what it came to, its messages and the next time are one transaction, so that it may end anywhere and be
 * repeated. What is not due yet waits for its time; what is gone, or never due, has no job any more.
 */
export async function doWhatIsDue<T extends NotifierItem>(
  { table, clock, newId }: Pick<Context, 'table' | 'clock' | 'newId'>,
  { organization: organization_id, project: project_id, id }: NotifierInput,
  { kind, key, field, dueOf, nextOf, outcome }: Doing<T>,
): Promise<void> {
  const whose = { organization_id, project_id, id };
  await untilWritten(async () => {
    const item = await table.get(key);
    const tenant = item && (await notifierTenantOf(table, item));
    const isUnchanged: Op = { check: key, if: item === undefined ? 'absent' : { is: { id: item.id, ver: item.ver } } };
    if (item === undefined || tenant === undefined) {
      await table.write([isUnchanged, ...dueOps(kind, whose, null)]);
      return;
    }
    const now = clock();
    const { timezone } = insightMoment(tenant.project);
    const due = dueOf(item, timezone);
    if (due === null || due > now) {
      await table.write([isUnchanged, ...dueOps(kind, whose, due)]);
      return;
    }
    const next = nextOf(item, now, timezone);
    const { set, messages } = await outcome(item, tenant, now);
    await table.write([
      {
        change: key,
        set: { ...set, [field]: next },
        if: { is: { id: item.id, ver: item.ver, [field]: item[field] ?? null } },
      },
      ...dueOps(kind, whose, set['enabled'] === false ? null : next),
      ...messages.flatMap((message) => messageOps(`${project_id}-${newId()}`, message)),
    ]);
  });
}
