import { Button, Card, Center, Stack, Text, TextInput, Title } from '@mantine/core';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useMe, useOwnKey } from '../client/access.ts';
import { signOut } from '../client/session.ts';
import { Loading } from './loading.tsx';
import { Problem } from './problem.tsx';

/** Leads to the home of the first project. */
export function Start() {
  const me = useMe();
  const key = useOwnKey();
  const project = me.data?.team?.id ?? key.data?.scoped_teams[0];
  if (project !== undefined) return <Navigate to={`/projects/${project}/home`} replace />;
  if (me.isPending || key.isPending) {
    return (
      <Center component="main" mih="100vh">
        <Loading />
      </Center>
    );
  }
  if (me.error !== null) {
    return (
      <Center component="main" mih="100vh" p="md">
        <Problem error={me.error} retry={() => void me.refetch()} />
      </Center>
    );
  }
  return <WhichProject mayTell={me.data !== null} />;
}

function WhichProject({ mayTell }: { readonly mayTell: boolean }) {
  const navigate = useNavigate();
  const [project, setProject] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ to: `/projects/${project}/home` });
  };
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder padding="xl" maw={420}>
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h2">
              Which project?
            </Title>
            <Text c="dimmed" size="sm">
              {mayTell
                ? 'You are a member of no organization yet. Ask an admin for an invitation and open its link.'
                : 'The key lacks the scope user:read, so it cannot tell where you are a member.'}
            </Text>
            <TextInput
              label="Project’s number"
              inputMode="numeric"
              required
              value={project}
              onChange={(event) => setProject(event.currentTarget.value)}
            />
            <Button type="submit">Open</Button>
            <Button variant="default" onClick={signOut}>
              Sign out
            </Button>
          </Stack>
        </form>
      </Card>
    </Center>
  );
}
