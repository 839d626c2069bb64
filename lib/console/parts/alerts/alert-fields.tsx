import { Group, MultiSelect, PasswordInput, Select, Switch, Text, TextInput } from '@mantine/core';
import { type Alert, type AlertValues, areTurned } from '../../client/alerts.ts';
import type { Schemas } from '../../client/api.ts';
import { list, sourceIn, text } from '../../client/json.ts';
import { useProjectMembers } from '../../client/organization.ts';
import type { Form } from '../form.ts';
import { faultOf } from '../problem.tsx';

const CONDITIONS = [
  { value: 'absolute_value', label: 'The number' },
  { value: 'relative_increase', label: 'How much more it is than before' },
  { value: 'relative_decrease', label: 'How much less it is than before' },
] as const;

const TYPES = [
  { value: 'absolute', label: 'as it is' },
  { value: 'percentage', label: 'in percent' },
] as const;

const INTERVALS = [
  { value: 'hourly', label: 'every hour' },
  { value: 'daily', label: 'every day' },
  { value: 'weekly', label: 'every week' },
  { value: 'monthly', label: 'every month' },
] as const;

const FORMS = [
  { value: '', label: 'as the address says' },
  { value: 'webhook', label: 'JSON' },
  { value: 'slack', label: 'a message for Slack' },
] as const;

/** What is refused of an alert and shown beside a field. */
export const SHOWN_FIELDS = [
  'name',
  'condition__type',
  'configuration__type',
  'bounds',
  'lower',
  'upper',
  'series_index',
  'check_ongoing_interval',
  'calculation_interval',
  'skip_weekend',
  'subscribed_users',
  'notify_url',
  'notify_secret',
  'notify_type',
];

interface AlertFieldsProps {
  readonly form: Form<AlertValues>;
  readonly project: string;
  /** What the insight asks. */
  readonly query: Schemas['Insight']['query'];
  /** The alert as it is kept; undefined: it is a new one. */
  readonly kept?: Alert;
}

/** The fields of an alert, and what was refused of them. */
export function AlertFields({ form, project, query, kept }: AlertFieldsProps) {
  const { values, error } = form;
  const members = useProjectMembers(project);
  const series = seriesIn(query);
  const isChange = values.condition !== 'absolute_value';
  const isTold =
    values.subscribed_users.length > 0 || (!values.isSilent && (values.notify_url !== '' || kept?.notify_host != null));
  const fault = (...fields: readonly string[]) => faultOf(error, ...fields);
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.text('name')} />
      {series.length > 1 && <Select label="Series" data={series} {...form.choice('series_index')} />}
      <Group grow align="start">
        <Select
          label="Looks at"
          data={CONDITIONS}
          {...form.choice('condition')}
          onChange={(condition) =>
            condition !== null &&
            form.set({ condition, ...(condition === 'absolute_value' ? { threshold: 'absolute' } : {}) })
          }
          error={fault('condition__type')}
        />
        {isChange && (
          <Select label="Counted" data={TYPES} {...form.choice('threshold')} error={fault('configuration__type')} />
        )}
      </Group>
      <Group grow align="start">
        <TextInput
          label="Tells when it is below"
          type="number"
          step="any"
          {...form.text('lower')}
          error={
            areTurned(values) ? 'It is above the other: no number would be between them.' : fault('lower', 'bounds')
          }
        />
        <TextInput label="Tells when it is above" type="number" step="any" {...form.text('upper')} />
      </Group>
      <Select label="Looks" data={INTERVALS} {...form.choice('calculation_interval')} />
      <Switch label="Not on Saturday and Sunday" {...form.tick('skip_weekend')} />
      <Switch
        label="Looks at the interval that goes on"
        description="Else at the last whole one."
        {...form.tick('check_ongoing_interval')}
      />
      <MultiSelect
        label="Members who get a mail"
        data={(members.data?.results ?? []).map(({ user }) => ({ value: String(user.id), label: user.email }))}
        value={[...values.subscribed_users]}
        onChange={(subscribed_users) => form.set({ subscribed_users })}
        error={fault('subscribed_users')}
        clearButtonProps={{ 'aria-label': 'Nobody' }}
      />
      <TextInput
        label="Webhook"
        description={
          kept?.notify_host == null ? 'An address that is told.' : `${kept.notify_host} is told. Left empty: as it is.`
        }
        disabled={values.isSilent}
        {...form.text('notify_url')}
      />
      <Select label="Is sent" data={FORMS} disabled={values.isSilent} {...form.choice('notify_type')} />
      <PasswordInput
        label="Secret of the webhook"
        description="Signs what it is told: whsec_ and the base64 of 24 to 64 bytes."
        autoComplete="off"
        disabled={values.isSilent}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
        {...form.text('notify_secret')}
      />
      {kept?.notify_host != null && <Switch label="Tell no webhook" {...form.tick('isSilent')} />}
      {!isTold && (
        <Text size="sm" role="status">
          Nobody is told: choose a member or a webhook.
        </Text>
      )}
      {kept === undefined && (
        <Text size="sm" c="dimmed">
          It looks at once, and tells of each interval once.
        </Text>
      )}
    </>
  );
}

/** Returns the series of a query to choose from. */
function seriesIn(query: Schemas['Insight']['query']) {
  return list(sourceIn(query)['series']).map((one, at) => ({
    value: String(at),
    label: `${at + 1}. ${text(one['custom_name'], text(one['name'], text(one['event'], 'All events')))}`,
  }));
}
