import { Button, Card, Group, Radio, Select, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { answered, api, type Schemas } from '../client/api.ts';
import { configOf, DESTINATIONS, initialValues, type Values } from '../client/destinations.ts';
import { useParam } from '../parts/address.ts';
import { DestinationFields } from '../parts/destination-fields.tsx';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { faultOf, Problem, tell } from '../parts/problem.tsx';
import { ScopedButton } from '../parts/scoped-button.tsx';

type Step = Schemas['DestinationTestStep'];
type Interval = Schemas['BatchExportInput']['interval'];
type Model = 'events' | 'persons';

const INTERVALS: readonly Interval[] = ['every 5 minutes', 'every 15 minutes', 'hour', 'day', 'week'];
const HOUR_MS = 3_600_000;
/** Fields of the form that show what is wrong with them themselves. */
const OWN_FIELDS = ['name', 'hogql_query'];

export default function NewExport() {
  const project = useParam('project');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const path = { project_id: project };
  const offered = useOffered(project);
  const [type, setType] = useState('');
  const [values, setValues] = useState<Values>({});
  const [name, setName] = useState('');
  const [model, setModel] = useState<Model>('events');
  const [interval, setPeriod] = useState<Interval>('hour');
  const [query, setQuery] = useState('');
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const [running, setRunning] = useState<number | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const form = offered.forms.find((one) => one.type === type);

  const choose = (chosen: string): void => {
    setType(chosen);
    setSteps([]);
    setError(null);
    const next = DESTINATIONS.find((one) => one.type === chosen);
    if (next !== undefined) setValues(initialValues(next));
  };

  const input = (): Schemas['BatchExportInput'] => ({
    name,
    model,
    interval,
    // What the form says is checked by the service, which names the field at fault.
    destination: { type, config: form === undefined ? {} : configOf(form, values) } as Schemas['DestinationInput'],
    ...(query.trim() === '' ? {} : { hogql_query: query }),
  });

  /** Runs the checks one after another; those after one that failed would say nothing new. */
  async function check(): Promise<void> {
    setError(null);
    const known = offered.steps(type);
    setSteps(known);
    try {
      for (const [step] of known.entries()) {
        setRunning(step);
        const done = await answered(
          api.POST('/api/projects/{project_id}/batch_exports/run_test_step_new/', {
            params: { path },
            body: { ...input(), name: name === '' ? 'Test' : name, step },
          }),
        );
        setSteps((all) => all.map((one, at) => (at === step ? done : one)));
        if (done.result?.status === 'Failed') break;
      }
    } catch (problem) {
      setError(problem);
    } finally {
      setRunning(null);
    }
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await answered(
        api.POST('/api/projects/{project_id}/batch_exports/', { params: { path }, body: input() }),
      );
      await queries.invalidateQueries({ queryKey: ['exports', project] });
      tell(`${made.name} delivers from now on.`);
      void navigate({ to: `/projects/${project}/exports/${made.id}` });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }

  const fields = [...OWN_FIELDS, ...(form?.fields.map(({ key }) => key) ?? [])];
  return (
    <Page title="New export">
      <form onSubmit={(event) => void submit(event)}>
        <Stack maw={640}>
          <Radio.Group label="Where to" value={type} onChange={choose}>
            <Stack gap="xs" mt="xs">
              {offered.isPending && <Loading size="sm" />}
              {offered.forms.map((one) => (
                <Radio key={one.type} value={one.type} label={one.type} description={one.about} />
              ))}
            </Stack>
          </Radio.Group>
          {form !== undefined && (
            <>
              <Card withBorder>
                <Title order={2} size="h4" mb="sm">
                  {form.type}
                </Title>
                <DestinationFields
                  form={form}
                  values={values}
                  error={error}
                  change={(key, value) => setValues((all) => ({ ...all, [key]: value }))}
                />
                <Group mt="md">
                  <ScopedButton
                    scope="batch_export:write"
                    variant="default"
                    loading={running !== null}
                    onClick={() => void check()}
                  >
                    Check the destination
                  </ScopedButton>
                </Group>
                <Steps steps={steps} running={running} />
              </Card>
              <TextInput
                label="Name"
                required
                value={name}
                error={faultOf(error, 'name')}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <Group grow align="start">
                <Select
                  label="Rows of"
                  data={['events', 'persons']}
                  value={model}
                  allowDeselect={false}
                  onChange={(value) => setModel(value ?? 'events')}
                />
                <Select
                  label="Every"
                  data={INTERVALS.map((one) => ({ value: one, label: one.replace('every ', '') }))}
                  value={interval}
                  allowDeselect={false}
                  onChange={(value) => setPeriod(value ?? 'hour')}
                />
              </Group>
              {model === 'events' && (
                <Textarea
                  label="HogQL"
                  description="Which columns, of which events. Left empty: the usual columns of all events."
                  placeholder="SELECT event, timestamp FROM events WHERE event = 'paid'"
                  rows={2}
                  value={query}
                  error={faultOf(error, 'hogql_query')}
                  onChange={(event) => setQuery(event.currentTarget.value)}
                />
              )}
              <Problem error={error} fields={fields} />
              <Group>
                <ScopedButton scope="batch_export:write" type="submit" loading={isBusy}>
                  Create the export
                </ScopedButton>
                <Button variant="default" onClick={() => void navigate({ to: `/projects/${project}/exports` })}>
                  Cancel
                </Button>
              </Group>
            </>
          )}
        </Stack>
      </form>
    </Page>
  );
}

/** Returns the forms of the destinations that this service offers, and their checks. */
function useOffered(project: string) {
  const found = useQueries({
    queries: DESTINATIONS.map(({ type }) => ({
      queryKey: ['destination', project, type],
      staleTime: HOUR_MS,
      retry: false,
      queryFn: () =>
        answered(
          api.GET('/api/projects/{project_id}/batch_exports/test/', {
            params: { path: { project_id: project }, query: { destination: type } },
          }),
        ),
    })),
  });
  return {
    isPending: found.some(({ isPending }) => isPending),
    forms: DESTINATIONS.filter((_, at) => found[at]?.isSuccess === true),
    steps: (type: string): readonly Step[] =>
      found[DESTINATIONS.findIndex((one) => one.type === type)]?.data?.steps ?? [],
  };
}

const SIGNS = { Passed: '✓', Failed: '✗', Skipped: '–' } as const;

function Steps({ steps, running }: { readonly steps: readonly Step[]; readonly running: number | null }) {
  if (steps.length === 0) return null;
  return (
    <Stack gap="xs" mt="md" role="list" aria-label="Checks" aria-live="polite">
      {steps.map(({ name, result }, at) => (
        <Group key={name} gap="xs" wrap="nowrap" align="start" role="listitem">
          {running === at ? (
            <Loading size="xs" label="Running" />
          ) : (
            <Text span w={18} ta="center" aria-label={result?.status ?? 'Not run'}>
              {result === null ? '·' : SIGNS[result.status]}
            </Text>
          )}
          <div>
            <Text size="sm">{name}</Text>
            {result?.message != null && (
              <Text size="sm" c={result.status === 'Failed' ? 'var(--mantine-color-error)' : 'dimmed'}>
                {result.message}
              </Text>
            )}
          </div>
        </Group>
      ))}
    </Stack>
  );
}
