import { Checkbox, Group, MultiSelect, PasswordInput, Select, TextInput } from '@mantine/core';
import { capitalized } from '../../../basics/text.ts';
import type { Option } from '../../client/json.ts';
import { hasDays, type SubscriptionValues } from '../../client/subscriptions.ts';
import type { Form } from '../form.ts';
import { faultOf } from '../problem.tsx';

const TARGETS = [
  { value: 'webhook', label: 'a webhook' },
  { value: 'slack', label: 'Slack' },
  { value: 'email', label: 'e-mail' },
] as const;

const FREQUENCIES = [
  { value: 'daily', label: 'days' },
  { value: 'weekly', label: 'weeks' },
  { value: 'monthly', label: 'months' },
  { value: 'yearly', label: 'years' },
] as const;

const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;

const POSITIONS = [
  { value: '', label: 'each of these days' },
  { value: '1', label: 'the first' },
  { value: '2', label: 'the second' },
  { value: '3', label: 'the third' },
  { value: '4', label: 'the fourth' },
  { value: '-1', label: 'the last' },
];

const ADDRESSES = {
  webhook: { label: 'Address', description: 'An address that gets the numbers as JSON.' },
  slack: { label: 'Address', description: 'That of an incoming webhook, which Slack shows when it makes one.' },
  email: { label: 'E-mail addresses', description: 'With commas between them, at most 20.' },
} as const;

interface SubscriptionFieldsProps {
  readonly form: Form<SubscriptionValues>;
  /** By whose clock its times are. */
  readonly zone: string;
  readonly isNew?: boolean;
  /** The insights of a dashboard to choose from; undefined: it is about an insight. */
  readonly insights?: readonly Option<string>[];
}

/** The fields of a subscription, and what was refused of them. */
export function SubscriptionFields({ form, zone, isNew = false, insights }: SubscriptionFieldsProps) {
  const { values, error } = form;
  const { target_type } = values;
  return (
    <>
      <TextInput
        label="Title"
        description="Left empty: the name of what is sent."
        data-autofocus
        {...form.text('title')}
      />
      <Select
        label="Sent to"
        data={TARGETS}
        {...form.choice('target_type')}
        onChange={(type) =>
          type !== null &&
          form.set({
            target_type: type,
            // An address of mail is none of a webhook.
            ...((type === 'email') === (target_type === 'email') ? {} : { target_value: '' }),
          })
        }
      />
      <TextInput required {...ADDRESSES[target_type]} {...form.text('target_value')} />
      {target_type !== 'email' && (
        <PasswordInput
          label="Secret"
          description={`Signs what it is sent: whsec_ and the base64 of 24 to 64 bytes. Left empty: ${isNew ? 'nothing is signed' : 'it stays'}.`}
          autoComplete="off"
          visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
          {...form.text('notify_secret')}
        />
      )}
      <Group grow align="start">
        <TextInput label="Every" type="number" min={1} required {...form.text('interval')} />
        <Select label="Unit" data={FREQUENCIES} {...form.choice('frequency')} />
      </Group>
      {hasDays(values) && (
        <Checkbox.Group
          label="On"
          value={[...values.byweekday]}
          onChange={(byweekday) => form.set({ byweekday })}
          error={faultOf(error, 'byweekday')}
        >
          <Group gap="sm" mt={4}>
            {DAYS.map((day) => (
              <Checkbox key={day} value={day} label={capitalized(day)} />
            ))}
          </Group>
        </Checkbox.Group>
      )}
      {values.frequency === 'monthly' && values.byweekday.length > 0 && (
        <Select label="Which of them" data={POSITIONS} {...form.choice('bysetpos')} />
      )}
      <Group grow align="start">
        <TextInput
          type="datetime-local"
          label={`From (${zone})`}
          description="Always at this time of the day."
          required
          {...form.text('start_date')}
        />
        <TextInput
          type="datetime-local"
          label={`Until (${zone})`}
          description="Left empty: without end."
          {...form.text('until_date')}
        />
      </Group>
      {insights !== undefined && (
        <MultiSelect
          label="Insights"
          description="None: all that the dashboard shows, at most 25."
          data={insights}
          value={[...values.dashboard_export_insights]}
          onChange={(dashboard_export_insights) => form.set({ dashboard_export_insights })}
          error={faultOf(error, 'dashboard_export_insights')}
          clearButtonProps={{ 'aria-label': 'All insights' }}
        />
      )}
    </>
  );
}
