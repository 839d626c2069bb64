import { Card, Checkbox, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../client/api.ts';
import { useEvents, usePerson } from '../client/events.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { EventList } from '../parts/events/event-list.tsx';
import { Properties } from '../parts/events/properties.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Heading } from '../parts/heading.tsx';
import { Instant } from '../parts/instant.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';

export default function PersonPage() {
  const project = useParam('project');
  const id = useParam('id');
  const navigate = useNavigateFromHere();
  const queries = useQueryClient();
  const renew = useRenew();
  const asked = usePerson(project, id);
  const { data: person } = asked;
  if (person === undefined) return <AwaitedPage title="Person" asked={asked} />;
  const remove = async ({ delete_events }: { readonly delete_events: boolean }): Promise<void> => {
    const asked = api.DELETE('/api/projects/{project_id}/persons/{id}/', {
      params: { path: { project_id: project, id }, query: { delete_events } },
    });
    await answered(asked);
    const { response } = await asked;
    await renew('persons', 'events');
    tell(response.status === 202 ? 'The person will be gone in a few minutes.' : 'The person is deleted.');
    // “Back” leads to nobody, and nothing of them is kept here.
    navigate({ to: `/projects/${project}/persons`, replace: true });
    queries.removeQueries({ queryKey: ['person', project, id] });
  };
  return (
    <Page
      title={person.name === '' ? person.uuid : person.name}
      actions={
        <FormDialog
          label="Delete"
          scope="person:write"
          initial={{ delete_events: false }}
          submit={remove}
          does="Delete"
          cancel="Keep it"
          isDangerous
        >
          {(form) => (
            <>
              <Text size="sm">The person is deleted with their properties.</Text>
              <Checkbox
                label="Their events too"
                description="Else their events stay. What exports have delivered stays where it is."
                {...form.tick('delete_events')}
              />
            </>
          )}
        </FormDialog>
      }
    >
      <Stack>
        <Card withBorder>
          <Text size="sm">
            First seen <Instant at={person.created_at} />. Distinct ids: {person.distinct_ids.join(', ')}
          </Text>
          <Properties label="Properties" properties={person.properties} />
        </Card>
        <Heading>What they did</Heading>
        <EventsOf project={project} person={person.uuid} />
      </Stack>
    </Page>
  );
}

function EventsOf({ project, person }: { readonly project: string; readonly person: string }) {
  const events = useEvents(project, { person_id: person }, false);
  return <EventList project={project} events={events} empty={<Text>No events of theirs are there.</Text>} />;
}
