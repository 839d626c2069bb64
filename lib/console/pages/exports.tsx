import { Group, Stack, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { counted } from '../../basics/text.ts';
import { type BatchExport, isOpen, type Run, useExports, useLag } from '../client/exports.ts';
import { asNumbered } from '../client/paged.ts';
import { usePage, useParam, useView } from '../parts/address.ts';
import { Instant } from '../parts/instant.tsx';
import { Label } from '../parts/label.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { isFailed, StatusBadge } from '../parts/status.tsx';
import { To, ToButton } from '../parts/to.tsx';

/** Where a column for how far an export has come finds no room: it stands below the name. */
const NARROW = '(max-width: 35.99em)';

export default function Exports() {
  const project = useParam('project');
  const [{ search = '' }] = useView();
  const [page, go] = usePage();
  const asked = useExports(project, page, search);
  const isNarrow = useMediaQuery(NARROW);
  const make = <ToButton to={`/projects/${project}/exports/new`}>New export</ToButton>;
  return (
    <Page title="Exports" actions={make}>
      <Stack>
        <SearchField description="A part of the name or of the destination’s type" />
        <Listing
          label="Exports"
          {...asNumbered(asked, page, go)}
          rowKey={({ id }) => id}
          empty={
            search !== '' ? (
              <Text>No export matches.</Text>
            ) : (
              <Stack align="center" gap="sm">
                <Text>
                  No exports yet. An export delivers the events or persons of every interval to a destination.
                </Text>
                {make}
              </Stack>
            )
          }
          columns={[
            {
              name: 'Name',
              cell: (one) => (
                <Stack gap={2}>
                  <To to={`/projects/${project}/exports/${one.id}`}>{one.name}</To>
                  {isNarrow && (
                    <Group gap={4}>
                      <Text size="sm">Delivered:</Text>
                      <DeliveredUpTo project={project} one={one} />
                    </Group>
                  )}
                </Stack>
              ),
            },
            { name: 'Destination', cell: ({ destination }) => destination.type, from: 'xs' },
            { name: 'Rows of', cell: ({ model }) => model, from: 'md' },
            { name: 'Every', cell: ({ interval }) => interval.replace('every ', ''), from: 'md' },
            { name: 'State', cell: (one) => <ExportState {...one} /> },
            ...(isNarrow
              ? []
              : [
                  {
                    name: 'Delivered up to',
                    cell: (one: BatchExport) => <DeliveredUpTo project={project} one={one} />,
                  },
                ]),
            { name: 'Last run', cell: (one) => <LastRun run={newest(one)} />, from: 'sm' },
          ]}
        />
      </Stack>
    </Page>
  );
}

const newest = ({ latest_runs }: BatchExport) => latest_runs[0];

function ExportState(one: BatchExport) {
  const run = newest(one);
  if (one.paused) return <Label color="gray">Paused</Label>;
  if (run !== undefined && isFailed(run.status)) return <Label color="red">Failing</Label>;
  // Of runs that begin together the newest may be the last to try.
  const isRetrying = one.latest_runs.some((latest) => isOpen(latest) && latest.latest_error !== null);
  return isRetrying ? <Label color="orange">Retrying</Label> : <Label color="green">On</Label>;
}

/** More intervals than the one that has just ended are behind. */
const USUAL = 1;

function DeliveredUpTo({ project, one }: { readonly project: string; readonly one: BatchExport }) {
  const lag = useLag(project, one);
  if (lag === undefined) return null;
  return (
    <Group gap="xs">
      <Instant at={lag?.until} none="nothing yet" />
      {lag !== null && lag.behind > USUAL && (
        <Label color="orange">{`${counted(lag.behind, 'interval')} behind`}</Label>
      )}
    </Group>
  );
}

function LastRun({ run }: { readonly run: Pick<Run, 'status' | 'created_at' | 'records_completed'> | undefined }) {
  if (run === undefined) {
    return (
      <Text size="sm" c="dimmed">
        none yet
      </Text>
    );
  }
  return (
    <Group gap="xs">
      <StatusBadge status={run.status} />
      <Instant at={run.created_at} />
      {run.records_completed !== null && <Text size="sm">{counted(run.records_completed, 'row')}</Text>}
    </Group>
  );
}
