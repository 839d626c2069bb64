import { Alert, Box, Checkbox, Group, Stack, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useOwnKey } from '../client/access.ts';
import { answered, api, type Schemas } from '../client/api.ts';
import { instantOf } from '../client/local-time.ts';
import { asListed } from '../client/paged.ts';
import { replaceKey } from '../client/session.ts';
import { useParam } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Copied } from '../parts/copied.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { useRenew } from '../parts/renew.ts';

type Key = Schemas['PersonalApiKey'];

/** The resources that the service has, in the words of scopes. */
const RESOURCES = [
  'dashboard',
  'insight',
  'alert',
  'subscription',
  'sharing_configuration',
  'access_control',
  'batch_export',
  'batch_import',
  'query',
  'event_definition',
  'property_definition',
  'person',
  'project',
  'organization',
  'organization_member',
  'activity_log',
  'personal_api_key',
  'user',
] as const;

/** Resources that are only ever read. */
const READ_ONLY: readonly string[] = ['query', 'event_definition', 'property_definition', 'activity_log', 'user'];

const scopesOf = ({ scopes }: Key): string => (scopes.includes('*') ? 'everything' : scopes.join(', '));

export default function Keys() {
  const project = useParam('project');
  const renew = useRenew();
  const { data: own } = useOwnKey();
  const [shown, setShown] = useState<Key | null>(null);
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: () => answered(api.GET('/api/personal_api_keys/')),
  });
  const isOwn = ({ id }: Key): boolean => id === own?.id;
  const roll = async (key: Key): Promise<void> => {
    const rolled = await answered(api.POST('/api/personal_api_keys/{id}/roll/', { params: { path: { id: key.id } } }));
    setShown(rolled);
    // With the value of before they would be signed out, and this page gone with the only place where the new one stands.
    if (isOwn(key) && rolled.value != null) replaceKey(rolled.value);
    await renew('keys');
  };
  const revoke = async ({ id }: Key): Promise<void> => {
    await answered(api.DELETE('/api/personal_api_keys/{id}/', { params: { path: { id } } }));
    await renew('keys');
  };
  return (
    <Page
      title="Keys"
      actions={
        <NewKey
          project={project}
          made={async (key) => {
            setShown(key);
            await renew('keys');
          }}
        />
      }
    >
      <Stack>
        {shown?.value != null && (
          <Alert color="green" variant="outline" title={`${shown.label}: copy it now, it is not shown again`}>
            <Copied value={shown.value} what="the key" />
          </Alert>
        )}
        <Listing
          label="Keys"
          {...asListed(keys)}
          rowKey={({ id }) => id}
          empty={<Text>No keys. Make one for each script or person, with the least that it needs.</Text>}
          columns={[
            {
              name: 'Label',
              cell: (key) => (
                <>
                  <Text size="sm">
                    {key.label}
                    {isOwn(key) && ' (this one)'}
                  </Text>
                  {/* What there is no room for beside it. */}
                  <Text component="div" size="xs" c="dimmed" hiddenFrom="md">
                    <div>{scopesOf(key)}</div>
                    <Box hiddenFrom="sm">{key.mask_value}</Box>
                    <Box hiddenFrom="xs">
                      used <Instant at={key.last_used_at} size="xs" />
                    </Box>
                    {key.expires_at !== null && (
                      <>
                        expires <Instant at={key.expires_at} size="xs" />
                      </>
                    )}
                  </Text>
                </>
              ),
            },
            { name: 'Key', cell: ({ mask_value }) => <span className="one-line">{mask_value}</span>, from: 'sm' },
            {
              name: 'Scopes',
              cell: scopesOf,
              from: 'md',
            },
            { name: 'Last used', cell: ({ last_used_at }) => <Instant at={last_used_at} />, from: 'xs' },
            { name: 'Expires', cell: ({ expires_at }) => <Instant at={expires_at} />, from: 'md' },
            {
              name: 'Action',
              cell: (key) => (
                <Group gap="xs" wrap="nowrap">
                  <ConfirmButton label="Roll" scope="personal_api_key:write" act={() => roll(key)}>
                    {key.label} gets another value, which is shown once. The present value stops working.
                    {isOwn(key) && ' You stay signed in here.'}
                  </ConfirmButton>
                  <ConfirmButton label="Revoke" scope="personal_api_key:write" act={() => revoke(key)}>
                    {key.label} stops working within a minute, for good.
                    {isOwn(key) && ' You are signed in with it: have another one at hand.'}
                  </ConfirmButton>
                </Group>
              ),
            },
          ]}
        />
      </Stack>
    </Page>
  );
}

interface NewKeyProps {
  readonly project: string;
  readonly made: (key: Key) => Promise<void>;
}

function NewKey({ project, made }: NewKeyProps) {
  return (
    <FormDialog
      label="New key"
      scope="personal_api_key:write"
      variant="filled"
      size="sm"
      dialogSize="lg"
      initial={{ label: '', scopes: [] as readonly string[], isLimited: false, expires_at: '' }}
      fields={['label', 'expires_at']}
      does="Make the key"
      isReady={({ scopes }) => scopes.length > 0}
      submit={async ({ label, scopes, isLimited, expires_at }) =>
        made(
          await answered(
            api.POST('/api/personal_api_keys/', {
              body: {
                label,
                scopes: scopes.includes('*') ? ['*'] : [...scopes],
                ...(isLimited ? { scoped_teams: [Number(project)] } : {}),
                ...(expires_at === '' ? {} : { expires_at: instantOf(expires_at) }),
              },
            }),
          ),
        )
      }
    >
      {(form) => (
        <>
          <TextInput label="Label" description="What it is for" required data-autofocus {...form.text('label')} />
          <Scopes scopes={form.values.scopes} change={(scopes) => form.set({ scopes })} />
          <Checkbox label="Only in this project" {...form.tick('isLimited')} />
          <TextInput
            label="Expires"
            type="datetime-local"
            description="Left empty: never"
            {...form.text('expires_at')}
          />
        </>
      )}
    </FormDialog>
  );
}

interface ScopesProps {
  readonly scopes: readonly string[];
  readonly change: (scopes: readonly string[]) => void;
}

/** What a key may do: everything, or what is ticked by resource. */
function Scopes({ scopes, change }: ScopesProps) {
  const isAll = scopes.includes('*');
  return (
    <>
      <Checkbox
        label="May do everything that you may"
        checked={isAll}
        onChange={(event) => change(event.currentTarget.checked ? ['*'] : [])}
      />
      {!isAll && (
        <Table aria-label="Scopes" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>What</Table.Th>
              <Table.Th>Read</Table.Th>
              <Table.Th>Write</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {RESOURCES.map((resource) => (
              <Table.Tr key={resource}>
                <Table.Th scope="row" fw={400}>
                  {resource.replaceAll('_', ' ')}
                </Table.Th>
                {(['read', 'write'] as const).map((verb) => {
                  const scope = `${resource}:${verb}`;
                  return (
                    <Table.Td key={verb}>
                      {(verb === 'read' || !READ_ONLY.includes(resource)) && (
                        <Checkbox
                          aria-label={scope}
                          checked={scopes.includes(scope)}
                          onChange={(event) =>
                            change(
                              event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope),
                            )
                          }
                        />
                      )}
                    </Table.Td>
                  );
                })}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </>
  );
}
