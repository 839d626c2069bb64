import { Button, Card, Center, Stack, Text, TextInput, Title } from '@mantine/core';
import { Navigate, useNavigate } from '@tanstack/react-router';
import { type FormEvent, lazy, useState } from 'react';
import { useMe, useOwnKey } from '../client/access.ts';
import type { Schemas } from '../client/api.ts';
import { useOrganizations } from '../client/organization.ts';
import { signOut } from '../client/session.ts';
import { LoadedLater } from './loaded-later.tsx';
import { Loading } from './loading.tsx';
import { Awaited } from './problem.tsx';

/** Few see it: the first page of the others is loaded without. */
const FirstProject = lazy(() => import('./first-project.tsx'));

/** Leads to the home of the first project. */
export function Start() {
  const me = useMe();
  const key = useOwnKey();
  const current = me.data?.team?.id ?? key.data?.scoped_teams[0];
  // The current organization may have none where another one has.
  const joined = useOrganizations(current === undefined && me.isSuccess);
  const project = current ?? joined.data?.find(({ projects }) => projects.length > 0)?.projects[0]?.id;
  if (project !== undefined) return <Navigate to={`/projects/${project}/home`} replace />;
  const failed = [me, joined].find(({ error }) => error !== null);
  if (failed !== undefined || key.isPending || joined.data === undefined) {
    return (
      <Center component="main" mih="100vh" p="md">
        <Awaited asked={failed ?? joined} />
      </Center>
    );
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder padding="xl" maw={420}>
        <Stack>
          {joined.data !== null && joined.data.length > 0 ? (
            <LoadedLater fallback={<Loading />}>
              <FirstProject organizations={joined.data} />
            </LoadedLater>
          ) : (
            <WhichProject>{joined.data === null ? untold(me.data) : NOWHERE}</WhichProject>
          )}
          <Button variant="default" onClick={signOut}>
            Sign out
          </Button>
        </Stack>
      </Card>
    </Center>
  );
}

const NOWHERE = 'You are a member of no organization yet. Ask an admin for an invitation and open its link.';

/** Returns why a key does not tell the organizations of who has it. */
const untold = (me: Schemas['Me'] | null | undefined): string =>
  me == null
    ? 'The key lacks the scope user:read, so it cannot tell where you are a member.'
    : me.organizations.length === 0
      ? NOWHERE
      : 'The key lacks the scope organization:read, so it cannot tell which projects there are.';

function WhichProject({ children }: { readonly children: string }) {
  const navigate = useNavigate();
  const [project, setProject] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ to: `/projects/${project}/home` });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <Title order={1} size="h2">
          Which project?
        </Title>
        <Text c="dimmed" size="sm">
          {children}
        </Text>
        <TextInput
          label="Project’s number"
          inputMode="numeric"
          required
          value={project}
          onChange={(event) => setProject(event.currentTarget.value)}
        />
        <Button type="submit">Open</Button>
      </Stack>
    </form>
  );
}
