import { Card, Group, Select, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { projectAt } from '../client/access.ts';
import { ADDRESS, answered, api, type Versioned } from '../client/api.ts';
import { ADMIN, OWNER } from '../client/organization.ts';
import {
  type Organization,
  organizationAt,
  type Project,
  type ProjectChange,
  useOrganization,
  writeOrganization,
  writeProject,
} from '../client/settings.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { disputedFields } from '../parts/conflict-notice.tsx';
import { Copied } from '../parts/copied.tsx';
import { type Form, useForm } from '../parts/form.ts';
import { Heading } from '../parts/heading.tsx';
import { NewProject } from '../parts/new-project.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { Problem, tell } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { type Needed, ScopedButton } from '../parts/scoped-button.tsx';
import { useVersionedWrite } from '../parts/versioned-write.tsx';

export default function Settings() {
  const id = useParam('project');
  const asked = useQuery(projectAt(id));
  const { data: seen } = asked;
  const { data: organization, error } = useOrganization(seen?.value.organization);
  if (seen === undefined) return <AwaitedPage title="Settings" asked={asked} />;
  return (
    <Page title="Settings">
      <Stack maw={720}>
        <ProjectSettings seen={seen} />
        <TokenSettings project={seen.value} />
        {organization === undefined ? <Problem error={error} /> : <OrganizationSettings seen={organization} />}
      </Stack>
    </Page>
  );
}

interface SettingsFormProps<Values extends object> extends Needed {
  readonly initial: Values;
  readonly save: (values: Values, changed: Partial<Values>) => Promise<unknown>;
  /** What follows from it, in sentences. */
  readonly about?: string;
  readonly children: (form: Form<Values>) => ReactNode;
}

/** Fields that are saved together. */
function SettingsForm<Values extends object>(props: SettingsFormProps<Values>) {
  const { initial, save, about, children, ...needed } = props;
  const form = useForm(initial);
  return (
    <form onSubmit={form.sends(() => save(form.values, form.changed))}>
      <Group align="end">
        {children(form)}
        <ScopedButton {...needed} type="submit" variant="default" loading={form.isBusy}>
          Save
        </ScopedButton>
      </Group>
      {about !== undefined && (
        <Text size="sm" mt="xs">
          {about}
        </Text>
      )}
      <Problem error={form.error} fields={Object.keys(initial)} />
    </form>
  );
}

function ProjectSettings({ seen }: { readonly seen: Versioned<Project> }) {
  const queries = useQueryClient();
  const navigate = useNavigateFromHere();
  const project = seen.value;
  const id = String(project.id);
  const renew = () => queries.invalidateQueries();
  const { send, notice } = useVersionedWrite<ProjectChange, Project>({
    what: 'the project',
    at: projectAt(id),
    write: (change, over) => writeProject(over, change),
    written: (_version, { name, anonymize_ips }) => {
      if (name !== undefined) tell('The name is changed.');
      else if (anonymize_ips === undefined) tell('Insights count by it from now on.');
      else
        tell(anonymize_ips ? 'Events land without addresses from now on.' : 'Events land with addresses from now on.');
      return renew();
    },
    disputed: disputedFields<keyof ProjectChange>,
  });
  const remove = async (): Promise<void> => {
    await answered(api.DELETE('/api/projects/{project_id}/', { params: { path: { project_id: id } } }));
    await renew();
    navigate({ to: '/' });
  };
  return (
    <Card withBorder>
      <Stack align="start">
        <Heading>Project</Heading>
        <SettingsForm
          key={project.name}
          scope="project:write"
          initial={{ name: project.name }}
          save={(change) => send(change, seen)}
        >
          {(form) => <TextInput label="Project’s name" required {...form.text('name')} />}
        </SettingsForm>
        <Text size="sm">Its number is {project.id}.</Text>
        <SettingsForm
          key={`${project.timezone} ${project.week_start_day}`}
          scope="project:write"
          initial={timesOf(project)}
          save={(_, { week_start_day: week, ...zone }) =>
            send({ ...zone, week_start_day: week && WEEK_STARTS[week] }, seen)
          }
          about="Insights count days, weeks and months by these at once, past ones too. Alerts and subscriptions follow after the time that is already set. Exports stay in UTC."
        >
          {(form) => (
            <>
              <Select
                label="Time zone"
                searchable
                data={ZONES.includes(project.timezone) ? ZONES : [project.timezone, ...ZONES]}
                {...form.choice('timezone')}
              />
              <Select label="Weeks begin on" data={WEEKS} {...form.choice('week_start_day')} />
            </>
          )}
        </SettingsForm>
        <SettingsForm
          key={String(project.anonymize_ips)}
          scope="project:write"
          initial={{ anonymize_ips: project.anonymize_ips }}
          save={(change) => send(change, seen)}
          about="Events that SDKs send land without $ip then. Those that have landed keep it."
        >
          {(form) => <Switch label="Keep no addresses of visitors" mb={8} {...form.tick('anonymize_ips')} />}
        </SettingsForm>
        <NewProject organization={project.organization} />
        <ConfirmButton label="Delete the project" scope="project:write" level={ADMIN} typed={project.name} act={remove}>
          The project goes with its dashboards, insights, exports, events and persons. That cannot be undone.
        </ConfirmButton>
      </Stack>
      {notice}
    </Card>
  );
}

/** The zones that browsers know, but UTC, which some do not tell. */
const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];

const WEEKS = [
  { value: '0', label: 'Sunday' },
  { value: '1', label: 'Monday' },
] as const;

const WEEK_STARTS = { '0': 0, '1': 1 } as const;

const timesOf = ({ timezone, week_start_day }: Project) => ({
  timezone,
  week_start_day: week_start_day === 1 ? ('1' as const) : ('0' as const),
});

function TokenSettings({ project }: { readonly project: Project }) {
  const renew = useRenew();
  const [keep, setKeep] = useState(true);
  const reset = async (): Promise<void> => {
    await answered(
      api.POST('/api/projects/{project_id}/reset_token/', {
        params: { path: { project_id: String(project.id) } },
        body: { keep_old_for_a_day: keep },
      }),
    );
    await renew('project');
    tell('The project has another token.');
  };
  return (
    <Card withBorder>
      <Stack align="stretch">
        <Heading>Token</Heading>
        <Text size="sm">SDKs send events to {ADDRESS} with it. It is no secret, and reads nothing.</Text>
        <Copied value={project.api_token} what="the token" />
        <Group>
          <Switch
            label="Take events with the old token for a day"
            checked={keep}
            onChange={(event) => setKeep(event.currentTarget.checked)}
          />
          <ConfirmButton label="Change the token" scope="project:write" level={ADMIN} act={reset}>
            The project gets another token.{' '}
            {keep ? 'The present token works for one more day.' : 'The present token stops working at once.'}
          </ConfirmButton>
        </Group>
      </Stack>
    </Card>
  );
}

function OrganizationSettings({ seen }: { readonly seen: Versioned<Organization> }) {
  const queries = useQueryClient();
  const navigate = useNavigateFromHere();
  const organization = seen.value;
  const { id } = organization;
  const { send, notice } = useVersionedWrite<Pick<Organization, 'name'>, Organization>({
    what: 'the organization',
    at: organizationAt(id),
    write: (change, over) => writeOrganization(over, change),
    written: () => {
      tell('The name is changed.');
      return queries.invalidateQueries();
    },
    disputed: disputedFields,
  });
  const remove = async (): Promise<void> => {
    await answered(api.DELETE('/api/organizations/{organization_id}/', { params: { path: { organization_id: id } } }));
    await queries.invalidateQueries();
    navigate({ to: '/' });
  };
  return (
    <Card withBorder>
      <Stack align="start">
        <Heading>Organization</Heading>
        <SettingsForm
          key={organization.name}
          scope="organization:write"
          level={ADMIN}
          initial={{ name: organization.name }}
          save={(change) => send(change, seen)}
        >
          {(form) => <TextInput label="Organization’s name" required {...form.text('name')} />}
        </SettingsForm>
        <ConfirmButton
          label="Delete the organization"
          scope="organization:write"
          level={OWNER}
          typed={organization.name}
          act={remove}
        >
          The organization goes with all projects and everything in them. That cannot be undone.
        </ConfirmButton>
      </Stack>
      {notice}
    </Card>
  );
}
