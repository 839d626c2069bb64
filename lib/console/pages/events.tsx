import { Autocomplete, Group, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useEventNames } from '../client/events.ts';
import { useParam, useView } from '../parts/address.ts';
import { EventList } from '../parts/events/event-list.tsx';
import { Page } from '../parts/page.tsx';
import { To } from '../parts/to.tsx';

const TYPING_MS = 300;

/** Fields of the filter, as they stand in the address. */
const FIELDS = ['event', 'distinct_id', 'property', 'value'] as const;

export default function Events() {
  const project = useParam('project');
  const [view, setView] = useView();
  const [typed, setTyped] = useState(() => Object.fromEntries(FIELDS.map((name) => [name, view[name] ?? ''])));
  const settle = useDebouncedCallback((some: Record<string, string>) => setView(some), TYPING_MS);
  const names = useEventNames(project);
  const follow = view['follow'] !== 'no';
  const change = (name: (typeof FIELDS)[number]) => (value: string) => {
    const next = { ...typed, [name]: value };
    setTyped(next);
    settle(next);
  };
  const filter = {
    event: view['event'],
    distinctId: view['distinct_id'],
    property: view['property'],
    value: view['value'],
  };
  const isFiltered = FIELDS.some((name) => view[name] !== undefined);
  return (
    <Page title="Events">
      <Stack>
        <Group align="end">
          <Autocomplete
            label="Event"
            data={(names.data?.results ?? []).map(({ name }) => name)}
            value={typed['event'] ?? ''}
            onChange={change('event')}
          />
          <TextInput
            label="Distinct id"
            value={typed['distinct_id'] ?? ''}
            onChange={(event) => change('distinct_id')(event.currentTarget.value)}
          />
          <TextInput
            label="Property"
            value={typed['property'] ?? ''}
            onChange={(event) => change('property')(event.currentTarget.value)}
          />
          <TextInput
            label="is"
            value={typed['value'] ?? ''}
            onChange={(event) => change('value')(event.currentTarget.value)}
          />
          <Switch
            label="Follow"
            checked={follow}
            onChange={(event) => setView({ follow: event.currentTarget.checked ? undefined : 'no' })}
            mb={8}
          />
        </Group>
        <EventList
          project={project}
          filter={filter}
          follow={follow}
          empty={
            isFiltered ? (
              <Text>No event is like that.</Text>
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
