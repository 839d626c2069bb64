import { Alert, Button, Card, Group, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { counted } from '../../../basics/text.ts';
import { answered, api, type Schemas } from '../../client/api.ts';
import { type Backfill, isOpen, useBackfills } from '../../client/exports.ts';
import { instantOf } from '../../client/local-time.ts';
import { ActButton } from '../act-button.tsx';
import { useForm } from '../form.ts';
import { Heading } from '../heading.tsx';
import { Instant, UtcRange, utcRange } from '../instant.tsx';
import { Listing } from '../listing.tsx';
import { Problem, tell } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { ScopedButton } from '../scoped-button.tsx';
import { StatusBadge } from '../status.tsx';

interface BackfillsProps {
  readonly project: string;
  readonly id: string;
}

/** Deliveries of the past: begin one, see how far the others are. */
export function Backfills({ project, id }: BackfillsProps) {
  const backfills = useBackfills(project, id);
  return (
    <Stack>
      <NewBackfill project={project} id={id} />
      <Listing
        label="Backfills"
        {...backfills}
        newest={backfills}
        rowKey={(one) => one.id}
        empty={<Text>No backfills. Choose a time above to deliver what is older than the export.</Text>}
        columns={[
          {
            name: 'Time',
            cell: (one) => <UtcRange from={one.adjusted_start_at} to={one.adjusted_end_at} />,
          },
          { name: 'State', cell: (one) => <StatusBadge status={one.status} /> },
          { name: 'Progress', cell: (one) => <BackfillProgress one={one} />, from: 'xs' },
          { name: 'Rows', cell: (one) => one.total_records_count.toLocaleString('en'), from: 'sm' },
          { name: 'Begun', cell: (one) => <Instant at={one.created_at} />, from: 'md' },
          {
            name: 'Action',
            cell: (one) => (isOpen(one) ? <CancelBackfill project={project} one={one} /> : null),
          },
        ]}
      />
    </Stack>
  );
}

function BackfillProgress({ one }: { readonly one: Backfill }) {
  if (one.progress === null) return null;
  const { finished_runs, total_runs, progress } = one.progress;
  return (
    <Stack gap={2} miw={120}>
      <Progress value={progress * 100} aria-label="Progress" />
      <Text size="xs">
        {finished_runs} of {total_runs} intervals
        {one.estimated_end_at !== null && isOpen(one) && (
          <>
            , ready <Instant at={one.estimated_end_at} size="xs" />
          </>
        )}
      </Text>
    </Stack>
  );
}

function CancelBackfill({ project, one }: { readonly project: string; readonly one: Backfill }) {
  const path = { project_id: project, id: one.batch_export, backfill_id: one.id };
  const cancel = () =>
    answered(
      api.POST('/api/projects/{project_id}/batch_exports/{id}/backfills/{backfill_id}/cancel/', { params: { path } }),
    );
  return (
    <ActButton scope="batch_export:write" act={cancel} done="The backfill is cancelled." renews={['backfills']}>
      Cancel
    </ActButton>
  );
}

function NewBackfill({ project, id }: BackfillsProps) {
  const renew = useRenew();
  const form = useForm({ start_at: '', end_at: '' });
  /** What was estimated, and of which range; another one is estimated anew. */
  const [estimated, setEstimated] = useState<{ of: object; answer: Schemas['BackfillEstimate'] } | null>(null);
  const { values, isBusy } = form;
  // Texts of fields of one kind are in the order of their times.
  const isTurned = values.start_at !== '' && values.end_at !== '' && values.end_at <= values.start_at;
  const estimate = estimated?.of === values ? estimated.answer : null;
  const params = { path: { project_id: project, id } };
  // Not before it is sent: what is being typed may say no instant.
  const range = () => ({ start_at: instantOf(values.start_at, 'UTC'), end_at: instantOf(values.end_at, 'UTC') });

  const ask = async (): Promise<void> => {
    const path = '/api/projects/{project_id}/batch_exports/{id}/backfill_estimate/';
    setEstimated({ of: values, answer: await answered(api.POST(path, { params, body: range() })) });
  };
  const begin = (): void =>
    void form.attempt(async () => {
      await answered(api.POST('/api/projects/{project_id}/batch_exports/{id}/backfills/', { params, body: range() }));
      setEstimated(null);
      tell('The backfill has begun.');
      await renew('backfills');
    });

  return (
    <Card withBorder>
      <form onSubmit={form.sends(ask)}>
        <Heading mb="xs">Deliver the past</Heading>
        <Text size="sm" mb="xs">
          It delivers what <i>arrived</i> in its range. Events arrive when they are sent or imported; imported history,
          from long before the project’s first export, arrives when it happened.
        </Text>
        <Group align="end">
          <TextInput type="datetime-local" label="From (UTC)" required {...form.text('start_at')} />
          <TextInput
            type="datetime-local"
            label="To (UTC)"
            required
            {...form.text('end_at')}
            {...(isTurned
              ? { error: `It ends ${values.end_at === values.start_at ? 'when' : 'before'} it begins.` }
              : {})}
          />
          <Button type="submit" variant="default" loading={isBusy} disabled={isTurned}>
            Estimate
          </Button>
        </Group>
        <Problem error={form.error} fields={['start_at', 'end_at']} />
        {estimate !== null && (
          <Stack mt="md" gap="xs" align="start">
            <Text size="sm">
              {counted(estimate.intervals, 'interval')} with {counted(estimate.rows, 'row')}:{' '}
              {utcRange(estimate.adjusted_start_at, estimate.adjusted_end_at)}.
              {estimate.scan !== null && ` Reading them costs at most $${estimate.scan.cost_usd.toFixed(2)}.`}
            </Text>
            {estimate.warnings.map((warning) => (
              <Alert key={warning} color="orange" variant="outline">
                {warning}
              </Alert>
            ))}
            <ScopedButton scope="batch_export:write" loading={isBusy} onClick={begin}>
              Begin the backfill
            </ScopedButton>
          </Stack>
        )}
      </form>
    </Card>
  );
}
