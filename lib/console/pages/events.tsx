import { Autocomplete, Group, Stack, Text, TextInput } from '@mantine/core';
import { useEventNames, useEvents } from '../client/events.ts';
import { useParam, useTypedView, useView } from '../parts/address.ts';
import { EventList } from '../parts/events/event-list.tsx';
import { UpTo } from '../parts/events/up-to.tsx';
import { Follow } from '../parts/follow.tsx';
import { Page } from '../parts/page.tsx';
import { To } from '../parts/to.tsx';

/** Fields of the filter, as they stand in the address. */
const FIELDS = ['event', 'distinct_id', 'property', 'value'] as const;

export default function Events() {
  const project = useParam('project');
  const [view, setView] = useView();
  const field = useTypedView(FIELDS);
  const names = useEventNames(project);
  const at = Date.parse(view['until'] ?? '');
  const until = Number.isNaN(at) ? undefined : new Date(at).toISOString();
  // What comes is newer than that.
  const follow = view['follow'] !== 'no' && until === undefined;
  const { event, distinct_id, property, value } = view;
  const events = useEvents(project, { event, distinct_id, property, value, before: until }, follow);
  const isFiltered = until !== undefined || FIELDS.some((name) => view[name] !== undefined);
  return (
    <Page title="Events">
      <Stack>
        <Group align="end">
          <Autocomplete label="Event" data={(names.data?.results ?? []).map(({ name }) => name)} {...field('event')} />
          <TextInput label="Distinct id" {...field('distinct_id')} />
          <TextInput label="Property" {...field('property')} />
          <TextInput label="is" {...field('value')} />
          <UpTo until={until} choose={(chosen) => setView({ until: chosen })} />
          <Follow
            list={events}
            isWanted={follow}
            want={(isWanted) => setView(isWanted ? { follow: undefined, until: undefined } : { follow: 'no' })}
          />
        </Group>
        <EventList
          project={project}
          events={events}
          empty={
            isFiltered ? (
              <Text>No event matches.</Text>
            ) : (
              <Text>
                No events yet. <To to={`/projects/${project}/home`}>Home</To> shows how the first one is sent.
              </Text>
            )
          }
        />
      </Stack>
    </Page>
  );
}
