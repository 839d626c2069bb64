/** Sends messages: each is a job, tried for a day, always with the same id, by which its receiver can tell it. */
import { findMembership } from '../../accounts/organizations/store.ts';
import { DAY_MS } from '../../basics/units.ts';
import { seenInsights } from '../../dashboards/insights/visibility.ts';
import { wireInstant } from '../../http/instant.ts';
import { beginJob } from '../../jobs/begin.ts';
import { aboutOf, jobOps } from '../../jobs/job.ts';
import { knownFailure } from '../../jobs/known-failure.ts';
import type { Context } from '../../ports/context.ts';
import { Permanent, Transient } from '../../ports/errors.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { Key, Op } from '../../ports/table/table.ts';
import { untilWritten } from '../../ports/table/until-written.ts';
import { postWebhook } from '../../webhooks/webhook.ts';
import type { MessageInput } from '../../workflow/messages.ts';
import type { AlertItem } from '../alerts/model.ts';
import { belongingOf, failed, type NotifierItem, SUCCEEDED } from '../notifier.ts';
import { notifierTenantOf } from '../tenant.ts';
import { chartPictures } from './chart-pictures.ts';
import { letterOf } from './letter.ts';
import type { Message, Target } from './message.ts';
import { slackBody } from './slack.ts';
import { targetNow } from './targets.ts';

/** For how long a message is tried to be sent. */
const MAX_AGE_MS = DAY_MS;

/**
 * Sends a message, unless it has been sent, or whose it is is gone, paused, made by somebody who has left, or names its target no
 * more. What is not taken is tried again, with the backoff of jobs, for a day. While one execution sends it another does not.
 */
export async function sendMessage(
  context: Context,
  { message: id, attempt }: MessageInput,
  signal: AbortSignal,
): Promise<void> {
  const { table, clock } = context;
  const begun = await beginJob(context, { kind: 'message', id, attempt }, 'send-message');
  if (begun === undefined) return;
  const made = aboutOf('message', begun.job) as Message;
  const done = jobOps('message', id, null);
  const item = await table.get(keyOf(made));
  const target = item && targetNow(item, made);
  const isLive = item?.enabled === true && item['deleted'] !== true && target !== undefined;
  if (!isLive || !(await isWanted(context, item, target))) {
    await table.write(done);
    return;
  }
  const message = { ...made, target };
  const until = message.at + MAX_AGE_MS;
  const failure = await knownFailure(context, () => post(context, item, id, message, signal), { until, signal });
  const isOver = !(failure instanceof Transient) || clock() >= until;
  await untilWritten(async () => {
    const now = clock();
    const current = await table.get(keyOf(message));
    if (current === undefined) return table.write(done);
    const set =
      failure === undefined
        ? { ...SUCCEEDED, ...succeeded(current, message, now) }
        : failed(current, sentenceOf(failure, isOver), now, { isOver });
    const isSame = { created_at: current.created_at, checks: checksOf(current), failing_since: current.failing_since };
    const ops: Op[] = [{ change: keyOf(message), set, if: { is: isSame } }, ...(isOver ? done : [])];
    return table.write(ops);
  });
  if (!isOver) await begun.comeBack();
}

/** Returns the key of whose message it is. */
const keyOf = ({ project, by: { kind, id } }: Message): Key<NotifierItem> =>
  kind === 'alert' ? keys.alert(project, String(id)) : keys.subscription(project, Number(id));

/** Whoever made it is still there; and a member who is told is one still, and sees what it is about. */
async function isWanted({ table }: Context, item: NotifierItem, target: Target): Promise<boolean> {
  const tenant = await notifierTenantOf(table, item);
  if (tenant?.membership === undefined) return false;
  if (target.type !== 'member') return true;
  const { organization, project } = tenant;
  const membership = await findMembership(table, target.user, organization.id);
  const insight = await table.get(keys.insight(project.id, (item as AlertItem).insight_id));
  if (membership === undefined || insight === undefined) return false;
  return (await seenInsights(table, { organization, project, membership }, [insight])).length > 0;
}

async function post(
  context: Context,
  item: NotifierItem,
  id: string,
  message: Message,
  signal: AbortSignal,
): Promise<void> {
  const { target, by, organization } = message;
  if (target.type === 'member' || target.type === 'email') return mailMessage(context, id, message, target);
  const { notify_url: url, notify_secret: secret } = item;
  if (url === null) return;
  const body = JSON.stringify(target.type === 'slack' ? slackBody(message) : webhookBody(id, message));
  await postWebhook(context, { url, secret }, belongingOf(by.kind, organization, by.id), { id, body, signal });
}

async function mailMessage(
  context: Context,
  id: string,
  message: Message,
  target: Exclude<Target, { type: 'webhook' | 'slack' }>,
): Promise<void> {
  const { mail, table } = context;
  if (mail === null) throw new Permanent('The service sends no mail.');
  const to = target.type === 'email' ? target.address : (await table.get(keys.user(target.user)))?.email;
  if (to !== undefined) await mail.send(letterOf(id, message, to, await chartPictures(context, message)));
}

/** Returns the body of a webhook. `text` is for people: chat services show it as it is. */
function webhookBody(id: string, { type, at, title, lines, data, insights }: Message) {
  const numbers = insights.map(({ name, link, summary, table, moreRows, moreColumns }) => ({
    name,
    link,
    summary,
    columns: table.columns,
    rows: table.rows,
    more_rows: moreRows,
    more_columns: moreColumns,
  }));
  return {
    type,
    timestamp: wireInstant(at),
    text: [title, ...lines].join('\n'),
    data: { id, ...data, ...(type === 'subscription.due' ? { insights: numbers } : {}) },
  };
}

const sentenceOf = (failure: Error, isOver: boolean): string =>
  `A message could not be sent: ${failure.message} ${isOver ? 'It is not tried again.' : 'It will be tried again.'}`;

const checksOf = (item: NotifierItem): string | null => (item as Partial<AlertItem>).checks ?? null;

/** Returns what else is set of whose message was sent. */
function succeeded(item: NotifierItem, { by, at }: Message, now: number) {
  if (by.kind === 'subscription') return { last_delivered_at: now };
  const checks = fromJsonText((item as AlertItem).checks);
  return {
    last_notified_at: now,
    checks: toJsonText(checks.map((check) => (check.at === at ? { ...check, targets_notified: true } : check))),
  };
}
