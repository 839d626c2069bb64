import { Group, Stack, Text } from '@mantine/core';
import { boundsText, useAlerts } from '../client/alerts.ts';
import { insightName, useInsight } from '../client/insights.ts';
import { asNumbered } from '../client/paged.ts';
import { usePage, useParam, useView } from '../parts/address.ts';
import { AlertState, numberText } from '../parts/alerts/alert-state.tsx';
import { NewAlert } from '../parts/alerts/new-alert.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { To } from '../parts/to.tsx';

/** Alerts: of all insights, or of the one that the address names. */
export default function Alerts() {
  const project = useParam('project');
  const [{ insight: id, search = '' }] = useView();
  const [page, go] = usePage();
  const insight = useInsight(project, id).data?.value;
  const asked = useAlerts(project, id === undefined ? undefined : Number(id), page, search);
  const watched = insight?.name || insight?.derived_name || `insight ${id}`;
  return (
    <Page
      title={id === undefined ? 'Alerts' : `Alerts of ${watched}`}
      actions={insight !== undefined && <NewAlert project={project} insight={insight} />}
    >
      <Stack>
        {id !== undefined && (
          <Group>
            <To to={`/projects/${project}/insights/${id}`}>The insight</To>
            <To to={`/projects/${project}/alerts`}>All alerts</To>
          </Group>
        )}
        <SearchField description="A part of the name or of the insight’s" maw={420} />
        <Listing
          label="Alerts"
          {...asNumbered(asked, page, go)}
          rowKey={(one) => one.id}
          empty={
            <Text>
              {search !== ''
                ? 'No alert matches.'
                : id === undefined
                  ? 'No alerts yet. An insight’s page has them: an alert tells when its number is out of bounds.'
                  : 'No alerts yet. “New alert” tells you when the number is out of bounds.'}
            </Text>
          }
          columns={[
            {
              name: 'Name',
              cell: (one) => <To to={`/projects/${project}/alerts/${one.id}`}>{one.name || 'Untitled'}</To>,
            },
            {
              name: 'Insight',
              cell: ({ insight: one }) => <To to={`/projects/${project}/insights/${one.id}`}>{insightName(one)}</To>,
              from: 'md',
            },
            { name: 'Tells when', cell: (one) => boundsText(one), from: 'sm' },
            { name: 'State', cell: (one) => <AlertState {...one} /> },
            { name: 'Number', cell: (one) => numberText(one.last_value, one), from: 'xs' },
            { name: 'Looked', cell: ({ last_checked_at }) => <Instant at={last_checked_at} />, from: 'sm' },
          ]}
        />
      </Stack>
    </Page>
  );
}
