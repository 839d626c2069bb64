import { Box, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { answered, api, type Schemas, type Versioned } from '../../client/api.ts';
import {
  changedConfig,
  DESTINATIONS,
  type DestinationForm,
  hasFault,
  storedValues,
} from '../../client/destinations.ts';
import { type BatchExport, exportAt, useDestinationTests, writeExport } from '../../client/exports.ts';
import { type Filter, sentFilters, wholeFiltersIn } from '../../client/property-filters.ts';
import { sentWebhook } from '../../client/webhook.ts';
import { disputedFields } from '../conflict-notice.tsx';
import { useForm } from '../form.ts';
import { tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { ScopedButton } from '../scoped-button.tsx';
import { Unsaved } from '../unsaved.tsx';
import { type OwnChanges, useVersionedWrite } from '../versioned-write.tsx';
import { Checks } from './checks.tsx';
import { ExportFields, type ExportValues, NEW_EXPORT } from './export-fields.tsx';

type Change = Schemas['BatchExportPatch'];

interface ExportSettingsProps {
  readonly project: string;
  readonly now: Versioned<BatchExport>;
  /** What this page does to the export beside the form: the form goes over it. */
  readonly own: OwnChanges<BatchExport>;
}

/** Changes an export. What is being written is not touched by what others change meanwhile. */
export function ExportSettings({ project, now, own }: ExportSettingsProps) {
  const [seen, setSeen] = useState(now);
  const destination = DESTINATIONS.find(({ type }) => type === seen.value.destination.type);
  if (destination === undefined) return <Text size="sm">This page has no form for its destination.</Text>;
  return <Settings key={seen.etag} project={project} seen={seen} own={own} destination={destination} look={setSeen} />;
}

interface SettingsProps extends Pick<ExportSettingsProps, 'project' | 'own'> {
  readonly seen: Versioned<BatchExport>;
  readonly destination: DestinationForm;
  /** Begins anew from another version. */
  readonly look: (version: Versioned<BatchExport>) => void;
}

function Settings({ project, seen, own, destination, look }: SettingsProps) {
  const renew = useRenew();
  const { value } = seen;
  const [filters] = useState(() => wholeFiltersIn(value.filters));
  const [before] = useState(() => valuesOf(value, destination, filters ?? []));
  const form = useForm(before);
  const tests = useDestinationTests(project, [destination.type]);

  /** Returns what the form says otherwise than the export. */
  const change = (): Change => {
    const { name, interval, hogql_query: query, filters: typed, config } = form.changed;
    const changed = config && { type: destination.type, config: changedConfig(destination, config, before.config) };
    return {
      name,
      interval,
      filters: typed && sentFilters(typed),
      hogql_query: query?.trim() === '' ? null : query,
      destination: changed as Schemas['DestinationPatch'] | undefined,
      ...sentWebhook(form.values),
    };
  };

  const { send, underWay, notice } = useVersionedWrite<Change, BatchExport>({
    what: 'the export',
    at: exportAt(project, value.id),
    write: (wanted, over) => writeExport(project, over, wanted),
    shown: look,
    written: async ({ value: { name } }) => {
      await renew('exports');
      tell(`${name} is changed.`);
    },
    disputed: disputedOf,
    own,
    attempt: form.attempt,
  });

  return (
    <form onSubmit={form.sends(() => send(change(), seen))}>
      <Stack maw={640}>
        {/* The form begins anew when it is written: what was typed meanwhile would be lost. */}
        <Box component="fieldset" disabled={underWay.length > 0} bd={0} m={0} p={0} miw={0}>
          <ExportFields
            form={form}
            destination={destination}
            kept={value}
            saysFilters={filters !== undefined}
            checks={
              <Checks
                steps={tests.steps(destination.type) ?? []}
                of={form.values.config}
                attempt={form.attempt}
                run={(step) =>
                  answered(
                    api.POST('/api/projects/{project_id}/batch_exports/{id}/run_test_step/', {
                      params: { path: { project_id: project, id: value.id } },
                      body: { ...change(), step },
                    }),
                  )
                }
              />
            }
          />
        </Box>
        <Group>
          <ScopedButton
            scope="batch_export:write"
            type="submit"
            loading={form.isBusy}
            disabled={hasFault(destination, form.values.config)}
          >
            Save
          </ScopedButton>
        </Group>
      </Stack>
      {notice}
      <Unsaved isThere={form.values !== before} />
    </form>
  );
}

/** Returns what the form begins with. */
function valuesOf(one: BatchExport, form: DestinationForm, filters: readonly Filter[]): ExportValues {
  const { name, model, interval, hogql_query, destination } = one;
  const config = storedValues(form, destination.config);
  return { ...NEW_EXPORT, name, model, interval, config, hogql_query: hogql_query ?? '', filters };
}

/** Returns the fields of a change that can be shown: neither secrets nor the webhook, which are never told. */
function disputedOf({ destination, notify_url: _url, notify_secret: _secret, ...fields }: Change, theirs: BatchExport) {
  const config: Readonly<Record<string, unknown>> = theirs.destination.config;
  const keys = Object.entries(destination?.config ?? {}).filter(([key]) => key in config);
  return [
    ...disputedFields<keyof typeof fields>(fields, theirs),
    ...keys.map(([field, mine]) => ({ field, theirs: config[field], mine })),
  ];
}
