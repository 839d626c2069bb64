import { Button, Group, Radio, Stack } from '@mantine/core';
import { useState } from 'react';
import { answered, api, type Schemas } from '../client/api.ts';
import { configOf, DESTINATIONS, hasFault, initialValues } from '../client/destinations.ts';
import { useDestinationTests } from '../client/exports.ts';
import { isSame } from '../client/json.ts';
import { sentFilters } from '../client/property-filters.ts';
import { sentWebhook } from '../client/webhook.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { Checks } from '../parts/exports/checks.tsx';
import { ExportFields, NEW_EXPORT } from '../parts/exports/export-fields.tsx';
import { useForm } from '../parts/form.ts';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { Problem, tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { Unsaved } from '../parts/unsaved.tsx';

export default function NewExport() {
  const project = useParam('project');
  const navigate = useNavigateFromHere();
  const renew = useRenew();
  const params = { path: { project_id: project } };
  const types = DESTINATIONS.map(({ type }) => type);
  const tests = useDestinationTests(project, types);
  const [type, setType] = useState('');
  const form = useForm(NEW_EXPORT);
  const destination = DESTINATIONS.find((one) => one.type === type);
  const config = destination === undefined ? NEW_EXPORT.config : initialValues(destination);
  const isWritten = !isSame(form.values, { ...NEW_EXPORT, config });

  const choose = (chosen: string): void => {
    setType(chosen);
    form.forget();
    const next = DESTINATIONS.find((one) => one.type === chosen);
    if (next !== undefined) form.set({ config: initialValues(next) });
  };

  const input = (): Schemas['BatchExportInput'] => {
    const { name, model, interval, config, hogql_query, filters } = form.values;
    const isOfEvents = model === 'events';
    return {
      name,
      model,
      interval,
      // What the form says is checked by the service, which names the field at fault.
      destination: {
        type,
        config: destination === undefined ? {} : configOf(destination, config),
      } as Schemas['DestinationInput'],
      ...(isOfEvents && hogql_query.trim() !== '' ? { hogql_query } : {}),
      ...(isOfEvents && filters.length > 0 ? { filters: sentFilters(filters) } : {}),
      ...sentWebhook(form.values),
    };
  };

  const make = async (): Promise<void> => {
    const made = await answered(api.POST('/api/projects/{project_id}/batch_exports/', { params, body: input() }));
    await renew('exports');
    tell(`${made.name} delivers from now on.`);
    navigate({ to: `/projects/${project}/exports/${made.id}`, replace: true, ignoreBlocker: true });
  };

  return (
    <Page title="New export">
      <form onSubmit={form.sends(make)}>
        <Stack maw={640}>
          <Radio.Group label="Where to" value={type} onChange={choose}>
            <Stack gap="xs" mt="xs">
              {tests.isPending && <Loading size="sm" />}
              <Problem error={tests.error} />
              {DESTINATIONS.filter((one) => tests.steps(one.type) !== undefined).map((one) => (
                <Radio key={one.type} value={one.type} label={one.type} description={one.about} />
              ))}
            </Stack>
          </Radio.Group>
          {destination !== undefined && (
            <>
              <ExportFields
                form={form}
                destination={destination}
                checks={
                  <Checks
                    key={type}
                    steps={tests.steps(type) ?? []}
                    of={form.values.config}
                    attempt={form.attempt}
                    run={(step) => {
                      const { name, ...rest } = input();
                      return answered(
                        api.POST('/api/projects/{project_id}/batch_exports/run_test_step_new/', {
                          params,
                          body: { ...rest, name: name === '' ? 'Test' : name, step },
                        }),
                      );
                    }}
                  />
                }
              />
              <Group>
                <ScopedButton
                  scope="batch_export:write"
                  type="submit"
                  loading={form.isBusy}
                  disabled={hasFault(destination, form.values.config)}
                >
                  Create the export
                </ScopedButton>
                <Button
                  variant="default"
                  onClick={() => navigate({ to: `/projects/${project}/exports`, ignoreBlocker: true })}
                >
                  Cancel
                </Button>
              </Group>
            </>
          )}
        </Stack>
      </form>
      <Unsaved isThere={isWritten} />
    </Page>
  );
}
