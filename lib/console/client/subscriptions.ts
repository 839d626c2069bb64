/** Subscriptions of a project: what is sent where, and when. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { dayOf } from '../../basics/days.ts';
import { DAY_MS } from '../../basics/units.ts';
import { useProject } from './access.ts';
import { type At, answered, api, ifMatch, type Schemas, type Versioned, versioned } from './api.ts';
import { changedOf } from './json.ts';
import { instantOf, zonedOf } from './local-time.ts';
import { rowsOfPage } from './paged.ts';
import { live } from './polling.ts';

export type Subscription = Schemas['Subscription'];

/** What is sent: a dashboard or an insight. */
export interface Subject {
  readonly dashboard?: number;
  readonly insight?: number;
}

/** Returns what a subscription sends, or an address names: a dashboard, an insight, or nothing. */
export function subjectOf({
  dashboard,
  insight,
}: {
  readonly dashboard?: unknown;
  readonly insight?: unknown;
}): Subject {
  if (dashboard != null) return { dashboard: Number(dashboard) };
  return insight == null ? {} : { insight: Number(insight) };
}

/** Returns a page of subscriptions, of a dashboard, an insight, or all. */
export function useSubscriptions(project: string, subject: Subject, page: number, search: string) {
  const query = { ...subject, ...rowsOfPage(page, search) };
  return useQuery({
    queryKey: ['subscriptions', project, query],
    placeholderData: keepPreviousData,
    refetchInterval: live,
    queryFn: () =>
      answered(
        api.GET('/api/projects/{project_id}/subscriptions/', { params: { path: { project_id: project }, query } }),
      ),
  });
}

export const subscriptionAt = (project: string, id: number): At<Subscription> => ({
  queryKey: ['subscription', project, id],
  queryFn: () =>
    versioned(
      api.GET('/api/projects/{project_id}/subscriptions/{id}/', { params: { path: { project_id: project, id } } }),
    ),
});

/** What a form says of a subscription: texts as they are typed, times by the clock of a zone. */
export interface SubscriptionValues {
  readonly title: string;
  readonly target_type: Subscription['target_type'];
  readonly target_value: string;
  /** Empty: as it is. */
  readonly notify_secret: string;
  readonly frequency: Subscription['frequency'];
  readonly interval: string;
  readonly byweekday: readonly Subscription['byweekday'][number][];
  /** Empty: each of these days. */
  readonly bysetpos: string;
  readonly start_date: string;
  readonly until_date: string;
  /** Numbers of insights of the dashboard; none: all. */
  readonly dashboard_export_insights: readonly string[];
}

/**
 * Returns the zone by whose clock times are told: that of the project, which says what a Monday is. Who may not see the
 * project has their own. Undefined: it is not known yet.
 */
export function useZone(project: string): string | undefined {
  const { data, error } = useProject(project);
  return data?.timezone ?? (error === null ? undefined : new Intl.DateTimeFormat().resolvedOptions().timeZone);
}

/** Returns what the form begins with: each Monday morning from tomorrow on. */
export function newSubscription(zone: string): SubscriptionValues {
  const [today = ''] = zonedOf(Date.now(), zone).split('T');
  const tomorrow = dayOf(Date.parse(today) + DAY_MS);
  return {
    title: '',
    target_type: 'webhook',
    target_value: '',
    notify_secret: '',
    frequency: 'weekly',
    interval: '1',
    byweekday: ['monday'],
    bysetpos: '',
    start_date: `${tomorrow}T09:00`,
    until_date: '',
    dashboard_export_insights: [],
  };
}

export const subscriptionValues = (one: Subscription, zone: string): SubscriptionValues => ({
  title: one.title ?? '',
  target_type: one.target_type,
  target_value: one.target_value,
  notify_secret: '',
  frequency: one.frequency,
  interval: String(one.interval),
  byweekday: one.byweekday,
  bysetpos: one.bysetpos === null ? '' : String(one.bysetpos),
  start_date: zonedOf(one.start_date, zone),
  until_date: one.until_date === null ? '' : zonedOf(one.until_date, zone),
  dashboard_export_insights: one.dashboard_export_insights.map(String),
});

/** Days are of weeks and months alone. */
export const hasDays = ({ frequency }: Pick<SubscriptionValues, 'frequency'>): boolean =>
  frequency === 'weekly' || frequency === 'monthly';

/** Returns what is sent of a form: all but what is left empty to stay. */
export function sentSubscription(values: SubscriptionValues, zone: string) {
  const { target_type, target_value, notify_secret, frequency, interval, start_date, until_date } = values;
  const byweekday = hasDays(values) ? [...values.byweekday] : [];
  const isPlaced = frequency === 'monthly' && byweekday.length > 0 && values.bysetpos !== '';
  return {
    title: values.title,
    target_type,
    target_value,
    ...(notify_secret === '' || target_type === 'email' ? {} : { notify_secret }),
    frequency,
    interval: Number(interval),
    byweekday,
    bysetpos: isPlaced ? Number(values.bysetpos) : null,
    start_date: instantOf(start_date, zone),
    until_date: until_date === '' ? null : instantOf(until_date, zone),
    dashboard_export_insights: values.dashboard_export_insights.map(Number),
  };
}

/** What is changed of a subscription: what its form says, and whether it is sent or there at all. */
export type SubscriptionChange = Partial<SubscriptionValues> &
  Pick<Schemas['SubscriptionsUpdateRequest'], 'enabled' | 'deleted'>;

/**
 * Writes a change of the version that was seen, its times by the clock of a zone. Throws a `Refusal` of status 412 when
 * somebody else was faster.
 */
export function writeSubscription(
  project: string,
  seen: Versioned<Subscription>,
  { enabled, deleted, ...typed }: SubscriptionChange,
  zone: string,
): Promise<Versioned<Subscription>> {
  const before = subscriptionValues(seen.value, zone);
  return versioned(
    api.PATCH('/api/projects/{project_id}/subscriptions/{id}/', {
      params: { path: { project_id: project, id: seen.value.id }, header: ifMatch(seen) },
      body: {
        ...changedOf(sentSubscription({ ...before, ...typed }, zone), sentSubscription(before, zone)),
        enabled,
        deleted,
      },
    }),
  );
}
