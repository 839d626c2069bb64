import { Card, Code, Group, PasswordInput, Select, Stack, Switch, Text, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { DestinationForm, Values } from '../../client/destinations.ts';
import type { BatchExport } from '../../client/exports.ts';
import type { Filter } from '../../client/property-filters.ts';
import { NO_WEBHOOK, type WebhookValues } from '../../client/webhook.ts';
import { DestinationFields } from '../destination-fields.tsx';
import type { Form } from '../form.ts';
import { Heading } from '../heading.tsx';
import { Problem } from '../problem.tsx';
import { PropertyFilters } from '../property-filters.tsx';

const INTERVALS: readonly BatchExport['interval'][] = ['every 5 minutes', 'every 15 minutes', 'hour', 'day', 'week'];

/** What a form says of an export. */
export interface ExportValues extends WebhookValues {
  readonly name: string;
  readonly model: BatchExport['model'];
  readonly interval: BatchExport['interval'];
  readonly config: Values;
  /** Empty: the usual columns. */
  readonly hogql_query: string;
  readonly filters: readonly Filter[];
}

export const NEW_EXPORT: ExportValues = {
  name: '',
  model: 'events',
  interval: 'hour',
  config: {},
  hogql_query: '',
  filters: [],
  ...NO_WEBHOOK,
};

interface ExportFieldsProps {
  readonly form: Form<ExportValues>;
  readonly destination: DestinationForm;
  /** The export as it is kept; undefined: it is a new one. */
  readonly kept?: BatchExport;
  /** Whether the form can say all filters that are kept. */
  readonly saysFilters?: boolean;
  /** What tries the destination. */
  readonly checks: ReactNode;
}

/** The fields of an export, and what was refused of them. */
export function ExportFields({ form, destination, kept, saysFilters = true, checks }: ExportFieldsProps) {
  const { values, error } = form;
  const isOfEvents = values.model === 'events';
  const shown = ['name', 'interval', 'hogql_query', 'notify_url', 'notify_secret'];
  return (
    <Stack>
      <Card withBorder>
        <Heading mb="sm">{destination.type}</Heading>
        <DestinationFields
          form={destination}
          values={values.config}
          error={error}
          kept={kept?.destination.config}
          change={(key, value) => form.set({ config: { ...values.config, [key]: value } })}
        />
        {checks}
      </Card>
      <TextInput label="Name" required {...form.text('name')} />
      <Group grow align="start">
        {kept === undefined && <Select label="Rows of" data={['events', 'persons']} {...form.choice('model')} />}
        <Select
          label="Every"
          data={INTERVALS.map((one) => ({ value: one, label: one.replace('every ', '') }))}
          {...form.choice('interval')}
        />
      </Group>
      {isOfEvents && (
        <>
          <Textarea
            label="HogQL"
            description="Which columns, of which events. Left empty: the usual columns of all events."
            placeholder="SELECT event, timestamp FROM events WHERE event = 'paid'"
            rows={2}
            {...form.text('hogql_query')}
          />
          <div role="group" aria-label="Filters">
            <Text size="sm" mb={4}>
              Only events with
            </Text>
            {saysFilters ? (
              <PropertyFilters filters={values.filters} change={(filters) => form.set({ filters })} />
            ) : (
              <>
                <Text size="sm">The form cannot say all of these filters. They are kept as they are.</Text>
                <Code block tabIndex={0}>
                  {JSON.stringify(kept?.filters, null, 2)}
                </Code>
              </>
            )}
          </div>
        </>
      )}
      <TextInput
        label="Webhook"
        description={
          kept?.notify_host == null
            ? 'An address that is told when a run fails for good.'
            : `Failures are told to ${kept.notify_host}. Left empty: as it is.`
        }
        disabled={values.isSilent}
        {...form.text('notify_url')}
      />
      <PasswordInput
        label="Secret of the webhook"
        description="Signs what it is told: whsec_ and the base64 of 24 to 64 bytes."
        autoComplete="off"
        disabled={values.isSilent}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
        {...form.text('notify_secret')}
      />
      {kept?.notify_host != null && <Switch label="Tell failures to nobody" {...form.tick('isSilent')} />}
      <Problem error={error} fields={[...shown, ...destination.fields.map(({ key }) => key)]} />
    </Stack>
  );
}
