/** Looks at the number of an alert, and lets it be told when it is out of bounds. */
import { hash } from 'node:crypto';
import type { ProjectItem } from '../../accounts/organizations/model.ts';
import { type Json, object, objects } from '../../charts/describe/read.ts';
import { nameOf } from '../../charts/describe/trends.ts';
import { seenInsights } from '../../dashboards/insights/visibility.ts';
import { answersIn } from '../../insights/answering/answers.ts';
import { type InsightItem, insightName } from '../../insights/model.ts';
import type { Context } from '../../ports/context.ts';
import { fromJsonText, toJsonText } from '../../ports/table/json-text.ts';
import { keys } from '../../ports/table/keys.ts';
import type { NotifierInput } from '../../workflow/messages.ts';
import { doWhatIsDue } from '../due.ts';
import { insightLink } from '../links.ts';
import type { Message, Outcome, Target } from '../messages/message.ts';
import { alertTargets } from '../messages/targets.ts';
import { failed, paused, reasonOf, SUCCEEDED, UNSEEN } from '../notifier.ts';
import type { NotifierTenant } from '../tenant.ts';
import type { AlertCheck, AlertItem } from './model.ts';
import { watchedQuery } from './query.ts';
import { type Breach, dayOf, type Evaluated, evaluated, NoNumber, type TrendsResult } from './rules.ts';
import { dueOf, nextCheck } from './times.ts';

/** So many checks are kept. */
const KEPT_CHECKS = 5;

type CheckContext = Pick<Context, 'table' | 'clock' | 'answers' | 'newId' | 'settings' | 'log'>;

/** Checks an alert that is due, as `doWhatIsDue` says. Throws `Transient` when too much waits for an answer. */
export const checkAlert = (context: CheckContext, input: NotifierInput, signal: AbortSignal): Promise<void> =>
  doWhatIsDue(context, input, {
    kind: 'alert',
    key: keys.alert(input.project, String(input.id)),
    field: 'next_check_at',
    dueOf,
    nextOf: (item, now, timezone) => nextCheck(now, item, timezone),
    outcome: async (item, tenant, now) => {
      const { set, messages } = await outcome(context, item, tenant, signal, now);
      return { set: { ...set, last_checked_at: now, snoozed_until: null }, messages };
    },
  });

/** Looks, and returns what to store and to tell. */
async function outcome(
  context: CheckContext,
  item: AlertItem,
  { organization, project, membership }: NotifierTenant,
  signal: AbortSignal,
  now: number,
): Promise<Outcome> {
  const insight = await context.table.get(keys.insight(project.id, item.insight_id));
  // A deleted insight may come back, and its alert with it.
  if (insight?.deleted_at !== null) return { set: {}, messages: [] };
  const [seen] =
    membership === undefined ? [] : await seenInsights(context.table, { organization, project, membership }, [insight]);
  if (seen === undefined) return { set: paused(UNSEEN), messages: [] };
  try {
    const found = await look(context, item, insight, project, signal);
    return told(context, item, insight, found, now);
  } catch (error) {
    const reason = error instanceof NoNumber ? error.message : reasonOf(error);
    const check = checked(context, item, { value: null, state: 'Errored', targets_notified: false, at: now });
    return { set: { ...failed(item, reason, now), state: 'Errored', ...check }, messages: [] };
  }
}

async function look(
  context: CheckContext,
  item: AlertItem,
  insight: InsightItem,
  project: ProjectItem,
  signal: AbortSignal,
) {
  const { query, isTotal, hasBreakdown } = watchedQuery(insight);
  const asked = { project, query, insight: insight.id };
  const asker = { callerLeft: signal, user: item.created_by, isNotifier: true };
  const { kept } = await answersIn(context).ask(asked, 'blocking', asker);
  const results = objects(kept?.answer.results).map((result) => ({
    ...(result as Omit<TrendsResult, 'name' | 'key'>),
    name: nameOf(result),
    key: keyOfResult(result),
  }));
  const { condition, series_index, check_ongoing_interval } = item;
  const threshold = fromJsonText(item.threshold);
  return evaluated(results, { threshold, condition, series_index, check_ongoing_interval, isTotal, hasBreakdown });
}

/** Returns what tells a result of trends from all others of its query, in few characters. */
function keyOfResult({ label, action, breakdown_value }: Json): string {
  const said = JSON.stringify([object(action)['order'] ?? null, label, breakdown_value ?? null]);
  return hash('sha256', said, 'base64');
}

/** So many breaches of an interval are known to have been told; a breakdown may have more values. */
const KNOWN_BREACHES = 50;

/**
 * Returns what to store of a number that was found, and the messages. What was told already is not told again: of an
 * interval as long as it is looked at, of one number until it is within its bounds.
 */
function told(
  context: CheckContext,
  item: AlertItem,
  insight: InsightItem,
  { value, breaches, days }: Evaluated,
  now: number,
): Outcome {
  const before = new Set(fromJsonText(item.told));
  // The first by their keys: the order of a breakdown's values changes with each event.
  const known = [...Map.groupBy(breaches, ({ day }) => day).values()].flatMap((ofDay) =>
    ofDay
      .map(({ key }) => key)
      .toSorted()
      .slice(0, KNOWN_BREACHES),
  );
  const isNew = known.some((key) => !before.has(key));
  // A mean may leave its bounds and come back several times in an interval.
  const earlier = [...before].filter((key) => days.has(dayOf(key)) && !known.includes(key)).slice(0, KNOWN_BREACHES);
  const state = breaches.length > 0 ? 'Firing' : 'Not firing';
  const set = {
    // A message that was not sent is still to be told of as an error.
    ...(fromJsonText(item.checks)[0]?.state === 'Errored' ? SUCCEEDED : {}),
    state,
    last_value: value,
    told: toJsonText([...known, ...earlier]),
    ...checked(context, item, { value, state, targets_notified: false, at: now }),
  };
  if (!isNew) return { set, messages: [] };
  return {
    set,
    messages: alertTargets(item).map((target) => message(context, item, insight, { value, breaches, target, now })),
  };
}

function checked({ newId }: CheckContext, item: AlertItem, check: Omit<AlertCheck, 'id'>) {
  const checks = [{ id: newId(), ...check }, ...fromJsonText(item.checks)].slice(0, KEPT_CHECKS);
  return { checks: toJsonText<readonly AlertCheck[]>(checks) };
}

/** So many breaches are told one by one. */
const TOLD_BREACHES = 10;

function message(
  context: CheckContext,
  item: AlertItem,
  insight: InsightItem,
  {
    value,
    breaches,
    target,
    now,
  }: {
    readonly value: number | null;
    readonly breaches: readonly Breach[];
    readonly target: Target;
    readonly now: number;
  },
): Message {
  const watched = insightName(insight);
  const link = insightLink(context, item.project_id, insight.id);
  const more = breaches.length - TOLD_BREACHES;
  return {
    organization: item.organization_id,
    project: item.project_id,
    by: { kind: 'alert', id: item.id },
    target,
    type: 'alert.firing',
    at: now,
    title: `Alert: ${item.name || watched}`,
    lines: [
      ...breaches.slice(0, TOLD_BREACHES).map(({ sentence }) => sentence),
      ...(more > 0 ? [`${more} more ${more === 1 ? 'is' : 'are'} out of bounds.`] : []),
    ],
    link,
    insights: [],
    data: {
      alert: item.id,
      name: item.name,
      team_id: item.project_id,
      insight: insight.id,
      insight_name: watched,
      value,
      breaches: breaches.slice(0, TOLD_BREACHES).map(({ sentence }) => sentence),
      link,
    },
  };
}
