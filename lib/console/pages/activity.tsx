import { Code, Select, Stack, Text } from '@mantine/core';
import { answered, api, type Schemas } from '../client/api.ts';
import { useOrganizationId } from '../client/organization.ts';
import { usePaged } from '../client/paged.ts';
import { useParam, useView } from '../parts/address.ts';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';

type Entry = Schemas['ActivityEntry'];

/** All that the API has, in this order: one that is missing here is a type error. */
const IS_SCOPE: Readonly<Record<Entry['scope'], true>> = {
  Organization: true,
  OrganizationMembership: true,
  OrganizationInvite: true,
  Project: true,
  PersonalAPIKey: true,
  Dashboard: true,
  Insight: true,
  Person: true,
  AlertConfiguration: true,
  Subscription: true,
  BatchExport: true,
  BatchExportBackfill: true,
  BatchExportRun: true,
  Import: true,
};
const SCOPES = Object.keys(IS_SCOPE) as Entry['scope'][];

/** Returns a name of the API in words: `BatchExportRun` is `batch export run`. */
const inWords = (name: string): string =>
  name
    .replace('APIKey', 'ApiKey')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();

export default function Activity() {
  const organization = useOrganizationId(useParam('project'));
  const [view, setView] = useView();
  const scope = SCOPES.find((one) => one === view['scope']);
  const entries = usePaged<Entry>({
    key: ['activity', organization, scope],
    enabled: organization !== undefined,
    read: (cursor) =>
      answered(
        api.GET('/api/organizations/{organization_id}/activity/', {
          params: {
            path: { organization_id: organization ?? '' },
            query: { ...(scope === undefined ? {} : { scope }), ...cursor },
          },
        }),
      ),
  });
  return (
    <Page title="Activity log">
      <Stack>
        <Select
          label="About"
          maw={260}
          data={SCOPES.map((one) => ({ value: one, label: inWords(one) }))}
          value={scope ?? null}
          placeholder="everything"
          clearable
          clearButtonProps={{ 'aria-label': 'Everything' }}
          onChange={(value) => setView({ scope: value ?? undefined })}
        />
        <Listing
          label="Activity"
          {...entries}
          rowKey={({ id }) => id}
          empty={<Text>Nothing has happened.</Text>}
          columns={[
            { name: 'Who', cell: ({ user, is_system }) => (is_system ? 'the service' : (user?.email ?? 'somebody')) },
            { name: 'What', cell: (entry) => <What entry={entry} /> },
            { name: 'Key', cell: ({ key_mask }) => key_mask ?? '–', from: 'md' },
            { name: 'When', cell: ({ created_at }) => <Instant at={created_at} /> },
          ]}
        />
      </Stack>
    </Page>
  );
}

function What({ entry: { activity, scope, detail } }: { readonly entry: Entry }) {
  return (
    <Stack gap={2}>
      <Text size="sm">
        {inWords(activity)} {inWords(scope)} {detail.name !== null && <b>{detail.name}</b>}
      </Text>
      {detail.changes.map(({ field, before, after }) => (
        <Text key={field} size="xs">
          {field}: {before !== null && <Code>{short(before)}</Code>} is now <Code>{short(after)}</Code>
        </Text>
      ))}
    </Stack>
  );
}

const LONGEST = 120;

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
