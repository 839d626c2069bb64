import { Drawer, Group, Stack, Text } from '@mantine/core';
import { answered, api } from '../../client/api.ts';
import { isOpen, type Run, useRun } from '../../client/exports.ts';
import { ActButton } from '../act-button.tsx';
import { Facts } from '../facts.tsx';
import { Instant, UtcRange } from '../instant.tsx';
import { Awaited } from '../problem.tsx';
import { StatusBadge } from '../status.tsx';
import { To } from '../to.tsx';

interface RunDetailProps {
  readonly project: string;
  /** The export. */
  readonly id: string;
  readonly run: string;
  /** The runs that are listed; undefined: they are not there yet. */
  readonly known: readonly Run[] | undefined;
  readonly close: () => void;
}

/** One run, beside the others. */
export function RunDetail({ project, id, run: wanted, known, close }: RunDetailProps) {
  const listed = known?.find((one) => one.id === wanted);
  const asked = useRun(project, id, known === undefined || listed !== undefined ? undefined : wanted);
  const run = listed ?? asked.data;
  return (
    <Drawer opened onClose={close} position="right" size="lg" title="Run">
      {run === undefined ? (
        <Awaited asked={asked} />
      ) : (
        <Stack>
          <Facts
            label="Run"
            facts={[
              ['Interval', <UtcRange key="interval" from={run.data_interval_start} to={run.data_interval_end} />],
              ['State', <StatusBadge key="state" status={run.status} />],
              ['Rows', rowsOf(run)],
              ['Began', <Instant key="began" at={run.created_at} />],
              ['Ended', <Instant key="ended" at={run.finished_at} none="not yet" />],
              ['For', run.backfill === null ? 'the schedule' : 'a backfill'],
            ]}
          />
          {run.latest_error !== null && (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {run.latest_error}
            </Text>
          )}
          <Group>
            <RunAction project={project} run={run} />
            <To to={`/projects/${project}/exports/${id}`} view={{ tab: 'logs', run: run.id }}>
              Its log
            </To>
          </Group>
        </Stack>
      )}
    </Drawer>
  );
}

export const rowsOf = ({ records_completed, records_total_count }: Run): string =>
  (records_completed ?? records_total_count)?.toLocaleString('en') ?? '–';

/** Cancels a run, or runs its interval again. */
export function RunAction({ project, run }: { readonly project: string; readonly run: Run }) {
  const params = { path: { project_id: project, id: run.batch_export, run_id: run.id } };
  const [label, done, request] = isOpen(run)
    ? ([
        'Cancel',
        'The run is cancelled.',
        () => api.POST('/api/projects/{project_id}/batch_exports/{id}/runs/{run_id}/cancel/', { params }),
      ] as const)
    : ([
        'Retry',
        'The interval runs again.',
        () => api.POST('/api/projects/{project_id}/batch_exports/{id}/runs/{run_id}/retry/', { params }),
      ] as const);
  return (
    <ActButton
      scope="batch_export:write"
      act={() => answered<unknown>(request())}
      done={done}
      // A retry is a backfill of one interval.
      renews={['runs', 'backfills']}
    >
      {label}
    </ActButton>
  );
}
