import { Card, Center, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useMe } from '../client/access.ts';
import { answered, api } from '../client/api.ts';
import { useParam } from '../parts/address.ts';
import { Problem } from '../parts/problem.tsx';
import { ScopedButton } from '../parts/scoped-button.tsx';

/** Where the link of an invitation leads: whoever is signed in becomes a member. */
export default function Invitation() {
  const id = useParam('id');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const { data: me } = useMe();
  const [error, setError] = useState<unknown>(null);
  async function accept(): Promise<void> {
    setError(null);
    try {
      await answered(api.POST('/api/invites/{id}/accept/', { params: { path: { id } } }));
      await queries.invalidateQueries();
      void navigate({ to: '/' });
    } catch (problem) {
      setError(problem);
    }
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder padding="xl" maw={420}>
        <Stack>
          <Title order={1} size="h2">
            Invitation
          </Title>
          <Text size="sm">You are invited to an organization. {me != null && `You accept as ${me.email}.`}</Text>
          <Problem error={error} />
          <ScopedButton scope="organization_member:write" onClick={() => void accept()}>
            Accept
          </ScopedButton>
        </Stack>
      </Card>
    </Center>
  );
}
