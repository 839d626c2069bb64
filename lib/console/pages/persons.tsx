import { Stack, Text } from '@mantine/core';
import { usePersons } from '../client/events.ts';
import { useParam, useView } from '../parts/address.ts';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { To } from '../parts/to.tsx';

const SHOWN_IDS = 3;

export default function Persons() {
  const project = useParam('project');
  const [{ search = '' }] = useView();
  const persons = usePersons(project, search);
  return (
    <Page title="Persons">
      <Stack>
        <SearchField description="A part of the email or the name, or a whole distinct id" />
        <Listing
          label="Persons"
          {...persons}
          rowKey={({ uuid }) => uuid}
          empty={
            search === '' ? (
              <Text>No persons yet. An event that identifies somebody, or sets properties of theirs, makes one.</Text>
            ) : (
              <Text>Nobody matches.</Text>
            )
          }
          columns={[
            {
              name: 'Name',
              cell: ({ uuid, name }) => (
                <To to={`/projects/${project}/persons/${uuid}`}>{name === '' ? uuid : name}</To>
              ),
            },
            {
              name: 'Distinct ids',
              from: 'xs',
              cell: ({ distinct_ids: ids }) => (
                <Text size="sm">
                  {ids.slice(0, SHOWN_IDS).join(', ')}
                  {ids.length > SHOWN_IDS && `, and ${ids.length - SHOWN_IDS} more`}
                </Text>
              ),
            },
            { name: 'Identified', cell: ({ is_identified }) => (is_identified ? 'yes' : 'no'), from: 'md' },
            { name: 'First seen', cell: ({ created_at }) => <Instant at={created_at} /> },
          ]}
        />
      </Stack>
    </Page>
  );
}
