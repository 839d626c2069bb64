import { Group, Stack, Text } from '@mantine/core';
import { type Insight, insightName, setInsightDeleted, useInsights } from '../client/insights.ts';
import { sourceIn } from '../client/json.ts';
import { asNumbered } from '../client/paged.ts';
import { KINDS } from '../client/question-kinds.ts';
import { usePage, useParam, useView } from '../parts/address.ts';
import { RowName, restoreColumn } from '../parts/deleted.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { ToButton } from '../parts/to.tsx';
import { ViewSwitch } from '../parts/view-switch.tsx';

export default function Insights() {
  const project = useParam('project');
  const [view] = useView();
  const [page, go] = usePage();
  const filter = { search: view['search'] ?? '', deleted: view['deleted'] === 'true' };
  const asked = useInsights(project, page, filter);
  return (
    <Page title="Insights" actions={<ToButton to={`/projects/${project}/insights/new`}>New insight</ToButton>}>
      <Stack>
        <Group align="end">
          <SearchField description="A part of the name, the description or a tag" />
          <ViewSwitch name="deleted" label="Deleted" />
        </Group>
        <Listing
          label="Insights"
          {...asNumbered(asked, page, go)}
          rowKey={({ id }) => id}
          empty={
            filter.search === '' && !filter.deleted ? (
              <Text>No insights yet. “New insight” asks a question about events, and keeps it.</Text>
            ) : (
              <Text>No insight matches.</Text>
            )
          }
          columns={[
            {
              name: 'Name',
              cell: (one) => (
                <RowName deleted={one.deleted} to={`/projects/${project}/insights/${one.id}`}>
                  {insightName(one)}
                </RowName>
              ),
            },
            { name: 'Question', cell: ({ query }) => kindName(query), from: 'xs' },
            { name: 'On dashboards', cell: ({ dashboards }) => dashboards.length, from: 'md' },
            { name: 'Changed', cell: ({ last_modified_at }) => <Instant at={last_modified_at} />, from: 'sm' },
            ...restoreColumn<Insight>(filter.deleted, (one) => ({
              scope: 'insight:write',
              name: insightName(one, 'The insight'),
              restore: () => setInsightDeleted(project, one.id, false),
              lists: ['insights', 'insight', 'dashboard'],
            })),
          ]}
        />
      </Stack>
    </Page>
  );
}

function kindName(query: Insight['query']): string {
  const { kind } = sourceIn(query);
  return KINDS.find(({ value }) => value === kind)?.label ?? '–';
}
