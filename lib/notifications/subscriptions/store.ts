/** Makes, reads and changes subscriptions. */
import type * as z from 'zod';
import { changesOf, creationChanges, type LoggedFields, patchActivity } from '../../accounts/activity/rules.ts';
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import type { Caller, Tenant, Writing } from '../../accounts/organizations/tenant.ts';
import { userLookup } from '../../accounts/users/lookup.ts';
import { definedOf } from '../../basics/defined.ts';
import { isPersonal } from '../../dashboards/insights/public-answer.ts';
import { readSeenInsights, seenInsight } from '../../dashboards/insights/visibility.ts';
import { failUnseen, maySee } from '../../dashboards/rules.ts';
import { readDashboard, readSummaries } from '../../dashboards/store.ts';
import { insightsOf, invalidReference } from '../../dashboards/tiles.ts';
import { Answer } from '../../http/answer.ts';
import { checkVersion, type IfMatch } from '../../http/etag.ts';
import { givenName } from '../../insights/model.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { nextNumber } from '../../ports/table/sequence.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import { checkMayChange, dueOps, enabledFields, inPlace, newNotifier, onlyStops, troubleOf } from '../notifier.ts';
import {
  type SubscriptionInput,
  type SubscriptionItem,
  type SubscriptionObject,
  type SubscriptionPatch,
  subscriptionObject,
} from './model.ts';
import { checkSame, dueOf, scheduleOf } from './rules.ts';
import { nextTime } from './schedule.ts';
import { scheduleText } from './schedule-text.ts';
import { checkTarget, targetFields } from './target.ts';

/** A subscription, and the name of what it sends. */
interface NamedSubscription {
  readonly item: SubscriptionItem;
  readonly name: string | null;
}

/** Reads a subscription of the project, whoever asks, deleted or not. */
export const readSubscription = (table: Table, project: number, id: number): Promise<SubscriptionItem | undefined> =>
  table.get(keys.subscription(project, id));

/** Returns the subscription. Throws a 404 when it is not there, or deleted. */
export function foundSubscription(item: SubscriptionItem | undefined): SubscriptionItem {
  return item?.deleted === false ? item : fail('not_found');
}

/** Returns the subscription, also a deleted one, which a PATCH may bring back. Throws a 404 when it is not there. */
export const foundSubscriptionToChange = (item: SubscriptionItem | undefined): SubscriptionItem =>
  item ?? fail('not_found');

/** Returns those of which the member sees what they send, and that is not deleted, in their order. */
async function seenOf(
  table: Table,
  tenant: Tenant,
  items: readonly SubscriptionItem[],
): Promise<readonly NamedSubscription[]> {
  const { project, membership } = placeIn(tenant);
  const insights = items.flatMap(({ insight }) => insight ?? []);
  const dashboards = items.flatMap(({ dashboard }) => dashboard ?? []);
  const [seen, summaries] = await Promise.all([
    readSeenInsights(table, tenant, insights),
    readSummaries(table, project.id, dashboards),
  ]);
  const names = new Map<string, string | null>();
  for (const insight of seen.values()) names.set(`insight ${insight.id}`, givenName(insight));
  for (const one of summaries.values()) if (maySee(one, membership)) names.set(`dashboard ${one.id}`, one.name);
  return items.flatMap((item) => {
    const name = names.get(item.dashboard === null ? `insight ${item.insight}` : `dashboard ${item.dashboard}`);
    return name === undefined ? [] : [{ item, name }];
  });
}

/** Which subscriptions are asked for. */
interface Asked {
  readonly dashboard?: number | undefined;
  readonly insight?: number | undefined;
}

/** Returns the subscriptions that are there for the member, the newest first. */
export async function subscriptionsOf(table: Table, tenant: Tenant, asked: Asked) {
  const items = await listAll(table, ranges.subscriptionsOf(placeIn(tenant).project.id));
  return seenOf(
    table,
    tenant,
    items.filter(
      ({ deleted, dashboard, insight }) =>
        !deleted &&
        (asked.dashboard === undefined || dashboard === asked.dashboard) &&
        (asked.insight === undefined || insight === asked.insight),
    ),
  );
}

/** Returns the public objects. */
export async function subscriptionObjects(
  context: Pick<Context, 'table' | 'clock'>,
  found: readonly NamedSubscription[],
  { user }: Caller,
): Promise<z.input<typeof SubscriptionObject>[]> {
  const userOf = await userLookup(
    context,
    found.map(({ item }) => item.created_by),
    user,
  );
  const now = context.clock();
  return found.map(({ item, name }) => {
    const words = { name, summary: scheduleText(fromJsonText(item.schedule)) };
    return subscriptionObject(item, words, userOf, troubleOf(item, dueOf(item), now));
  });
}

/**
 * Returns what shows one subscription. Throws a 403 when what it sends is not there for the caller, a 404 when that is deleted;
 * `mayBeUnseen`: then it has no name.
 */
export async function subscriptionAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  item: SubscriptionItem,
  tenant: Tenant,
  caller: Caller,
  { mayBeUnseen = false }: { readonly mayBeUnseen?: boolean } = {},
): Promise<Answer<z.input<typeof SubscriptionObject>>> {
  const [seen] = await seenOf(context.table, tenant, [item]);
  const found = seen ?? (mayBeUnseen ? { item, name: null } : await failHidden(context.table, item));
  const [body] = await subscriptionObjects(context, [found], caller);
  // How the latest was sent, and that one is late, changes without its version.
  const isComputed = item.last_delivered_at !== null || body?.latest_error !== null;
  return new Answer(body ?? failUnseen(), { version: item.ver, isComputed });
}

type WriteContext = Pick<Context, 'table' | 'clock' | 'vault' | 'settings'>;

/** Returns those that were deleted, and those whose dashboard or insight was: nobody can list or change these. */
async function goneAmong(
  table: Table,
  project: number,
  items: readonly SubscriptionItem[],
): Promise<readonly SubscriptionItem[]> {
  const shown = (item: SubscriptionItem) =>
    item.dashboard === null ? keys.insight(project, item.insight ?? 0) : keys.dashboard(project, item.dashboard);
  const subjects = await table.many(items.map(shown));
  return items.filter(({ deleted }, at) => deleted || subjects[at]?.deleted_at !== null);
}

/** Throws the 404 of a subscription whose dashboard or insight is deleted, else the 403 of who does not see that. */
async function failHidden(table: Table, item: SubscriptionItem): Promise<never> {
  const gone = await goneAmong(table, item.project_id, [item]);
  return gone.length > 0 ? fail('not_found') : failUnseen();
}

/** Makes a subscription. Throws a 400 for what does not go together, and for what is not there to be sent. */
export async function createSubscription(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  input: z.output<typeof SubscriptionInput>,
  idempotencyOps: (id: string) => readonly Op[],
): Promise<SubscriptionItem> {
  const { table, clock } = context;
  const { project } = placeIn(tenant);
  await checkSubject(table, tenant, input);
  const schedule = scheduleOf(input);
  checkTarget(context, input.target_type, input);
  const id = await nextNumber(table, 'subscription');
  const now = clock();
  const item: SubscriptionItem = {
    ...keys.subscription(project.id, id),
    ...places.subscriptionOf(project.id, now, id),
    ...newNotifier(tenant, id, now),
    dashboard: input.dashboard ?? null,
    insight: input.insight ?? null,
    dashboard_export_insights: toJsonText(input.dashboard_export_insights ?? []),
    target_type: input.target_type,
    schedule: toJsonText(schedule),
    title: input.title ?? null,
    deleted: input.deleted ?? false,
    enabled: input.enabled ?? true,
    next_delivery_date: nextTime(schedule, now, insightMoment(project).timezone),
    last_delivered_at: null,
    target_value: '',
    ...(await targetFields(context, tenant, id, input)),
  };
  const range = ranges.subscriptionsOf(project.id);
  const goneOf = (all: readonly SubscriptionItem[]) => goneAmong(table, project.id, all);
  await inPlace(table, project, { kind: 'subscription', range, goneOf }, (placeOps) =>
    table.write([
      { put: item, if: 'absent' },
      ...dueOps('subscription', item, dueOf(item)),
      ...idempotencyOps(String(id)),
      ...activityOps({ ...about(item), activity: 'created', changes: creationChanges(item, LOGGED_FIELDS) }),
      ...placeOps,
    ]),
  );
  return item;
}

/**
 * Changes the fields that were sent. Throws a 403 for whoever neither made it nor is an admin, a 403 for who does not see what
 * it sends and a 404 when that is deleted, unless it is only stopped, a 400 for another dashboard or insight, and a 412 when its version is none of `ifMatch`.
 */
export async function changeSubscription(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  read: SubscriptionItem,
  patch: SubscriptionPatch,
  ifMatch: IfMatch,
): Promise<SubscriptionItem> {
  const { table, clock } = context;
  const { project } = placeIn(tenant);
  checkMayChange('subscription', read, tenant.membership);
  if (!onlyStops(patch) && (await seenOf(table, tenant, [read])).length === 0) await failHidden(table, read);
  checkSame(read, patch);
  await checkChosen(table, project.id, read.dashboard, patch.dashboard_export_insights);
  // What answers show of an address is no new one.
  const { target_value: shown, ...others } = patch;
  const sent = shown === read.target_value && read.notify_url !== null ? others : patch;
  checkTarget(context, read.target_type, sent);
  const target = await targetFields(context, tenant, read.id, { target_type: read.target_type, ...sent });
  const readAgain = () => readSubscription(table, project.id, read.id);
  return untilWrittenFrom(read, readAgain, async (item) => {
    if (item.deleted && patch.deleted !== false) fail('not_found');
    checkVersion(item, ifMatch);
    const schedule = scheduleOf({ ...fromJsonText(item.schedule), ...definedOf(patch) });
    const now = clock();
    const isBack = (patch.enabled === true && !item.enabled) || (patch.deleted === false && item.deleted);
    const isOther = toJsonText(schedule) !== item.schedule;
    const isDue = (dueOf(item) ?? Infinity) <= now;
    const { dashboard_export_insights: chosen, title, enabled, deleted } = patch;
    const set = {
      ...target,
      ...definedOf({ dashboard_export_insights: chosen && toJsonText(chosen), title, deleted }),
      ...enabledFields(enabled),
      ...(isOther ? { schedule: toJsonText(schedule) } : {}),
      // What is due is sent yet; the time after it is one of the new ones.
      ...((isOther && !isDue) || isBack
        ? { next_delivery_date: nextTime(schedule, now, insightMoment(project).timezone) }
        : {}),
    };
    const after: SubscriptionItem = { ...item, ...set };
    await table.write([
      {
        change: keys.subscription(project.id, item.id),
        set,
        add: { ver: 1 },
        if: { is: { id: item.id, ver: item.ver } },
      },
      ...dueOps('subscription', item, dueOf(after)),
      ...activityOps({
        ...about(after),
        activity: patchActivity(item.deleted, patch),
        changes: changesOf(item, set, LOGGED_FIELDS),
      }),
    ]);
    return { ...after, ver: item.ver + 1 };
  });
}

const about = ({ id, title, project_id: project }: SubscriptionItem) =>
  ({ scope: 'Subscription', id, name: title, project }) as const;

const LOGGED_FIELDS: LoggedFields = {
  dashboard: 'plain',
  insight: 'plain',
  dashboard_export_insights: 'json',
  target_type: 'plain',
  target_value: 'plain',
  schedule: 'json',
  title: 'plain',
  enabled: 'plain',
};

/** Throws a 400 when what is to be sent is not one thing that the member sees. */
async function checkSubject(
  table: Table,
  tenant: Tenant,
  { dashboard, insight, ...rest }: SubscriptionPatch,
): Promise<void> {
  const { project, membership } = placeIn(tenant);
  if (typeof dashboard === 'number' && typeof insight === 'number') {
    invalid('insight', 'A subscription sends a dashboard or an insight: leave out one of them.');
  }
  if (typeof dashboard === 'number') {
    const summary = (await readSummaries(table, project.id, [dashboard])).get(dashboard);
    if (summary === undefined || !maySee(summary, membership)) invalidReference('dashboard', dashboard);
    await checkChosen(table, project.id, dashboard, rest.dashboard_export_insights);
    return;
  }
  if (typeof insight !== 'number') invalid('insight', 'Send a dashboard or an insight.', 'required');
  const seen = await seenInsight(table, tenant, await table.get(keys.insight(project.id, insight)));
  if (seen === undefined) return invalidReference('insight', insight);
  await checkChosen(table, project.id, null, rest.dashboard_export_insights);
  if (seen.query === null)
    invalid('insight', 'It has no query, and so nothing to send. Choose an insight with numbers.');
  if (isPersonal(seen)) invalid('insight', 'Rows about persons are not sent. Choose an insight with numbers.');
}

/** Throws a 400 when an insight that was chosen is not on the dashboard. */
async function checkChosen(
  table: Table,
  project: number,
  dashboard: number | null,
  chosen: readonly number[] | undefined,
): Promise<void> {
  if (chosen === undefined || chosen.length === 0) return;
  const attr = 'dashboard_export_insights';
  if (dashboard === null) invalid(attr, 'Only of a dashboard can insights be chosen.');
  const shown = new Set(insightsOf((await readDashboard(table, project, dashboard))?.tiles ?? []));
  const other = chosen.find((id) => !shown.has(id));
  if (other !== undefined) invalid(attr, `The dashboard does not show the insight ${other}.`);
}
