import { Card, Code, Group, Stack, Switch, Tabs, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../client/api.ts';
import { type BatchExport, exportAt } from '../client/exports.ts';
import { live } from '../client/polling.ts';
import { ActButton } from '../parts/act-button.tsx';
import { useNavigateFromHere, useParam, useView } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Backfills } from '../parts/exports/backfills.tsx';
import { ExportSettings } from '../parts/exports/export-settings.tsx';
import { Logs } from '../parts/exports/logs.tsx';
import { Runs } from '../parts/exports/runs.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { Label } from '../parts/label.tsx';
import { Loading } from '../parts/loading.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { type OwnChanges, useOwnChanges } from '../parts/versioned-write.tsx';

export default function Export() {
  const project = useParam('project');
  const id = useParam('id');
  const navigate = useNavigateFromHere();
  const [view, setView] = useView();
  const queries = useQueryClient();
  const renew = useRenew();
  const at = exportAt(project, id);
  const asked = useQuery({ ...at, refetchOnMount: 'always', refetchInterval: live });
  const own = useOwnChanges(at);
  const { data, isFetchedAfterMount } = asked;
  if (data === undefined) return <AwaitedPage title="Export" asked={asked} />;
  const { value } = data;
  const path = { project_id: project, id };
  const remove = async (): Promise<void> => {
    await answered(api.DELETE('/api/projects/{project_id}/batch_exports/{id}/', { params: { path } }));
    tell(`${value.name} is deleted.`);
    navigate({ to: `/projects/${project}/exports`, replace: true, ignoreBlocker: true });
    // “Back” may lead to another tab of it: nothing of it is kept here.
    queries.removeQueries({ queryKey: at.queryKey });
    await renew('exports');
  };
  return (
    <Page
      title={value.name}
      asked={asked}
      actions={
        <>
          <PauseButton project={project} one={value} beside={own.beside} />
          <ConfirmButton label="Delete" scope="batch_export:write" typed={value.name} act={remove}>
            The export, its runs and its logs are deleted. What it has delivered stays where it is.
          </ConfirmButton>
        </>
      }
    >
      <Stack>
        <About one={value} />
        <Tabs
          value={view['tab'] ?? 'runs'}
          onChange={(tab) => setView({ tab: tab ?? 'runs', run: undefined })}
          keepMounted={false}
        >
          <Tabs.List aria-label="Parts of the export">
            <Tabs.Tab value="runs">Runs</Tabs.Tab>
            <Tabs.Tab value="backfills">Backfills</Tabs.Tab>
            <Tabs.Tab value="logs">Logs</Tabs.Tab>
            <Tabs.Tab value="settings">Settings</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="runs" pt="md">
            <Runs project={project} one={value} />
          </Tabs.Panel>
          <Tabs.Panel value="backfills" pt="md">
            <Backfills project={project} id={id} />
          </Tabs.Panel>
          <Tabs.Panel value="logs" pt="md">
            <Logs project={project} id={id} run={view['run']} />
          </Tabs.Panel>
          <Tabs.Panel value="settings" pt="md">
            {/* A form does not begin with what was read for another page: it may be true no longer. */}
            {isFetchedAfterMount ? <ExportSettings project={project} now={data} own={own} /> : <Loading />}
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </Page>
  );
}

function About({ one }: { readonly one: BatchExport }) {
  const { destination, model, interval, paused, last_paused_at, created_at, hogql_query, notify_host } = one;
  return (
    <Card withBorder>
      <Stack gap="xs">
        <Group gap="lg">
          <Text size="sm">
            {model} to <b>{destination.type}</b>, every {interval.replace('every ', '')}
          </Text>
          {paused && <Label>Paused</Label>}
          {paused && (
            <Text size="sm">
              since <Instant at={last_paused_at} />
            </Text>
          )}
          <Text size="sm">
            made <Instant at={created_at} />
          </Text>
          {notify_host !== null && <Text size="sm">failures are told to {notify_host}</Text>}
        </Group>
        {hogql_query !== null && <Code block>{hogql_query}</Code>}
        <details>
          <summary>Its config</summary>
          <Code block tabIndex={0}>
            {JSON.stringify(destination.config, null, 2)}
          </Code>
        </details>
      </Stack>
    </Card>
  );
}

interface PauseButtonProps {
  readonly project: string;
  readonly one: BatchExport;
  /** Does what makes another version of the export. */
  readonly beside: OwnChanges<BatchExport>['beside'];
}

/** Pauses at once, and takes it back with one click; going on asks whether the pause shall be made up for. */
function PauseButton({ project, one, beside }: PauseButtonProps) {
  const renew = useRenew();
  const params = { path: { project_id: project, id: one.id } };
  const changed = async (act: () => Promise<unknown>, done: string): Promise<void> => {
    await beside(act);
    await renew('exports', 'backfills');
    tell(done);
  };
  if (!one.paused) {
    const pause = (): Promise<void> =>
      changed(
        () => answered(api.POST('/api/projects/{project_id}/batch_exports/{id}/pause/', { params })),
        `${one.name} is paused.`,
      );
    return (
      <ActButton scope="batch_export:write" size="xs" act={pause}>
        Pause
      </ActButton>
    );
  }
  return (
    <FormDialog
      label="Unpause"
      scope="batch_export:write"
      initial={{ backfill: true }}
      does="Go on"
      cancel="Cancel"
      submit={(body) =>
        changed(
          () => answered(api.POST('/api/projects/{project_id}/batch_exports/{id}/unpause/', { params, body })),
          `${one.name} goes on.`,
        )
      }
    >
      {(form) => (
        <>
          <Text size="sm">
            It was paused <Instant at={one.last_paused_at} />. The intervals since then were passed over.
          </Text>
          <Switch label="Deliver what the pause left out" {...form.tick('backfill')} />
        </>
      )}
    </FormDialog>
  );
}
