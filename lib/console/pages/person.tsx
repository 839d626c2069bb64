import { Card, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../client/api.ts';
import { usePerson } from '../client/events.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { EventList } from '../parts/events/event-list.tsx';
import { Properties } from '../parts/events/properties.tsx';
import { Heading } from '../parts/heading.tsx';
import { Instant } from '../parts/instant.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { tell } from '../parts/problem.tsx';

export default function PersonPage() {
  const project = useParam('project');
  const id = useParam('id');
  const navigate = useNavigateFromHere();
  const queries = useQueryClient();
  const asked = usePerson(project, id);
  const { data: person } = asked;
  if (person === undefined) return <AwaitedPage title="Person" asked={asked} />;
  const remove = async (): Promise<void> => {
    const asked = api.DELETE('/api/projects/{project_id}/persons/{id}/', {
      params: { path: { project_id: project, id } },
    });
    await answered(asked);
    const { response } = await asked;
    await queries.invalidateQueries({ queryKey: ['persons', project] });
    tell(response.status === 202 ? 'The person will be gone in a few minutes.' : 'The person is deleted.');
    navigate({ to: `/projects/${project}/persons` });
  };
  return (
    <Page
      title={person.name === '' ? person.uuid : person.name}
      actions={
        <ConfirmButton label="Delete" scope="person:write" act={remove}>
          The person is deleted with their properties. Their events stay.
        </ConfirmButton>
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
        <EventList
          project={project}
          filter={{ personId: person.uuid }}
          follow={false}
          empty={<Text>No events of theirs are there.</Text>}
        />
      </Stack>
    </Page>
  );
}
