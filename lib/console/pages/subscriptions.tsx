import { Group, Stack, Text } from '@mantine/core';
import { answered, api } from '../client/api.ts';
import type { Option } from '../client/json.ts';
import { asNumbered } from '../client/paged.ts';
import {
  newSubscription,
  type Subject,
  sentSubscription,
  subjectOf,
  useSubscriptions,
  useZone,
} from '../client/subscriptions.ts';
import { useNavigateFromHere, usePage, useParam, useView } from '../parts/address.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { useRenew } from '../parts/renew.ts';
import { SearchField } from '../parts/search-field.tsx';
import { useSubject } from '../parts/subscriptions/subject.ts';
import { SubscriptionFields } from '../parts/subscriptions/subscription-fields.tsx';
import { SubscriptionState } from '../parts/subscriptions/subscription-state.tsx';
import { To } from '../parts/to.tsx';

/** Subscriptions: all, or those of the dashboard or insight that the address names. */
export default function Subscriptions() {
  const project = useParam('project');
  const [view] = useView();
  const [page, go] = usePage();
  const { search = '' } = view;
  const subject = subjectOf(view);
  const isAll = Object.keys(subject).length === 0;
  const known = useSubject(project, subject);
  const zone = useZone(project);
  const asked = useSubscriptions(project, subject, page, search);
  return (
    <Page
      title={known === undefined ? 'Subscriptions' : `Subscriptions of ${known.name}`}
      actions={
        known !== undefined &&
        zone !== undefined && (
          <NewSubscription project={project} subject={subject} zone={zone} insights={known.insights} />
        )
      }
    >
      <Stack>
        {known !== undefined && (
          <Group>
            <To to={known.to}>{known.insights === undefined ? 'The insight' : 'The dashboard'}</To>
            <To to={`/projects/${project}/subscriptions`}>All subscriptions</To>
          </Group>
        )}
        <SearchField description="A part of the title or of the name of what is sent" />
        <Listing
          label="Subscriptions"
          {...asNumbered(asked, page, go)}
          rowKey={({ id }) => id}
          empty={
            <Text>
              {search !== ''
                ? 'No subscription matches.'
                : isAll
                  ? 'No subscriptions yet. The pages of dashboards and insights have them: numbers that are sent by day, week, month or year.'
                  : 'No subscriptions yet. “New subscription” sends the numbers to Slack, a webhook or by e-mail.'}
            </Text>
          }
          columns={[
            {
              name: 'Title',
              cell: ({ id, title, resource_name }) => (
                <To to={`/projects/${project}/subscriptions/${id}`}>{title || resource_name || 'Untitled'}</To>
              ),
            },
            { name: 'What', cell: ({ resource_name }) => resource_name || 'Untitled', from: 'md' },
            { name: 'When', cell: ({ summary }) => summary, from: 'sm' },
            { name: 'Where', cell: ({ target_value }) => target_value, from: 'sm' },
            { name: 'State', cell: (one) => <SubscriptionState {...one} /> },
            { name: 'Sent', cell: ({ last_delivered_at }) => <Instant at={last_delivered_at} />, from: 'xs' },
          ]}
        />
      </Stack>
    </Page>
  );
}

interface NewSubscriptionProps {
  readonly project: string;
  readonly subject: Subject;
  /** By whose clock its times are. */
  readonly zone: string;
  readonly insights: readonly Option<string>[] | undefined;
}

function NewSubscription({ project, subject, zone, insights }: NewSubscriptionProps) {
  const renew = useRenew();
  const navigate = useNavigateFromHere();
  return (
    <FormDialog
      label="New subscription"
      scope="subscription:write"
      variant="filled"
      size="sm"
      dialogSize="lg"
      initial={newSubscription(zone)}
      does="Make the subscription"
      submit={async (values) => {
        const made = await answered(
          api.POST('/api/projects/{project_id}/subscriptions/', {
            params: { path: { project_id: project } },
            body: { ...subject, ...sentSubscription(values, zone) },
          }),
        );
        await renew('subscriptions');
        navigate({ to: `/projects/${project}/subscriptions/${made.id}` });
      }}
    >
      {(form) => <SubscriptionFields form={form} zone={zone} isNew insights={insights} />}
    </FormDialog>
  );
}
