import { Card, Group, SimpleGrid, Stack, Tabs, Text } from '@mantine/core';
import { useProject } from '../client/access.ts';
import { ADDRESS } from '../client/api.ts';
import { useDashboards } from '../client/dashboards.ts';
import { useEvents } from '../client/events.ts';
import { isOpen, useExports } from '../client/exports.ts';
import { useParam } from '../parts/address.ts';
import { Copied } from '../parts/copied.tsx';
import { EventList } from '../parts/events/event-list.tsx';
import { LastDay } from '../parts/events/last-day.tsx';
import { Heading } from '../parts/heading.tsx';
import { Page } from '../parts/page.tsx';
import { Missing } from '../parts/problem.tsx';
import { isFailed, StatusBadge } from '../parts/status.tsx';
import { To } from '../parts/to.tsx';

export default function Home() {
  const project = useParam('project');
  const asked = useProject(project);
  const { data } = asked;
  const events = useEvents(project, {}, true);
  const isEmpty = events.rows?.length === 0;
  return (
    <Page title={data?.name ?? 'Home'}>
      <Stack>
        <Missing asked={asked} />
        {isEmpty && data !== undefined && <FirstEvent token={data.api_token} />}
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <FailedExports project={project} />
          <PinnedDashboards project={project} />
        </SimpleGrid>
        <Group justify="space-between">
          <Heading>What arrived</Heading>
          <To to={`/projects/${project}/events`}>All events</To>
        </Group>
        <LastDay project={project} />
        <EventList
          project={project}
          events={events}
          leadsBack
          empty={<Text>Nothing yet. It shows here as it arrives.</Text>}
        />
        {!isEmpty && data !== undefined && (
          <details>
            <summary>Send events from somewhere else</summary>
            <FirstEvent token={data.api_token} />
          </details>
        )}
      </Stack>
    </Page>
  );
}

/** What PostHog's own snippet loads from `api_host`, which serves no scripts of PostHog's here. */
const POSTHOG_JS = 'https://cdn.jsdelivr.net/npm/posthog-js@1.449.2/dist/array.js';

/** Returns how an event is sent with PostHog's SDKs, which need no more than the address and the token. */
const snippets = (token: string) => [
  {
    name: 'curl',
    text: `curl ${ADDRESS}/e/ -d '{"api_key": "${token}", "event": "paid", "distinct_id": "ada"}'`,
  },
  {
    name: 'HTML',
    text: `<script src="${POSTHOG_JS}"></script>\n<script>\n  posthog.init('${token}', { api_host: '${ADDRESS}' });\n  posthog.capture('bought');\n</script>`,
  },
  {
    name: 'Bundler',
    text: `import posthog from 'posthog-js';\n\nposthog.init('${token}', { api_host: '${ADDRESS}' });\nposthog.capture('paid');`,
  },
  {
    name: 'Node.js',
    text: `import { PostHog } from 'posthog-node';\n\nconst posthog = new PostHog('${token}', { host: '${ADDRESS}' });\nposthog.capture({ distinctId: 'ada', event: 'paid' });\nawait posthog.shutdown();`,
  },
  {
    name: 'Python',
    text: `from posthog import Posthog\n\nposthog = Posthog('${token}', host='${ADDRESS}')\nposthog.capture('paid', distinct_id='ada')\nposthog.shutdown()`,
  },
];

function FirstEvent({ token }: { readonly token: string }) {
  const all = snippets(token);
  return (
    <Card withBorder>
      <Heading mb="xs">Send your first event</Heading>
      <Tabs defaultValue={all[0]?.name ?? ''}>
        <Tabs.List aria-label="With what">
          {all.map(({ name }) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {all.map(({ name, text }) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            <Copied value={text} what={`the code for ${name}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <Text size="sm" mt="xs">
        It shows below within seconds.
      </Text>
    </Card>
  );
}

function FailedExports({ project }: { readonly project: string }) {
  const asked = useExports(project, 1, '');
  const { data } = asked;
  const failed = (data?.results ?? []).flatMap(({ id, name, latest_runs: runs }) => {
    const ended = runs.find((run) => !isOpen(run));
    return ended !== undefined && isFailed(ended.status) ? [{ id, name, status: ended.status }] : [];
  });
  return (
    <Card withBorder>
      <Heading mb="xs">Exports that failed</Heading>
      <Missing asked={asked} />
      {data !== undefined && failed.length === 0 && (
        <Text size="sm">
          {data.count === 0 ? (
            <>
              There are no exports. <To to={`/projects/${project}/exports/new`}>Make the first one</To>.
            </>
          ) : (
            `None${data.count > data.results.length ? ` of the newest ${data.results.length}` : ''}: no last run has failed.`
          )}
        </Text>
      )}
      <Stack gap="xs">
        {failed.map(({ id, name, status }) => (
          <Group key={id} gap="xs">
            <To to={`/projects/${project}/exports/${id}`}>{name}</To>
            <StatusBadge status={status} />
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

function PinnedDashboards({ project }: { readonly project: string }) {
  const asked = useDashboards(project, 1, { pinned: true });
  const { data } = asked;
  return (
    <Card withBorder>
      <Heading mb="xs">Pinned dashboards</Heading>
      <Missing asked={asked} />
      {data?.results.length === 0 && (
        <Text size="sm">
          None. Pin one on <To to={`/projects/${project}/dashboards`}>Dashboards</To>.
        </Text>
      )}
      <Stack gap="xs">
        {data?.results.map(({ id, name }) => (
          <To key={id} to={`/projects/${project}/dashboards/${id}`}>
            {name || 'Untitled'}
          </To>
        ))}
      </Stack>
    </Card>
  );
}
