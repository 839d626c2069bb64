import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { readKey, useOwnKey } from '../client/access.ts';
import { leaveOffer, takeOffer, useOfferedKey, useSessionKey } from '../client/session.ts';
import { tell, tellProblem } from './problem.tsx';

/** Asks whoever is signed in, and opens a link with a key, whether to go on with that one: if it is a key that works. */
export function OfferedKey() {
  const offered = useOfferedKey();
  return offered === null ? null : <Offer key={offered} offered={offered} />;
}

function Offer({ offered }: { readonly offered: string }) {
  const isSignedIn = useSessionKey() !== null;
  const { data: own } = useOwnKey();
  const { data, error } = useQuery({ queryKey: ['offered-key', offered], queryFn: () => readKey(offered) });
  useEffect(() => {
    if (error !== null) {
      tellProblem(error);
      leaveOffer();
    } else if (data === null) {
      const ending = isSignedIn ? ' You stay signed in as before.' : '';
      tell(`The key of the link does not work: it is unknown, has expired or was revoked.${ending}`, 'orange');
      leaveOffer();
    } else if (data !== undefined && !isSignedIn) takeOffer();
  }, [data, error, isSignedIn]);
  if (data == null || !isSignedIn) return null;
  return (
    <Modal opened onClose={leaveOffer} title="Sign in with the key of the link?">
      <Stack>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          You are signed in already. The link that you have opened carries the key “{data.label}”
          {own !== undefined && (own.user_id === data.user_id ? ', which is yours too' : ', which is somebody else’s')}.
          With it, this tab works as its user may; other tabs stay as they are.
        </Text>
        <Group justify="end">
          <Button variant="default" onClick={takeOffer}>
            Sign in with it
          </Button>
          <Button data-autofocus onClick={leaveOffer}>
            Stay signed in
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
