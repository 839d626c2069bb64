import { Button, Card, Center, Checkbox, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ADDRESS } from '../client/api.ts';
import { signIn, useSessionKey } from '../client/session.ts';

/** Shows its children to who is signed in, and the form that signs in to everybody else. */
export function SignedIn({ children }: { readonly children: ReactNode }) {
  if (useSessionKey() !== null) return children;
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder shadow="sm" padding="xl" w="100%" maw={420}>
        <SignIn
          title={
            <Title order={1} size="h2">
              Sign in
            </Title>
          }
        />
      </Card>
    </Center>
  );
}

/** Returns whether the service knows a key: the key itself is asked, before it is kept anywhere. */
async function isTaken(key: string): Promise<boolean> {
  // What no header can hold is no key, and would not be sent.
  if (!/^[!-~]*$/.test(key)) return false;
  const headers = { Authorization: `Bearer ${key}` };
  const { status } = await fetch(`${ADDRESS}/api/personal_api_keys/@current/`, { headers });
  return status !== 401;
}

/** The form that signs in. */
export function SignIn({ title }: { readonly title: ReactNode }) {
  const queries = useQueryClient();
  const [key, setKey] = useState('');
  const [remember, setRemember] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setFault(null);
    const value = key.trim();
    try {
      if (!(await isTaken(value))) setFault('The service does not know this key, or it has expired or was revoked.');
      else {
        queries.clear();
        signIn(value, remember);
      }
    } catch {
      setFault('The service cannot be reached.');
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        {title}
        <Text c="dimmed" size="sm">
          With a personal API key. The first start of the service has printed a link that signs in; an admin can make a
          key with the command line.
        </Text>
        <PasswordInput
          label="Personal API key"
          placeholder="phx_…"
          autoComplete="off"
          required
          value={key}
          error={fault}
          onChange={(event) => setKey(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
        />
        <Checkbox
          label="Remember on this device"
          description="Else the key is forgotten when this tab is closed."
          checked={remember}
          onChange={(event) => setRemember(event.currentTarget.checked)}
        />
        <Button type="submit" loading={busy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
