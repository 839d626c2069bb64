import { Box, Code, Stack, Text } from '@mantine/core';
import { shortened } from '../../basics/text.ts';
import { answered, api, type Schemas } from '../client/api.ts';
import { ADMIN, levelName } from '../client/organization.ts';
import { usePaged } from '../client/paged.ts';
import { useOrganization } from '../client/settings.ts';
import { useView } from '../parts/address.ts';
import { InOrganization } from '../parts/in-organization.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Loading } from '../parts/loading.tsx';
import { Page } from '../parts/page.tsx';
import { ViewChoice } from '../parts/view-choice.tsx';

type Entry = Schemas['ActivityEntry'];

/** What is changed, in words and in this order: one that the API has and is missing here is a type error. */
const WORDS: Readonly<Record<Entry['scope'], string>> = {
  Organization: 'organization',
  OrganizationMembership: 'member',
  OrganizationInvite: 'invitation',
  Project: 'project',
  PersonalAPIKey: 'key',
  Dashboard: 'dashboard',
  Insight: 'insight',
  Person: 'person',
  AlertConfiguration: 'alert',
  Subscription: 'subscription',
  BatchExport: 'export',
  BatchExportBackfill: 'backfill',
  BatchExportRun: 'run',
  Import: 'import',
};
const SCOPES = Object.keys(WORDS) as Entry['scope'][];

export default function Activity() {
  return (
    <Page title="Activity log">
      <InOrganization>{(organization) => <EntriesOf organization={organization} />}</InOrganization>
    </Page>
  );
}

/** The log, for who may read it. */
function EntriesOf({ organization }: { readonly organization: string }) {
  const { data: own, error } = useOrganization(organization);
  if (own === undefined && error === null) return <Loading />;
  // Where the key may not tell the level, it may still read the log.
  if (own !== undefined && own.value.membership_level < ADMIN) return <Text>Admins and owners read it.</Text>;
  return <Entries organization={organization} />;
}

function Entries({ organization }: { readonly organization: string }) {
  const [view] = useView();
  const scope = SCOPES.find((one) => one === view['scope']);
  const entries = usePaged<Entry>({
    key: ['activity', organization, scope],
    read: (cursor) =>
      answered(
        api.GET('/api/organizations/{organization_id}/activity/', {
          params: {
            path: { organization_id: organization },
            query: { scope, ...cursor },
          },
        }),
      ),
  });
  return (
    <Stack>
      <ViewChoice
        name="scope"
        label="About"
        maw={260}
        data={SCOPES.map((one) => ({ value: one, label: WORDS[one] }))}
        value={scope}
        placeholder="everything"
        all="Everything"
      />
      <Listing
        label="Activity"
        {...entries}
        rowKey={({ id }) => id}
        empty={<Text>Nothing has happened.</Text>}
        columns={[
          { name: 'Who', cell: (entry) => <Box miw={{ lg: '10rem' }}>{whoDid(entry)}</Box>, from: 'sm' },
          { name: 'What', cell: (entry) => <What entry={entry} /> },
          { name: 'Key', cell: ({ key_mask }) => <span className="one-line">{key_mask ?? '–'}</span>, from: 'md' },
          { name: 'When', cell: ({ created_at }) => <Instant at={created_at} /> },
        ]}
      />
    </Stack>
  );
}

const whoDid = ({ user, is_system }: Entry): string => (is_system ? 'the service' : (user?.email ?? 'somebody'));

function What({ entry }: { readonly entry: Entry }) {
  const { activity, scope, detail } = entry;
  return (
    <Stack gap={2}>
      <Text size="sm">
        {activity.replaceAll('_', ' ')} {WORDS[scope]} {detail.name !== null && <b>{detail.name}</b>}
      </Text>
      {detail.changes.filter(saysSomething).map(({ field, before, after }) => (
        <Text key={field} size="xs">
          {field}: {before !== null && <Code>{short(before, field)}</Code>} is now <Code>{short(after, field)}</Code>
        </Text>
      ))}
      <Text size="xs" c="dimmed" hiddenFrom="sm">
        by {whoDid(entry)}
      </Text>
    </Stack>
  );
}

/** What had no value, and has none, is a field of something new that nobody has filled. */
const saysSomething = ({ before, after }: Entry['detail']['changes'][number]): boolean =>
  before !== null || (after !== null && JSON.stringify(after) !== '[]');

const LONGEST = 120;

function short(value: unknown, field: string): string {
  if (field === 'level' && typeof value === 'number') return levelName(value);
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return shortened(text, LONGEST);
}
