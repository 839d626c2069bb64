/** Makes, reads, changes and removes alerts. */
import type * as z from 'zod';
import { changesOf, creationChanges, type LoggedFields, secretChanges } from '../../accounts/activity/rules.ts';
import { placeIn } from '../../accounts/organizations/projects/store.ts';
import { insightMoment } from '../../accounts/organizations/projects/time.ts';
import type { Caller, Tenant, Writing } from '../../accounts/organizations/tenant.ts';
import { userLookup } from '../../accounts/users/lookup.ts';
import { definedOf } from '../../basics/defined.ts';
import { readSeenInsights, seenInsight, seenInsights } from '../../dashboards/insights/visibility.ts';
import { failUnseen } from '../../dashboards/rules.ts';
import { invalidReference } from '../../dashboards/tiles.ts';
import { Answer } from '../../http/answer.ts';
import { checkVersion, type IfMatch, inVersion } from '../../http/etag.ts';
import { type InsightItem, insightObject } from '../../insights/model.ts';
import type { Context } from '../../ports/context.ts';
import { fail, invalid } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys, places, ranges } from '../../ports/table/keys.ts';
import { listAll } from '../../ports/table/list-all.ts';
import type { Op, Table } from '../../ports/table/table.ts';
import { untilWrittenFrom } from '../../ports/table/until-written.ts';
import { checkWebhook, webhookFields } from '../../webhooks/webhook.ts';
import { NO_MAIL } from '../messages/letter.ts';
import {
  belongingOf,
  checkMayChange,
  dueOps,
  enabledFields,
  inPlace,
  newNotifier,
  onlyStops,
  SUCCEEDED,
  troubleOf,
} from '../notifier.ts';
import { type AlertInput, type AlertItem, type AlertObject, type AlertPatch, alertObject } from './model.ts';
import { checkWatch } from './query.ts';
import { ANEW, boundsOf, formOf, WATCHED } from './rules.ts';
import { dueOf, snoozeEnd } from './times.ts';

/** An alert, and the insight that it watches. */
interface AlertWithInsight {
  readonly item: AlertItem;
  readonly insight: InsightItem;
}

/** Reads an alert of the project, whoever asks, for `foundAlert`. Two round trips. */
export async function readAlert(table: Table, project: number, id: string): Promise<AlertWithInsight | undefined> {
  const item = await table.get(keys.alert(project, id));
  const insight = item && (await table.get(keys.insight(project, item.insight_id)));
  return item === undefined || insight === undefined ? undefined : { item, insight };
}

/** Returns the alert. Throws a 404 when it is not there, or its insight is deleted. */
export function foundAlert(read: AlertWithInsight | undefined): AlertWithInsight {
  return read?.insight.deleted_at === null ? read : fail('not_found');
}

/** Returns the alert, also of a deleted insight, which may be stopped and removed. Throws a 404 when it is not there. */
export const foundAlertToStop = (read: AlertWithInsight | undefined): AlertWithInsight => read ?? fail('not_found');

/** Returns the alerts whose insights are there for the member, the newest first; `insight`: those of that one. */
export async function alertsOf(table: Table, tenant: Tenant, insight: number | undefined): Promise<AlertWithInsight[]> {
  const { project } = placeIn(tenant);
  const items = await listAll(table, ranges.alertsOf(project.id));
  const asked = items.filter(({ insight_id }) => insight === undefined || insight_id === insight);
  const ids = asked.map(({ insight_id }) => insight_id);
  const seen = await readSeenInsights(table, tenant, ids);
  return asked.flatMap((item) => {
    const found = seen.get(item.insight_id);
    return found === undefined ? [] : [{ item, insight: found }];
  });
}

/** Returns the public objects. */
export async function alertObjects(
  context: Pick<Context, 'table' | 'clock'>,
  alerts: readonly AlertWithInsight[],
  tenant: Tenant,
  { user }: Caller,
): Promise<z.input<typeof AlertObject>[]> {
  const people = alerts.flatMap(({ item, insight }) => [
    item.created_by,
    insight.created_by,
    insight.last_modified_by,
    ...fromJsonText(item.subscribed_users),
  ]);
  const userOf = await userLookup(context, people, user);
  const now = context.clock();
  const { timezone } = insightMoment(placeIn(tenant).project);
  return alerts.map(({ item, insight }) => {
    const trouble = troubleOf(item, dueOf(item, timezone), now);
    return alertObject(item, insightObject(insight, userOf), userOf, trouble);
  });
}

/**
 * Returns what shows one alert. Throws a 403 when its insight is not there for the caller; `mayBeUnseen`: then nothing but its
 * number is told of it.
 */
export async function alertAnswer(
  context: Pick<Context, 'table' | 'clock'>,
  alert: AlertWithInsight,
  tenant: Tenant,
  caller: Caller,
  { mayBeUnseen = false }: { readonly mayBeUnseen?: boolean } = {},
): Promise<Answer<z.input<typeof AlertObject>>> {
  const seen = await seenInsights(context.table, tenant, [alert.insight]);
  const [insight = mayBeUnseen ? withoutContent(alert.insight) : failUnseen()] = seen;
  const [body] = await alertObjects(context, [{ ...alert, insight }], tenant, caller);
  // What it found, and that it is late, changes without its version.
  const isComputed = alert.item.last_checked_at !== null || body?.latest_error !== null;
  return new Answer(body as z.input<typeof AlertObject>, { version: alert.item.ver, isComputed });
}

/** Returns an insight of which nothing is told that somebody wrote. */
const withoutContent = (insight: InsightItem): InsightItem => ({
  ...insight,
  name: null,
  derived_name: null,
  description: '',
  query: null,
  filters: '{}',
  tags: toJsonText([]),
});

type WriteContext = Pick<Context, 'table' | 'clock' | 'newId' | 'vault' | 'settings'>;

/** Makes an alert, which looks at once, unless it is snoozed. Throws a 400 for an insight that is not there or cannot be watched. */
export async function createAlert(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  input: z.output<typeof AlertInput>,
  idempotencyOps: (id: string) => readonly Op[],
): Promise<AlertWithInsight> {
  const { table, clock, newId } = context;
  const { project } = placeIn(tenant);
  const { timezone } = insightMoment(project);
  const [id, now] = [newId(), clock()];
  const set = await fieldsOf(context, tenant, id, input, null);
  const insight = await insightFor(context, tenant, input.insight, set);
  // Nobody can list or remove the alerts of deleted insights.
  const goneOf = async (alerts: readonly AlertItem[]) => {
    const insights = await table.many(alerts.map(({ insight_id }) => keys.insight(project.id, insight_id)));
    return alerts.filter((_, at) => insights[at]?.deleted_at !== null);
  };
  const item: AlertItem = {
    ...keys.alert(project.id, id),
    ...places.alertOf(project.id, now, id),
    ...newNotifier(tenant, id, now),
    name: '',
    threshold_id: newId(),
    threshold_name: '',
    condition: 'absolute_value',
    series_index: 0,
    check_ongoing_interval: false,
    calculation_interval: 'daily',
    skip_weekend: false,
    snoozed_until: null,
    notify_host: null,
    notify_type: 'webhook',
    last_value: null,
    last_checked_at: null,
    last_notified_at: null,
    ...ANEW,
    next_check_at: now,
    checks: toJsonText([]),
    ...(set as Pick<AlertItem, 'insight_id' | 'threshold' | 'subscribed_users'>),
    ...snoozeOf(input.snoozed_until ?? null, now, timezone),
  };
  checkWatch(item, insight);
  await inPlace(table, project, { kind: 'alert', range: ranges.alertsOf(project.id), goneOf }, (placeOps) =>
    table.write([
      { put: item, if: 'absent' },
      ...dueOps('alert', item, dueOf(item, timezone)),
      ...idempotencyOps(id),
      ...activityOps({ ...about(item), activity: 'created', changes: creationChanges(item, LOGGED_FIELDS) }),
      ...placeOps,
    ]),
  );
  return { item, insight };
}

/**
 * Changes the fields that were sent. What it watches, or that it is enabled again, lets it look at once. Throws a 403
 * for whoever neither made it nor is an admin, a 403 for who does not see its insight and a 404 when that is deleted, unless
 * it is only stopped, and a 412 when its version is none of `ifMatch`.
 */
export async function changeAlert(
  context: WriteContext,
  { tenant, activityOps }: Writing,
  read: AlertWithInsight,
  patch: AlertPatch,
  ifMatch: IfMatch,
): Promise<AlertWithInsight> {
  const { table, clock } = context;
  const found = onlyStops(patch) ? foundAlertToStop : foundAlert;
  found(read);
  checkMayChange('alert', read.item, tenant.membership);
  const { project } = placeIn(tenant);
  const { timezone } = insightMoment(project);
  const sent = await fieldsOf(context, tenant, read.item.id, patch, read.item.notify_host);
  const readAgain = async () => found(await readAlert(table, project.id, read.item.id));
  return untilWrittenFrom(read, readAgain, async (stored) => {
    const { item } = stored;
    checkVersion(item, ifMatch);
    const now = clock();
    const insight = onlyStops(patch)
      ? stored.insight
      : await insightFor(context, tenant, patch.insight ?? item.insight_id, sent);
    const isAnew = WATCHED.some((name) => sent[name] !== undefined && sent[name] !== item[name]);
    const isBack = sent.enabled === true && !item.enabled;
    const isWoken = patch.snoozed_until === null && item.snoozed_until !== null;
    const set = {
      ...sent,
      ...(isAnew ? { ...ANEW, ...SUCCEEDED } : {}),
      ...((item.snoozed_until ?? 0) > now ? { state: 'Snoozed' as const } : {}),
      ...(isWoken ? { snoozed_until: null, ...ANEW } : {}),
      ...snoozeOf(patch.snoozed_until ?? null, now, timezone),
      ...(isAnew || isBack || isWoken ? { next_check_at: now } : {}),
    };
    const after: AlertItem = { ...item, ...set };
    // Of what cannot be watched any more, the alert can still be disabled.
    if (isAnew || isBack) checkWatch(after, insight);
    await table.write([
      { change: keys.alert(project.id, item.id), set, add: { ver: 1 }, if: { is: { id: item.id, ver: item.ver } } },
      ...dueOps('alert', item, dueOf(after, timezone)),
      ...activityOps({
        ...about(after),
        activity: 'updated',
        changes: [
          ...changesOf(item, set, LOGGED_FIELDS),
          ...secretChanges(SECRETS.filter((field) => sent[field] !== undefined)),
        ],
      }),
    ]);
    return { item: { ...after, ver: item.ver + 1 }, insight };
  });
}

/** Removes an alert, and what it was to do next. Throws a 403 as `changeAlert`, `Refused` when it is none of `ifMatch`. */
export async function destroyAlert(
  { table }: Pick<Context, 'table'>,
  { tenant, activityOps }: Writing,
  { item }: AlertWithInsight,
  ifMatch: IfMatch,
): Promise<void> {
  checkMayChange('alert', item, tenant.membership);
  const is = { id: item.id, ...inVersion(ifMatch) };
  await table.write([
    { remove: keys.alert(item.project_id, item.id), if: { is } },
    ...dueOps('alert', item, null),
    ...activityOps({ ...about(item), activity: 'deleted' }),
  ]);
}

const about = ({ id, name, project_id: project }: AlertItem) =>
  ({ scope: 'AlertConfiguration', id, name, project }) as const;

const SECRETS = ['notify_url', 'notify_secret'] as const;

const LOGGED_FIELDS: LoggedFields = {
  insight_id: 'plain',
  name: 'plain',
  threshold: 'json',
  condition: 'plain',
  series_index: 'plain',
  check_ongoing_interval: 'plain',
  calculation_interval: 'plain',
  skip_weekend: 'plain',
  enabled: 'plain',
  subscribed_users: 'json',
  snoozed_until: 'instant',
  notify_host: 'plain',
  notify_type: 'plain',
};

/** Returns the fields to store of what was sent, checked. `host`: where its webhook led before. */
async function fieldsOf(
  context: WriteContext,
  tenant: Tenant,
  id: string,
  sent: AlertPatch,
  host: string | null,
): Promise<Partial<AlertItem>> {
  const { insight, name, threshold, condition, config, calculation_interval, enabled, skip_weekend } = sent;
  checkWebhook(sent, context.settings);
  const subscribed = sent.subscribed_users && (await membersAmong(context, tenant, sent.subscribed_users));
  return {
    // Null stands for the default.
    ...definedOf({
      insight_id: insight,
      name,
      threshold: threshold && toJsonText(boundsOf(threshold)),
      threshold_name: threshold?.name,
      condition: condition === null ? 'absolute_value' : condition?.type,
      calculation_interval: calculation_interval === null ? 'daily' : calculation_interval,
      skip_weekend: skip_weekend === null ? false : skip_weekend,
      subscribed_users: subscribed && toJsonText(subscribed),
      notify_type: sent.notify_type ?? formOf(sent.notify_url, host),
    }),
    ...(config === undefined
      ? {}
      : {
          series_index: config?.series_index ?? 0,
          check_ongoing_interval: config?.check_ongoing_interval ?? false,
        }),
    ...enabledFields(enabled),
    ...(await webhookFields(context, sent, belongingOf('alert', tenant.organization.id, id))),
  };
}

/** Returns the uuids of the members with these numbers. Throws a 400 for one who is none, and where no mail is sent. */
async function membersAmong(
  { table, settings }: Pick<Context, 'table' | 'settings'>,
  { organization }: Tenant,
  ids: readonly number[],
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  if (settings.mailFrom === null) invalid('subscribed_users', `${NO_MAIL} Name no members, use notify_url.`);
  const members = await listAll(table, ranges.membersOf(organization.id));
  const users = await table.many(members.map(({ user_uuid }) => keys.user(user_uuid)));
  const uuids = new Map(users.flatMap((user) => (user === undefined ? [] : [[user.id, user.uuid] as const])));
  return [...new Set(ids)].map(
    (id) => uuids.get(id) ?? invalid('subscribed_users', `The organization has no member with the number ${id}.`),
  );
}

/** Returns the insight, if the member sees it. Throws a 403 when they do not, a 400 when it was sent. */
async function insightFor(
  { table }: Pick<Context, 'table'>,
  tenant: Tenant,
  id: number,
  sent: Partial<AlertItem>,
): Promise<InsightItem> {
  const seen = await seenInsight(table, tenant, await table.get(keys.insight(placeIn(tenant).project.id, id)));
  if (seen !== undefined) return seen;
  if (sent.insight_id === undefined) failUnseen();
  return invalidReference('insight', id);
}

const snoozeOf = (sent: string | null, now: number, timezone: string) =>
  sent === null ? {} : { snoozed_until: snoozeEnd(sent, now, timezone), state: 'Snoozed' as const };
