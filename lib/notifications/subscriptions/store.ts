/** Makes, reads and changes subscriptions. */
import * as z from 'zod';
import { changesOf, creationChanges, type LoggedFields, patchActivity } from '../../accounts/activity/rules.ts';
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import type { Caller, Tenant } from '../../accounts/organizations/tenant.ts';
import { userLookup } from '../../accounts/users/lookup.ts';
import { definedOf } from '../../basics/defined.ts';
import { readSeenInsights, seenInsight } from '../../dashboards/insights/visibility.ts';
import { isPersonal } from '../../dashboards/public-page/results.ts';
import { failUnseen, maySee } from '../../dashboards/rules.ts';
import { readDashboard, readSummaries } from '../../dashboards/store.ts';
import { insightsOf, invalidReference } from '../../dashboards/tiles.ts';
import { Answer } from '../../http/answer.ts';
import { checkVersion, type IfMatch } from '../../http/etag.ts';
import { givenName } from '../../insights/model.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { checkUrl } from '../../ports/outbound/outbound.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import { nextNumber } from '../../ports/table/sequence.ts';
import type { Op, Table, Value } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { NO_MAIL } from '../messages/letter.ts';
import { checkMayChange, dueOps, enabledFields, placeOps, UNTRIED, type Writing } from '../notifier.ts';
import {
  addressesOf,
  type Schedule,
  type SubscriptionInput,
  type SubscriptionItem,
  type SubscriptionObject,
  type SubscriptionPatch,
  subscriptionObject,
} from './model.ts';
import { nextTime, scheduleText } from './schedule.ts';

/** E-mail addresses of one subscription. */
const MAX_ADDRESSES = 20;

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
  return found.map(({ item, name }) =>
    subscriptionObject(item, { name, summary: scheduleText(fromJsonText(item.schedule)) }, userOf),
  );
}

/** Returns what shows one subscription. Throws a 403 when what it sends is not there for the caller. */
export async function subscriptionAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  item: SubscriptionItem,
  tenant: Tenant,
  caller: Caller,
): Promise<Answer<z.input<typeof SubscriptionObject>>> {
  const found = await seenOf(context.table, tenant, [item]);
  const [body] = await subscriptionObjects(context, found, caller);
  // How the latest was sent changes without its version.
  const isComputed = item.last_delivered_at !== null || item.latest_error !== null;
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

/** Makes a subscription. Throws a 400 for what does not go together, and for what is not there to be sent. */
export async function createSubscription(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  input: z.output<typeof SubscriptionInput>,
  idempotencyOps: (id: string) => readonly Op[],
): Promise<SubscriptionItem> {
  const { table, clock } = context;
  const { project, organization, membership } = placeIn(tenant);
  await checkSubject(table, tenant, input);
  const schedule = scheduleOf(input);
  const place = await placeOps(table, 'subscription', ranges.subscriptionsOf(project.id), (all) =>
    goneAmong(table, project.id, all),
  );
  checkTarget(context, input.target_type, input);
  const id = await nextNumber(table, 'subscription');
  const now = clock();
  const item: SubscriptionItem = {
    ...keys.subscription(project.id, id),
    ...places.subscriptionOf(project.id, now, id),
    id,
    organization_id: organization.id,
    project_id: project.id,
    created_at: now,
    created_by: membership.user_uuid,
    dashboard: input.dashboard ?? null,
    insight: input.insight ?? null,
    dashboard_export_insights: toJsonText(input.dashboard_export_insights ?? []),
    target_type: input.target_type,
    notify_url: null,
    notify_secret: null,
    schedule: toJsonText(schedule),
    title: input.title ?? null,
    deleted: input.deleted ?? false,
    enabled: input.enabled ?? true,
    ...UNTRIED,
    next_delivery_date: nextTime(schedule, now, insightMoment(project).timezone),
    last_delivered_at: null,
    ver: 1,
    target_value: '',
    ...(await targetFields(context, tenant, id, input)),
  };
  await table.write([
    { put: item, if: 'absent' },
    ...dueOps('subscription', item, dueOf(item)),
    ...place,
    ...idempotencyOps(String(id)),
    ...activityOps({ ...about(item), activity: 'created', changes: creationChanges(item, LOGGED_FIELDS) }),
  ]);
  return item;
}

/**
 * Changes the fields that were sent. Throws a 403 for whoever neither made it nor is an admin, or does not see what it
 * sends, a 400 for another dashboard or insight, and a 412 when its version is none of `ifMatch`.
 */
export async function changeSubscription(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  read: SubscriptionItem,
  patch: z.output<typeof SubscriptionPatch>,
  ifMatch: IfMatch,
): Promise<SubscriptionItem> {
  const { table, clock } = context;
  const { project } = placeIn(tenant);
  checkMayChange('subscription', read, tenant.membership);
  if ((await seenOf(table, tenant, [read])).length === 0) failUnseen();
  checkSame(read, patch);
  await checkChosen(table, project.id, read.dashboard, patch.dashboard_export_insights);
  // What answers show of an address is no new one.
  const { target_value: shown, ...others } = patch;
  const sent = shown === read.target_value && read.notify_url !== null ? others : patch;
  checkTarget(context, read.target_type, sent);
  const target = await targetFields(context, tenant, read.id, { target_type: read.target_type, ...sent });
  return untilWritten(async (isAgain) => {
    const item = isAgain ? foundSubscriptionToChange(await readSubscription(table, project.id, read.id)) : read;
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

const dueOf = ({ enabled, deleted, next_delivery_date }: SubscriptionItem): number | null =>
  enabled && !deleted ? next_delivery_date : null;

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

type Sent = z.output<typeof SubscriptionPatch>;

/** Throws a 400 when what is to be sent is not one thing that the member sees. */
async function checkSubject(table: Table, tenant: Tenant, { dashboard, insight, ...rest }: Sent): Promise<void> {
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

/** Throws a 400 when another dashboard or insight is sent than it is about. */
function checkSame(item: SubscriptionItem, { dashboard, insight }: Sent): void {
  const detail = 'It cannot be changed. Make another subscription.';
  if (dashboard !== undefined && dashboard !== item.dashboard) invalid('dashboard', detail);
  if (insight !== undefined && insight !== item.insight) invalid('insight', detail);
}

/** Returns the rule of a body. Throws a 400 for one that has no times. */
function scheduleOf(sent: { readonly [name in keyof Schedule]?: Schedule[name] | null | undefined }): Schedule {
  const { byweekday, bysetpos = null, count = null, until_date = null } = sent;
  const [frequency, interval, start_date] = [sent.frequency ?? 'daily', sent.interval ?? 1, sent.start_date ?? 0];
  const days = byweekday ?? [];
  if (days.length > 0 && frequency !== 'weekly' && frequency !== 'monthly') {
    invalid('byweekday', 'Days are of weeks and months: choose weekly or monthly, or leave them out.');
  }
  if (bysetpos === 0) invalid('bysetpos', '1 is the first, -1 the last.');
  if (bysetpos !== null && (frequency !== 'monthly' || days.length === 0)) {
    invalid('bysetpos', 'It chooses among the `byweekday` of a month: choose monthly and days, or leave it out.');
  }
  if (until_date !== null && until_date < start_date) {
    invalid('until_date', 'It is before start_date: nothing would be sent.');
  }
  return { frequency, interval, byweekday: [...new Set(days)], bysetpos, count, start_date, until_date };
}

/** Throws a 400 for a target that cannot be sent to; `sent` is what is new, `before` the type that it was. */
function checkTarget(
  { settings }: Pick<Context, 'settings'>,
  before: SubscriptionItem['target_type'],
  sent: Sent,
): void {
  const { target_type = before, target_value } = sent;
  if ((target_type === 'email') !== (before === 'email') && target_value === undefined) {
    invalid('target_value', 'Send it with target_type.', 'required');
  }
  if (target_type === 'email') {
    if (typeof sent.notify_secret === 'string') invalid('notify_secret', 'Only what a webhook is sent is signed.');
    const isNew = sent.target_type !== undefined || target_value !== undefined;
    if (isNew && settings.mailFrom === null) invalid('target_type', `${NO_MAIL} Use webhook or slack.`);
    if (target_value !== undefined) checkAddresses(target_value);
    return;
  }
  checkWebhook({ notify_secret: sent.notify_secret }, settings);
  if (target_value !== undefined) checkUrl(target_value, settings, { attr: 'target_value', query: true });
}

const Address = z.email();

/** Throws a 400 for a text with what is no address, or with too many. */
function checkAddresses(text: string): void {
  const addresses = addressesOf(text);
  const wrong = addresses.find((address) => !Address.safeParse(address).success);
  if (wrong !== undefined) invalid('target_value', `'${wrong}' is no e-mail address.`);
  if (addresses.length > MAX_ADDRESSES) invalid('target_value', `Send at most ${MAX_ADDRESSES} addresses.`);
}

/** Returns the fields to store of a target that was sent. */
async function targetFields(
  context: Pick<Context, 'vault'>,
  { organization }: Tenant,
  id: number,
  { target_type, target_value, notify_secret }: Sent,
): Promise<Readonly<Record<string, Value>>> {
  const belonging = { organization: organization.id, subscription: String(id) };
  const type = target_type === undefined ? {} : { target_type };
  if (target_type === 'email') {
    if (target_value === undefined) return type;
    return { ...type, target_value, notify_url: null, notify_secret: null };
  }
  const { notify_host: _, ...fields } = await webhookFields(
    context,
    { notify_url: target_value, notify_secret },
    belonging,
  );
  return { ...type, ...fields, ...(target_value === undefined ? {} : { target_value: shownAddress(target_value) }) };
}

/** Returns of an address where it leads: the rest of a chat's webhook is a secret. */
const shownAddress = (address: string): string => `${new URL(address).origin}/…`;
