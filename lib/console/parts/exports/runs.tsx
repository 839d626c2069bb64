import { Group, Select, Stack, Text } from '@mantine/core';
import { type BatchExport, useRuns } from '../../client/exports.ts';
import { useView } from '../address.ts';
import { Instant, UtcRange } from '../instant.tsx';
import { Listing } from '../listing.tsx';
import { STATUSES, StatusBadge, statusName } from '../status.tsx';
import { To } from '../to.tsx';
import { ViewChoice } from '../view-choice.tsx';
import { RunAction, RunDetail, rowsOf } from './run-detail.tsx';
import { RunStrip } from './run-strip.tsx';

interface RunsProps {
  readonly project: string;
  /** The export. */
  readonly one: BatchExport;
}

const SINCE = [
  { value: '-1d', label: 'the last day' },
  { value: '-7d', label: 'the last 7 days' },
  { value: '-30d', label: 'the last 30 days' },
  { value: '-10y', label: 'ever' },
];

const noRuns = ({ paused }: BatchExport): string =>
  paused
    ? 'No runs. The export is paused: “Unpause” lets it go on; a backfill delivers the past.'
    : 'No runs. The next one starts soon after the current interval has ended; a backfill delivers the past.';

/** The runs of an export: how each interval went. */
export function Runs({ project, one }: RunsProps) {
  const { id } = one;
  const [view, setView] = useView();
  const status = STATUSES.find((one) => one === view['status']);
  const since = view['since'] ?? '-7d';
  const runs = useRuns(project, id, { status, since });
  return (
    <Stack>
      <RunStrip project={project} one={one} open={(run) => setView({ run })} />
      <Group>
        <ViewChoice
          name="status"
          label="State"
          data={STATUSES.map((one) => ({ value: one, label: statusName(one) }))}
          value={status}
          placeholder="any"
          all="Any state"
        />
        <Select
          label="Made in"
          data={SINCE}
          value={since}
          allowDeselect={false}
          onChange={(value) => setView({ since: value ?? undefined })}
        />
      </Group>
      <Listing
        label="Runs"
        {...runs}
        newest={runs}
        rowKey={({ id: run }) => run}
        empty={<Text>{status === undefined ? noRuns(one) : 'No run matches.'}</Text>}
        columns={[
          {
            name: 'Interval',
            cell: (run) => <UtcRange from={run.data_interval_start} to={run.data_interval_end} />,
          },
          {
            name: 'State',
            cell: (run) => (
              <Stack gap={2} align="start">
                <StatusBadge status={run.status} />
                {run.latest_error !== null && <Text size="sm">{run.latest_error}</Text>}
              </Stack>
            ),
          },
          { name: 'Rows', cell: (run) => rowsOf(run), from: 'xs' },
          { name: 'Started', cell: (run) => <Instant at={run.created_at} />, from: 'md' },
          {
            name: 'Log',
            cell: (run) => (
              <To to={`/projects/${project}/exports/${id}`} view={{ tab: 'logs', run: run.id }}>
                Log
              </To>
            ),
            from: 'sm',
          },
          { name: 'Action', cell: (run) => <RunAction project={project} run={run} /> },
        ]}
      />
      {view['run'] !== undefined && (
        <RunDetail
          project={project}
          id={id}
          run={view['run']}
          known={runs.rows}
          close={() => setView({ run: undefined })}
        />
      )}
    </Stack>
  );
}
