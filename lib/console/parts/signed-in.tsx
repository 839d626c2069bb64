import { Button, Card, Center, Checkbox, Modal, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, Fragment, type ReactNode, useState } from 'react';
import { readKey, useOwnKey } from '../client/access.ts';
import { Refusal, type Schemas } from '../client/api.ts';
import { signIn, useSession } from '../client/session.ts';

/**
 * Shows its children to who is signed in, and the form that signs in to everybody else: over the children, which keep
 * what is written in them, where the session has ended in the middle of it.
 */
export function SignedIn({ children }: { readonly children: ReactNode }) {
  const { key, hasEnded, visitor } = useSession();
  // When it ends, it must be known whose it was.
  useOwnKey();
  if (key !== null || hasEnded) {
    return (
      <Fragment key={visitor}>
        {children}
        <Modal
          opened={key === null}
          onClose={() => undefined}
          closeOnEscape={false}
          withCloseButton={false}
          fullScreen
          zIndex={1000}
          title="Sign in again"
        >
          <Center>
            <Card withBorder shadow="sm" padding="xl" w="100%" maw={420}>
              <SignIn
                title={<Text>Your key works no longer. With another one of yours you go on where you are.</Text>}
              />
            </Card>
          </Center>
        </Modal>
      </Fragment>
    );
  }
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

/** How the tokens of projects begin. */
const TOKEN = 'phc_';

interface SignInProps {
  readonly title: ReactNode;
  /** Where a key is from, in sentences. */
  readonly keyFrom?: string;
}

const FIRST_KEYS =
  'The first start of the service has printed a link that signs in; an admin can make a key with the command line.';

/** The form that signs in. */
export function SignIn({ title, keyFrom = FIRST_KEYS }: SignInProps) {
  const queries = useQueryClient();
  const { hasEnded } = useSession();
  const [key, setKey] = useState('');
  const [remember, setRemember] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    const value = key.trim();
    if (value.startsWith(TOKEN)) {
      setFault('This is a project’s token, for sending events. A personal API key begins with phx_.');
      return;
    }
    setBusy(true);
    setFault(null);
    try {
      const own = await readKey(value);
      const before = queries
        .getQueriesData<Schemas['PersonalApiKey']>({ queryKey: ['own-key'] })
        .flatMap(([, data]) => data?.user_id ?? []);
      if (own === null) setFault('The service does not know this key, or it has expired or was revoked.');
      else if (hasEnded && before.includes(own.user_id)) {
        signIn(value, remember, true);
        await queries.invalidateQueries();
      } else {
        signIn(value, remember);
      }
    } catch (problem) {
      setFault(problem instanceof Refusal ? problem.message : 'The service cannot be reached.');
    } finally {
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        {title}
        <Text c="dimmed" size="sm">
          With a personal API key. {keyFrom}
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
