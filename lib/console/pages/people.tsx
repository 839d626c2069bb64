import { Button, Card, Code, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useMe } from '../client/access.ts';
import { answered, api, type Schemas } from '../client/api.ts';
import { ADMIN, LEVELS, levelName, useInvites, useMembers } from '../client/organization.ts';
import { asListed, asNumbered } from '../client/paged.ts';
import { useOrganization } from '../client/settings.ts';
import { useView } from '../parts/address.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { Copied, copyText } from '../parts/copied.tsx';
import { useForm } from '../parts/form.ts';
import { Heading } from '../parts/heading.tsx';
import { InOrganization } from '../parts/in-organization.tsx';
import { Instant } from '../parts/instant.tsx';
import { Listing } from '../parts/listing.tsx';
import { Page } from '../parts/page.tsx';
import { Problem, tell, tellProblem } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { SearchField } from '../parts/search-field.tsx';

type Level = Schemas['Member']['level'];

/** So many members are looked through without a search. */
const FEW = 10;

export default function People() {
  return (
    <Page title="People">
      <InOrganization>{(organization) => <PeopleOf organization={organization} />}</InOrganization>
    </Page>
  );
}

interface OfOrganization {
  readonly organization: string;
}

interface WithLevel extends OfOrganization {
  readonly ownLevel: number;
}

/** The levels that somebody may give: at most their own. */
const givenBy = (ownLevel: number) =>
  LEVELS.filter(({ value }) => Number(value) <= ownLevel).map(({ value, label }) => ({ value, label }));

const nameOf = ({ first_name, last_name }: Schemas['Member']['user']): string => `${first_name} ${last_name}`.trim();

function PeopleOf({ organization }: OfOrganization) {
  const { data: own, error } = useOrganization(organization);
  const ownLevel = own?.value.membership_level ?? 0;
  const isAdmin = ownLevel >= ADMIN;
  return (
    <Stack>
      <Members organization={organization} ownLevel={ownLevel} />
      <Heading>Invitations</Heading>
      <Problem error={own === undefined ? error : null} />
      {isAdmin && <NewInvite organization={organization} ownLevel={ownLevel} />}
      {own !== undefined && !isAdmin && <Text size="sm">Admins and owners of the organization invite people.</Text>}
      <Invites organization={organization} />
      <Heading>Who may do what</Heading>
      <Table aria-label="Levels">
        <Table.Tbody>
          {LEVELS.map(({ label, may }) => (
            <Table.Tr key={label}>
              <Table.Th scope="row">{label}</Table.Th>
              <Table.Td>{may}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}

function Members({ organization, ownLevel }: WithLevel) {
  const renew = useRenew();
  const { data: me } = useMe();
  const { data, error, refetch } = useMembers(organization);
  const mayEdit = (level: number): boolean => ownLevel >= ADMIN && ownLevel >= level;
  const path = (user: string) => ({ organization_id: organization, user__uuid: user });
  const setLevel = async (user: string, level: Level): Promise<void> => {
    try {
      await answered(
        api.PATCH('/api/organizations/{organization_id}/members/{user__uuid}/', {
          params: { path: path(user) },
          body: { level },
        }),
      );
      tell('The level is changed.');
    } catch (problem) {
      tellProblem(problem);
    }
    await renew('members');
  };
  const remove = async (user: string): Promise<void> => {
    await answered(
      api.DELETE('/api/organizations/{organization_id}/members/{user__uuid}/', { params: { path: path(user) } }),
    );
    await renew('members');
  };
  const [{ search = '' }] = useView();
  const sought = search.toLowerCase();
  const isSought = ({ user }: Schemas['Member']): boolean =>
    `${user.first_name} ${user.last_name} ${user.email}`.toLowerCase().includes(sought);
  const { count = 0, results = [] } = data ?? {};
  return (
    <>
      {count > FEW && <SearchField description="A part of the name or the email" />}
      {count > results.length && data !== undefined && (
        <Text size="sm">{`The first ${results.length} of ${count} members.`}</Text>
      )}
      <Listing
        label="Members"
        {...asListed({ data: data?.results.filter(isSought), error, refetch })}
        rowKey={({ id }) => id}
        empty={<Text>Nobody matches.</Text>}
        columns={[
          {
            name: 'Name',
            cell: ({ user }) => (
              <>
                <Text size="sm">
                  {nameOf(user) || user.email}
                  {user.uuid === me?.uuid && ' (you)'}
                </Text>
                {nameOf(user) !== '' && (
                  <Text size="xs" c="dimmed" hiddenFrom="xs">
                    {user.email}
                  </Text>
                )}
              </>
            ),
          },
          { name: 'Email', cell: ({ user }) => user.email, from: 'xs' },
          {
            name: 'Level',
            cell: ({ user, level }) =>
              mayEdit(level) && user.uuid !== me?.uuid ? (
                <Select
                  aria-label={`Level of ${user.email}`}
                  size="xs"
                  data={givenBy(ownLevel)}
                  value={String(level)}
                  allowDeselect={false}
                  onChange={(value) => void setLevel(user.uuid, Number(value) as Level)}
                />
              ) : (
                levelName(level)
              ),
          },
          { name: 'Since', cell: ({ joined_at }) => <Instant at={joined_at} />, from: 'sm' },
          {
            name: 'Action',
            cell: ({ user, level }) =>
              mayEdit(level) || user.uuid === me?.uuid ? (
                <ConfirmButton
                  label={user.uuid === me?.uuid ? 'Leave' : 'Remove'}
                  scope="organization_member:write"
                  act={() => remove(user.uuid)}
                >
                  {user.email} is no longer a member, and their keys open nothing here from their next request on.
                </ConfirmButton>
              ) : null,
          },
        ]}
      />
    </>
  );
}

function NewInvite({ organization, ownLevel }: WithLevel) {
  const renew = useRenew();
  const form = useForm({ target_email: '', level: '1' });
  const [made, setMade] = useState<Schemas['Invite'] | null>(null);
  const invite = async (): Promise<void> => {
    const { target_email, level } = form.values;
    setMade(
      await answered(
        api.POST('/api/organizations/{organization_id}/invites/', {
          params: { path: { organization_id: organization } },
          body: { target_email, level: Number(level) as Level },
        }),
      ),
    );
    form.set({ target_email: '' });
    await renew('invites');
  };
  return (
    <Card withBorder>
      <form onSubmit={form.sends(invite)}>
        <Group align="end">
          <TextInput label="Email" type="email" required {...form.text('target_email')} />
          <Select label="Level" data={givenBy(ownLevel)} {...form.choice('level')} />
          <ScopedButton scope="organization_member:write" type="submit" loading={form.isBusy}>
            Invite
          </ScopedButton>
        </Group>
        <Problem error={form.error} fields={['target_email', 'level']} />
      </form>
      {made !== null && (
        <Stack gap="xs" mt="md">
          <Text size="sm">
            No mail is sent. Pass this link on to {made.target_email}: it opens a page that accepts.
          </Text>
          <Copied value={made.link} what="the invitation’s link" />
          <Text size="sm">
            It asks for a key. They have no user here yet? Whoever runs the service makes one in its folder, and a first
            key: <Code>npx workspace user create --email …</Code>, then{' '}
            <Code>npx workspace key create --email … --label … --scopes '*'</Code>; on AWS with <Code>--stage …</Code>.
          </Text>
        </Stack>
      )}
    </Card>
  );
}

function Invites({ organization }: OfOrganization) {
  const renew = useRenew();
  const [page, setPage] = useState(1);
  const asked = useInvites(organization, page);
  const remove = async (id: string): Promise<void> => {
    await answered(
      api.DELETE('/api/organizations/{organization_id}/invites/{id}/', {
        params: { path: { organization_id: organization, id } },
      }),
    );
    await renew('invites');
  };
  return (
    <Listing
      label="Invitations"
      {...asNumbered(asked, page, setPage)}
      rowKey={({ id }) => id}
      empty={<Text>No invitation is open.</Text>}
      columns={[
        { name: 'Email', cell: ({ target_email }) => target_email },
        { name: 'Level', cell: ({ level }) => levelName(level) },
        { name: 'Open until', cell: ({ expires_at }) => <Instant at={expires_at} />, from: 'xs' },
        {
          name: 'Action',
          cell: (invite) => (
            <Group gap="xs">
              <Button size="xs" variant="default" onClick={() => void copyText(invite.link)}>
                Copy link
              </Button>
              <ConfirmButton
                label="Withdraw"
                scope="organization_member:write"
                level={ADMIN}
                act={() => remove(invite.id)}
              >
                The link of {invite.target_email} stops working.
              </ConfirmButton>
            </Group>
          ),
        },
      ]}
    />
  );
}
