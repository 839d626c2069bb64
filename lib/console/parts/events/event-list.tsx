import { Drawer, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { type AnalyticsEvent, personOf } from '../../client/events.ts';
import type { Paged } from '../../client/paged.ts';
import { Instant } from '../instant.tsx';
import { Listing } from '../listing.tsx';
import { tell, tellProblem } from '../problem.tsx';
import { TextButton } from '../text-button.tsx';
import { Properties } from './properties.tsx';

interface EventListProps {
  readonly project: string;
  readonly events: Paged<AnalyticsEvent>;
  /** Whether the list itself leads who has read on back to the newest: no *Follow* stands beside it. */
  readonly leadsBack?: boolean;
  readonly empty: ReactNode;
}

/** Events, newest first; one is opened to see its properties. */
export function EventList({ project, events, leadsBack = false, empty }: EventListProps) {
  const [opened, setOpened] = useState<AnalyticsEvent | null>(null);
  return (
    <>
      <Listing
        label="Events"
        {...events}
        {...(leadsBack ? { newest: events } : {})}
        rowKey={({ id }) => id}
        empty={empty}
        columns={[
          {
            name: 'Event',
            cell: (one) => (
              <TextButton onClick={() => setOpened(one)}>{one.event === '' ? '(no name)' : one.event}</TextButton>
            ),
          },
          { name: 'Distinct id', cell: ({ distinct_id }) => <Text size="sm">{distinct_id}</Text>, from: 'xs' },
          { name: 'Page', cell: ({ properties }) => <Text size="sm">{pageOf(properties)}</Text>, from: 'md' },
          { name: 'When', cell: ({ timestamp }) => <Instant at={timestamp} /> },
        ]}
      />
      <Drawer
        opened={opened !== null}
        onClose={() => setOpened(null)}
        position="right"
        size="lg"
        title={opened?.event ?? ''}
      >
        {opened !== null && <EventDetail project={project} event={opened} />}
      </Drawer>
    </>
  );
}

function pageOf({ $current_url: url }: Readonly<Record<string, unknown>>): string {
  return typeof url === 'string' ? url : '';
}

function EventDetail({ project, event }: { readonly project: string; readonly event: AnalyticsEvent }) {
  return (
    <Stack>
      <Text size="sm">
        <Instant at={event.timestamp} isExact />, by{' '}
        {event.person === null ? event.distinct_id : <PersonLink project={project} distinctId={event.distinct_id} />}
      </Text>
      <Properties label="Properties" properties={event.properties} />
      {event.person !== null && <Properties label="Person’s properties now" properties={event.person.properties} />}
    </Stack>
  );
}

/** Leads to the page of the person who has a distinct id now: an event does not name them otherwise. */
function PersonLink({ project, distinctId }: { readonly project: string; readonly distinctId: string }) {
  const navigate = useNavigate();
  const go = async (): Promise<void> => {
    const person = await personOf(project, distinctId);
    if (person === undefined) tell(`Nobody is known as ${distinctId} any more.`);
    else void navigate({ to: `/projects/${project}/persons/${person.uuid}` });
  };
  return (
    <TextButton style={{ overflowWrap: 'anywhere' }} onClick={() => void go().catch(tellProblem)}>
      {distinctId}
    </TextButton>
  );
}
