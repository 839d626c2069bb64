import { Stack, Text } from '@mantine/core';
import { INSIGHTS_PAGE, useInsights } from '../client/insights.ts';
import { KINDS } from '../client/questions.ts';
import { useParam, useView } from '../parts/address.ts';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { To, ToButton } from '../parts/to.tsx';

export default function Insights() {
  const project = useParam('project');
  const [view, setView] = useView();
  const page = Number(view['page'] ?? 1);
  const { search = '' } = view;
  const { data, error, refetch } = useInsights(project, page, search);
  return (
    <Page title="Insights" actions={<ToButton to={`/projects/${project}/insights/new`}>New insight</ToButton>}>
      <Stack>
        <SearchField description="A part of the name, the description or a tag" maw={420} />
        <Listing
          label="Insights"
          rows={data?.results}
          rowKey={({ id }) => id}
          error={data === undefined ? error : null}
          retry={() => void refetch()}
          pages={{ count: data?.count ?? 0, size: INSIGHTS_PAGE, at: page, go: (next) => setView({ page: next }) }}
          empty={
            search === '' ? (
              <Text>No insights yet. “New insight” asks a question about events, and keeps it.</Text>
            ) : (
              <Text>No insight is like that.</Text>
            )
          }
          columns={[
            {
              name: 'Name',
              cell: ({ id, name, derived_name }) => (
                <To to={`/projects/${project}/insights/${id}`}>{name || derived_name || 'Untitled'}</To>
              ),
            },
            { name: 'Question', cell: ({ query }) => kindName(query), from: 'xs' },
            { name: 'On dashboards', cell: ({ dashboards }) => dashboards.length, from: 'md' },
            { name: 'Changed', cell: ({ last_modified_at }) => <Instant at={last_modified_at} />, from: 'sm' },
          ]}
        />
      </Stack>
    </Page>
  );
}

function kindName(query: Readonly<Record<string, unknown>> | null): string {
  const { kind } = (query?.['source'] ?? query ?? {}) as { readonly kind?: unknown };
  return KINDS.find(({ value }) => value === kind)?.label ?? '–';
}
