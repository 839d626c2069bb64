import { Alert, Card, Center, Stack, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useMe } from '../client/access.ts';
import { answered, api, Refusal, type Schemas } from '../client/api.ts';
import { levelName, readOrganizations, useInvitePreview } from '../client/organization.ts';
import { signOut, useSessionKey } from '../client/session.ts';
import { useParam } from '../parts/address.ts';
import { Facts } from '../parts/facts.tsx';
import { useSubmission } from '../parts/form.ts';
import { Heading } from '../parts/heading.tsx';
import { localTime } from '../parts/instant.tsx';
import { Awaited, Problem } from '../parts/problem.tsx';
import { useRenew } from '../parts/renew.ts';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { SignIn } from '../parts/signed-in.tsx';
import { TextButton } from '../parts/text-button.tsx';
import { ToButton } from '../parts/to.tsx';

type Preview = Schemas['InvitePreview'];

/** Where the link of an invitation leads: what it is to, and who is signed in as the invited user accepts it. */
export default function Invitation() {
  const asked = useInvitePreview(useParam('id'));
  const { data, error } = asked;
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder p={{ base: 'md', xs: 'xl' }} w="100%" maw={480}>
        <Stack>
          <Title order={1} size="h2">
            Invitation
          </Title>
          {data !== undefined ? (
            <Open invite={data} />
          ) : error instanceof Refusal && error.status === 404 ? (
            <Gone isExpired={error.code === 'expired'} />
          ) : (
            <Awaited asked={asked} />
          )}
        </Stack>
      </Card>
    </Center>
  );
}

function Gone({ isExpired }: { readonly isExpired: boolean }) {
  return (
    <>
      <Alert color="orange" variant="outline" role="alert">
        {isExpired
          ? 'This invitation has expired: it was open for three days. Ask who invited you for a new one.'
          : 'There is no such invitation: it was accepted or taken back, or the link is not whole. Ask who invited you for a new one.'}
      </Alert>
      <ToButton to="/" variant="default">
        To the console
      </ToButton>
    </>
  );
}

/** Whether a masked address may be this one. */
const isMaskOf = (mask: string, email: string): boolean =>
  mask.length === email.length &&
  Array.from(mask, (letter, at) => letter === '*' || letter === email.toLowerCase()[at]).every(Boolean);

function Open({ invite }: { readonly invite: Preview }) {
  const key = useSessionKey();
  const { organization_name, invited_by, target_email, level, expires_at } = invite;
  return (
    <>
      <Text>
        {invited_by} invites you to <b>{organization_name}</b>.
      </Text>
      <Facts
        label="Invitation"
        facts={[
          ['Level', levelName(level)],
          ['For', target_email],
          ['Open until', localTime(expires_at)],
        ]}
      />
      {key === null ? (
        <SignIn
          title={<Heading>Sign in to accept</Heading>}
          keyFrom="If you have none, ask whoever runs the service to make you a user with this address, and a key."
        />
      ) : (
        <Answer invite={invite} />
      )}
    </>
  );
}

function Answer({ invite: { id, target_email } }: { readonly invite: Preview }) {
  const navigate = useNavigate();
  const renew = useRenew();
  const asked = useMe();
  const { data: me } = asked;
  const { isBusy, error, attempt } = useSubmission();
  if (me === undefined) return <Awaited asked={asked} />;
  if (me !== null && !isMaskOf(target_email, me.email)) {
    return (
      <>
        <Alert color="orange" variant="outline" role="alert">
          It is for somebody else: you are signed in as {me.email}. Sign in with a key of the user who was invited.
        </Alert>
        <TextButton onClick={signOut}>Sign in as somebody else</TextButton>
      </>
    );
  }
  const accept = async (): Promise<void> => {
    await answered(api.POST('/api/invites/{id}/accept/', { params: { path: { id } } }));
    await renew('me', 'organizations');
    // It is accepted, whether or not the service tells where it leads.
    const organizations = await readOrganizations().catch(() => null);
    const joined = organizations?.find((one) => me?.organizations.every((known) => known.id !== one.id));
    const project = joined?.projects[0]?.id;
    void navigate({ to: project === undefined ? '/' : `/projects/${project}/home` });
  };
  return (
    <>
      {me !== null && <Text size="sm">You accept as {me.email}.</Text>}
      <Problem error={error} />
      <ScopedButton scope="organization_member:write" loading={isBusy} onClick={() => void attempt(accept)}>
        Accept
      </ScopedButton>
    </>
  );
}
