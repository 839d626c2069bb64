import { Group, Stack, Text } from '@mantine/core';
import { areTurned, boundsText, NEW_ALERT, sentAlert, useAlerts } from '../client/alerts.ts';
import { answered, api } from '../client/api.ts';
import { type Insight, insightName, useInsight } from '../client/insights.ts';
import { asNumbered } from '../client/paged.ts';
import { useNavigateFromHere, usePage, useParam, useView } from '../parts/address.ts';
import { AlertFields, SHOWN_FIELDS } from '../parts/alerts/alert-fields.tsx';
import { AlertState, numberText } from '../parts/alerts/alert-state.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { useRenew } from '../parts/renew.ts';
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
        <SearchField description="A part of the name or of the insight’s" />
        <Listing
          label="Alerts"
          {...asNumbered(asked, page, go)}
          rowKey={(one) => one.id}
          empty={
            <Text>
              {search !== ''
                ? 'No alert matches.'
                : id === undefined
                  ? 'No alerts yet. An alert tells when the number of an insight is out of bounds: open an insight, and its “Alerts”.'
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

interface NewAlertProps {
  readonly project: string;
  /** What it watches. */
  readonly insight: Insight;
}

function NewAlert({ project, insight }: NewAlertProps) {
  const renew = useRenew();
  const navigate = useNavigateFromHere();
  return (
    <FormDialog
      label="New alert"
      scope="alert:write"
      variant="filled"
      size="sm"
      dialogSize="lg"
      initial={NEW_ALERT}
      fields={SHOWN_FIELDS}
      does="Make the alert"
      isReady={(values) => !areTurned(values)}
      submit={async (values) => {
        const made = await answered(
          api.POST('/api/projects/{project_id}/alerts/', {
            params: { path: { project_id: project } },
            body: { insight: insight.id, ...sentAlert(values) },
          }),
        );
        await renew('alerts');
        navigate({ to: `/projects/${project}/alerts/${made.id}` });
      }}
    >
      {(form) => <AlertFields form={form} project={project} query={insight.query} />}
    </FormDialog>
  );
}
