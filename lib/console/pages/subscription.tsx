import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Versioned } from '../client/api.ts';
import { live } from '../client/polling.ts';
import {
  type Subscription,
  type SubscriptionChange,
  subjectOf,
  subscriptionAt,
  subscriptionValues,
  useZone,
  writeSubscription,
} from '../client/subscriptions.ts';
import { ActButton } from '../parts/act-button.tsx';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { disputedFields } from '../parts/conflict-notice.tsx';
import { type Fact, Facts } from '../parts/facts.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { type AwaitedProps, tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { useSubject } from '../parts/subscriptions/subject.ts';
import { SubscriptionFields } from '../parts/subscriptions/subscription-fields.tsx';
import { SubscriptionState } from '../parts/subscriptions/subscription-state.tsx';
import { To } from '../parts/to.tsx';
import { Trouble } from '../parts/trouble.tsx';
import { useVersionedWrite } from '../parts/versioned-write.tsx';

export default function SubscriptionPage() {
  const project = useParam('project');
  const asked = useQuery({ ...subscriptionAt(project, Number(useParam('id'))), refetchInterval: live });
  const zone = useZone(project);
  if (asked.data === undefined || zone === undefined) return <AwaitedPage title="Subscription" asked={asked} />;
  return <SubscriptionView project={project} asked={asked} seen={asked.data} zone={zone} />;
}

interface SubscriptionViewProps extends AwaitedProps {
  readonly project: string;
  readonly seen: Versioned<Subscription>;
  /** By whose clock its times are. */
  readonly zone: string;
}

function SubscriptionView({ project, asked, seen, zone }: SubscriptionViewProps) {
  const renew = useRenew();
  const navigate = useNavigateFromHere();
  const { value } = seen;
  const { id } = value;
  const name = value.title || value.resource_name || 'Untitled';
  const subject = subjectOf(value);
  const known = useSubject(project, subject);

  const { send, notice } = useVersionedWrite<SubscriptionChange, Subscription>({
    what: 'the subscription',
    at: subscriptionAt(project, id),
    write: (change, over) => writeSubscription(project, over, change, zone),
    written: async (_, { enabled }) => {
      await renew('subscriptions');
      // Whether it is sent is seen on the page.
      if (enabled === undefined) tell(`${name} is changed.`);
    },
    // An address of a webhook is never told.
    disputed: ({ notify_secret: _secret, target_value: _address, ...change }, theirs) =>
      disputedFields(change, { ...theirs, ...subscriptionValues(theirs, zone) }),
  });
  const remove = async (): Promise<void> => {
    await writeSubscription(project, seen, { deleted: true }, zone);
    navigate({ to: `/projects/${project}/subscriptions`, search: subject, replace: true });
    await renew('subscriptions');
  };
  return (
    <Page
      title={name}
      asked={asked}
      actions={
        <>
          <FormDialog
            label="Edit"
            scope="subscription:write"
            dialogSize="lg"
            initial={subscriptionValues(value, zone)}
            does="Save"
            seen={seen}
            submit={(_, edited) => send(edited.changed, edited.seen)}
          >
            {(form) => <SubscriptionFields form={form} zone={zone} insights={known?.insights} />}
          </FormDialog>
          <ActButton scope="subscription:write" size="xs" act={() => send({ enabled: !value.enabled }, seen)}>
            {value.enabled ? 'Disable' : 'Enable'}
          </ActButton>
          <ConfirmButton label="Delete" scope="subscription:write" act={remove}>
            {name} is not sent any more.
          </ConfirmButton>
        </>
      }
    >
      <Stack>
        <Trouble {...value} />
        <Facts label="Subscription" facts={factsOf(value, known?.to)} />
      </Stack>
      {notice}
    </Page>
  );
}

const TARGETS = { webhook: 'Webhook', slack: 'Slack', email: 'E-mail' };

function factsOf(value: Subscription, to: string | undefined): readonly Fact[] {
  const name = value.resource_name || 'Untitled';
  return [
    ['State', <SubscriptionState key="state" {...value} />],
    [value.resource_type === 'dashboard' ? 'Dashboard' : 'Insight', to === undefined ? name : <To to={to}>{name}</To>],
    ['When', value.summary],
    [TARGETS[value.target_type], value.target_value],
    ['Sent', <Instant key="sent" at={value.last_delivered_at} isExact />],
    ['Sent next', <Instant key="next" at={value.next_delivery_date} isExact />],
    ['Made by', value.created_by?.email ?? 'somebody who has left'],
  ];
}
