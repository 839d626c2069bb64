/** Alerts of a project: what they watch, what they found. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type At, answered, api, ifMatch, type Schemas, type Versioned, versioned } from './api.ts';
import { changedOf } from './json.ts';
import { rowsOfPage } from './paged.ts';
import { live } from './polling.ts';
import { NO_WEBHOOK, sentWebhook, type WebhookValues } from './webhook.ts';

export type Alert = Schemas['Alert'];

/** Returns a page of alerts, of one insight or of all. */
export function useAlerts(project: string, insight: number | undefined, page: number, search: string) {
  const query = { ...rowsOfPage(page, search), insight };
  return useQuery({
    queryKey: ['alerts', project, query],
    placeholderData: keepPreviousData,
    refetchInterval: live,
    queryFn: () =>
      answered(api.GET('/api/projects/{project_id}/alerts/', { params: { path: { project_id: project }, query } })),
  });
}

export const alertAt = (project: string, id: string): At<Alert> => ({
  queryKey: ['alert', project, id],
  queryFn: () =>
    versioned(api.GET('/api/projects/{project_id}/alerts/{id}/', { params: { path: { project_id: project, id } } })),
});

/** What a form says of an alert: texts as they are typed, shares in percent. */
export interface AlertValues extends WebhookValues {
  readonly name: string;
  readonly condition: Alert['condition']['type'];
  readonly threshold: Alert['threshold']['configuration']['type'];
  readonly lower: string;
  readonly upper: string;
  readonly series_index: string;
  readonly check_ongoing_interval: boolean;
  readonly calculation_interval: Alert['calculation_interval'];
  readonly skip_weekend: boolean;
  /** Numbers of members. */
  readonly subscribed_users: readonly string[];
  /** Empty: as the address says. */
  readonly notify_type: '' | Alert['notify_type'];
}

export const NEW_ALERT: AlertValues = {
  name: '',
  condition: 'absolute_value',
  threshold: 'absolute',
  lower: '',
  upper: '',
  series_index: '0',
  check_ongoing_interval: false,
  calculation_interval: 'daily',
  skip_weekend: false,
  subscribed_users: [],
  notify_type: '',
  ...NO_WEBHOOK,
};

/** Is the lower bound above the upper one? */
export const areTurned = ({ lower, upper }: Pick<AlertValues, 'lower' | 'upper'>): boolean =>
  lower.trim() !== '' && upper.trim() !== '' && Number(lower) > Number(upper);

const PERCENT = 100;

/** Returns a bound as it is typed; of a share 0.5 is 50. */
const typedBound = (bound: number | null, type: AlertValues['threshold']): string =>
  bound === null ? '' : String(type === 'absolute' ? bound : Number((bound * PERCENT).toPrecision(12)));

function boundOf(typed: string, type: AlertValues['threshold']): number | null {
  if (typed.trim() === '') return null;
  return type === 'absolute' ? Number(typed) : Number((Number(typed) / PERCENT).toPrecision(12));
}

/** Returns what the form of an alert begins with. */
export function alertValues({ threshold, condition, config, ...rest }: Alert): AlertValues {
  const { type, bounds } = threshold.configuration;
  return {
    ...NEW_ALERT,
    name: rest.name,
    condition: condition.type,
    threshold: type,
    lower: typedBound(bounds.lower, type),
    upper: typedBound(bounds.upper, type),
    series_index: String(config.series_index),
    check_ongoing_interval: config.check_ongoing_interval,
    calculation_interval: rest.calculation_interval,
    skip_weekend: rest.skip_weekend,
    subscribed_users: rest.subscribed_users.map(({ id }) => String(id)),
    notify_type: rest.notify_host === null ? '' : rest.notify_type,
  };
}

/** Returns what is sent of a form: all but what is left empty to stay. */
export function sentAlert(values: AlertValues): Omit<Schemas['AlertsCreateRequest'], 'insight'> {
  const { threshold: type, condition, notify_type } = values;
  return {
    name: values.name,
    subscribed_users: values.subscribed_users.map(Number),
    threshold: {
      configuration: { type, bounds: { lower: boundOf(values.lower, type), upper: boundOf(values.upper, type) } },
    },
    condition: { type: condition },
    config: {
      type: 'TrendsAlertConfig',
      series_index: Number(values.series_index),
      check_ongoing_interval: values.check_ongoing_interval,
    },
    calculation_interval: values.calculation_interval,
    skip_weekend: values.skip_weekend,
    ...sentWebhook(values),
    ...(values.isSilent || notify_type === '' ? {} : { notify_type }),
  };
}

/** What is changed of an alert: what its form says, and whether it looks. */
export type AlertChange = Partial<AlertValues> & Pick<Schemas['AlertsUpdateRequest'], 'enabled' | 'snoozed_until'>;

/** Writes a change of the version that was seen. Throws a `Refusal` of status 412 when somebody else was faster. */
export function writeAlert(
  project: string,
  seen: Versioned<Alert>,
  { enabled, snoozed_until, ...typed }: AlertChange,
): Promise<Versioned<Alert>> {
  const before = alertValues(seen.value);
  return versioned(
    api.PATCH('/api/projects/{project_id}/alerts/{id}/', {
      params: { path: { project_id: project, id: seen.value.id }, header: ifMatch(seen) },
      body: {
        ...changedOf(sentAlert({ ...before, ...typed }), sentAlert(before)),
        enabled,
        snoozed_until,
      },
    }),
  );
}

const WATCHED = { absolute_value: 'The number', relative_increase: 'Its increase', relative_decrease: 'Its decrease' };

const grouped = new Intl.NumberFormat('en', { maximumSignificantDigits: 21 });

/** Returns when an alert fires, as a sentence says it: `The number is below 100`. */
export function boundsText({ condition, threshold }: Pick<Alert, 'condition' | 'threshold'>): string {
  const { type, bounds } = threshold.configuration;
  const unit = type === 'absolute' ? '' : ' percent';
  const said = (['lower', 'upper'] as const).flatMap((side) => {
    const bound = typedBound(bounds[side], type);
    return bound === '' ? [] : [`${side === 'lower' ? 'below' : 'above'} ${grouped.format(Number(bound))}${unit}`];
  });
  return `${WATCHED[condition.type]} is ${said.join(' or ')}`;
}
