import { Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { type Dashboard, restoreDashboard, useDashboards } from '../client/dashboards.ts';
import { asNumbered } from '../client/paged.ts';
import { usePage, useParam, useView } from '../parts/address.ts';
import { useMakeDashboard } from '../parts/dashboards/make-dashboard.ts';
import { RowName, restoreColumn } from '../parts/deleted.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { Label } from '../parts/label.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { SearchField } from '../parts/search-field.tsx';
import { ViewSwitch } from '../parts/view-switch.tsx';

export default function Dashboards() {
  const project = useParam('project');
  const [view, setView] = useView();
  const [page, go] = usePage();
  const filter = {
    search: view['search'] ?? '',
    tag: view['tag'],
    pinned: view['pinned'] === 'true',
    deleted: view['deleted'] === 'true',
  };
  const asked = useDashboards(project, page, filter);
  const isFiltered = filter.search !== '' || filter.tag !== undefined || filter.pinned || filter.deleted;
  return (
    <Page title="Dashboards" actions={<NewDashboard project={project} />}>
      <Stack>
        <Group align="end">
          <SearchField />
          <ViewSwitch name="pinned" label="Pinned only" />
          <ViewSwitch name="deleted" label="Deleted" />
          {filter.tag !== undefined && (
            <Button variant="default" onClick={() => setView({ tag: undefined })}>
              Tag {filter.tag} ✕
            </Button>
          )}
        </Group>
        <Listing
          label="Dashboards"
          {...asNumbered(asked, page, go)}
          rowKey={({ id }) => id}
          empty={
            isFiltered ? (
              <Text>No dashboard matches.</Text>
            ) : (
              <Text>No dashboards yet. “New dashboard” makes an empty one, or one from a template.</Text>
            )
          }
          columns={[
            {
              name: 'Name',
              cell: ({ id, name, pinned, deleted }) => (
                <Group gap="xs">
                  <RowName deleted={deleted} to={`/projects/${project}/dashboards/${id}`}>
                    {name || 'Untitled'}
                  </RowName>
                  {pinned && <Label color="indigo">Pinned</Label>}
                </Group>
              ),
            },
            {
              name: 'Tags',
              from: 'sm',
              cell: ({ tags }) => (
                <Group gap={4}>
                  {tags.map((tag) => (
                    <Button
                      key={tag}
                      size="compact-xs"
                      variant="default"
                      onClick={() => setView({ tag, page: undefined })}
                    >
                      {tag}
                    </Button>
                  ))}
                </Group>
              ),
            },
            { name: 'Shared', cell: ({ is_shared }) => (is_shared ? 'by link' : 'no'), from: 'md' },
            {
              name: 'Made by',
              cell: ({ created_by }) => (created_by === null ? '–' : created_by.first_name || created_by.email),
              from: 'md',
            },
            { name: 'Made', cell: ({ created_at }) => <Instant at={created_at} />, from: 'xs' },
            ...restoreColumn<Pick<Dashboard, 'id' | 'name'>>(filter.deleted, ({ id, name }) => ({
              scope: 'dashboard:write',
              name: name || 'The dashboard',
              restore: () => restoreDashboard(project, id),
              lists: ['dashboard', 'dashboards'],
            })),
          ]}
        />
      </Stack>
    </Page>
  );
}

const TEMPLATES = [
  { value: '', label: 'Empty' },
  { value: 'DEFAULT_APP', label: 'Product analytics' },
  { value: 'WEBSITE_TRAFFIC', label: 'Website traffic' },
  { value: 'FEATURE_ADOPTION', label: 'Feature adoption' },
];

function NewDashboard({ project }: { readonly project: string }) {
  const make = useMakeDashboard(project);
  return (
    <FormDialog
      label="New dashboard"
      scope="dashboard:write"
      variant="filled"
      size="sm"
      initial={{ name: '', use_template: '' }}
      does="Create"
      submit={({ name, use_template }) => make({ name, ...(use_template === '' ? {} : { use_template }) })}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.text('name')} />
          <Select label="Begin with" data={TEMPLATES} {...form.choice('use_template')} />
        </>
      )}
    </FormDialog>
  );
}
