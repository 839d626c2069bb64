import { Select, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import {
  type Alert,
  type AlertChange,
  alertAt,
  alertValues,
  areTurned,
  boundsText,
  writeAlert,
} from '../client/alerts.ts';
import { answered, api, type Versioned } from '../client/api.ts';
import { insightName } from '../client/insights.ts';
import { live } from '../client/polling.ts';
import { ActButton } from '../parts/act-button.tsx';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { AlertFields, SHOWN_FIELDS } from '../parts/alerts/alert-fields.tsx';
import { AlertState, numberText } from '../parts/alerts/alert-state.tsx';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { disputedFields } from '../parts/conflict-notice.tsx';
import { type Fact, Facts } from '../parts/facts.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { type AwaitedProps, tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { To } from '../parts/to.tsx';
import { Trouble } from '../parts/trouble.tsx';
import { useVersionedWrite } from '../parts/versioned-write.tsx';

export default function AlertPage() {
  const project = useParam('project');
  const id = useParam('id');
  const asked = useQuery({ ...alertAt(project, id), refetchInterval: live });
  if (asked.data === undefined) return <AwaitedPage title="Alert" asked={asked} />;
  return <AlertView project={project} asked={asked} seen={asked.data} />;
}

const SNOOZES = [
  { value: '2h', label: 'for two hours' },
  { value: '1d', label: 'for a day' },
  { value: '1w', label: 'for a week' },
  { value: '1m', label: 'for a month' },
] as const;

interface AlertViewProps extends AwaitedProps {
  readonly project: string;
  readonly seen: Versioned<Alert>;
}

function AlertView({ project, asked, seen }: AlertViewProps) {
  const renew = useRenew();
  const navigate = useNavigateFromHere();
  const { value } = seen;
  const { id, insight } = value;
  const name = value.name || 'Untitled';

  const { send, notice } = useVersionedWrite<AlertChange, Alert>({
    what: 'the alert',
    at: alertAt(project, id),
    write: (change, over) => writeAlert(project, over, change),
    written: async (_, { enabled, snoozed_until }) => {
      await renew('alerts');
      // Whether it looks is seen on the page.
      if (enabled === undefined && snoozed_until === undefined) tell(`${name} is changed.`);
    },
    disputed: ({ notify_secret: _secret, ...change }, theirs) =>
      disputedFields(change, { ...theirs, ...alertValues(theirs) }),
  });
  const remove = async (): Promise<void> => {
    await answered(
      api.DELETE('/api/projects/{project_id}/alerts/{id}/', { params: { path: { project_id: project, id } } }),
    );
    navigate({ to: `/projects/${project}/alerts`, search: { insight: insight.id }, replace: true });
    await renew('alerts');
  };
  return (
    <Page
      title={name}
      asked={asked}
      actions={
        <>
          <FormDialog
            label="Edit"
            scope="alert:write"
            dialogSize="lg"
            initial={alertValues(value)}
            fields={SHOWN_FIELDS}
            does="Save"
            isReady={(values) => !areTurned(values)}
            seen={seen}
            submit={(_, edited) => send(edited.changed, edited.seen)}
          >
            {(form) => <AlertFields form={form} project={project} query={insight.query} kept={value} />}
          </FormDialog>
          {value.snoozed_until === null ? (
            <FormDialog
              label="Snooze"
              scope="alert:write"
              initial={{ snoozed_until: '1d' }}
              does="Snooze"
              submit={(change) => send(change, seen)}
            >
              {(form) => <Select label="Snooze it" data={SNOOZES} {...form.choice('snoozed_until')} />}
            </FormDialog>
          ) : (
            <ActButton scope="alert:write" size="xs" act={() => send({ snoozed_until: null }, seen)}>
              End the snooze
            </ActButton>
          )}
          <ActButton scope="alert:write" size="xs" act={() => send({ enabled: !value.enabled }, seen)}>
            {value.enabled ? 'Disable' : 'Enable'}
          </ActButton>
          <ConfirmButton label="Delete" scope="alert:write" act={remove}>
            {name} is gone, with what it found, and tells nobody any more.
          </ConfirmButton>
        </>
      }
    >
      <Stack>
        <Trouble {...value} />
        <Facts label="Alert" facts={factsOf(value, project)} />
        <Heading>What it found</Heading>
        <Listing
          label="Checks"
          rows={value.checks}
          rowKey={(check) => check.id}
          empty={<Text>It has not looked yet.</Text>}
          columns={[
            { name: 'Looked', cell: ({ created_at }) => <Instant at={created_at} /> },
            { name: 'Number', cell: ({ calculated_value }) => numberText(calculated_value, value) },
            { name: 'State', cell: ({ state }) => <AlertState state={state} /> },
            { name: 'Told', cell: ({ targets_notified }) => (targets_notified ? 'yes' : 'no'), from: 'xs' },
          ]}
        />
      </Stack>
      {notice}
    </Page>
  );
}

/** Returns who is told, in words. */
function toldText({ notify_host, subscribed_users }: Alert): string {
  const all = [...(notify_host === null ? [] : [notify_host]), ...subscribed_users.map(({ email }) => email)];
  return all.length === 0 ? 'nobody' : all.join(', ');
}

function factsOf(value: Alert, project: string): readonly Fact[] {
  return [
    ['State', <AlertState key="state" {...value} />],
    [
      'Insight',
      <To key="insight" to={`/projects/${project}/insights/${value.insight.id}`}>
        {insightName(value.insight)}
      </To>,
    ],
    ['Tells when', boundsText(value)],
    ['Number', numberText(value.last_value, value)],
    ['Looks', `${value.calculation_interval}${value.skip_weekend ? ', not on Saturday and Sunday' : ''}`],
    ['Looks next', <Instant key="next" at={value.snoozed_until ?? value.next_check_at} isExact />],
    ['Told', <Instant key="told" at={value.last_notified_at} isExact />],
    ['Tells', toldText(value)],
    ['Made by', value.created_by?.email ?? 'somebody who has left'],
  ];
}
