import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useState } from 'react';

/** What the address says of the view in the place of what it said before leaves nothing. */
const isLeft = ({ action }: Parameters<ShouldBlockFn>[0]): boolean => action !== 'REPLACE';

interface Leaving {
  readonly isAsked: boolean;
  /** What stands on the page while somebody is asked. */
  readonly question: ReactNode;
  /** Does it at once where nothing is unsaved; else if whoever is asked wants it. */
  readonly leave: (act: () => void) => void;
}

/**
 * Asks before the page is left, or loaded again, with something on it that was written and not saved; and before it is given
 * up otherwise, by `leave`. What is sent may lead to another page, and is not asked about.
 */
export function useUnsaved(isThere: boolean, isSending?: RefObject<boolean>): Leaving {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: (way) => isSending?.current !== true && isLeft(way),
    disabled: !isThere,
    enableBeforeUnload: isThere,
    withResolver: true,
  });
  const [wanted, setWanted] = useState<{ readonly act: () => void } | null>(null);
  const isAsked = status === 'blocked' || wanted !== null;
  const stay = (): void => {
    setWanted(null);
    reset?.();
  };
  const go = (): void => {
    setWanted(null);
    wanted?.act();
    proceed?.();
  };
  return {
    isAsked,
    question: isAsked && (
      <Modal opened onClose={stay} title="Leave without saving?">
        <Stack>
          <Text size="sm">What you have written here is not saved.</Text>
          <Group justify="end">
            <Button variant="default" onClick={go}>
              Leave
            </Button>
            <Button data-autofocus onClick={stay}>
              Stay here
            </Button>
          </Group>
        </Stack>
      </Modal>
    ),
    leave: (act) => (isThere ? setWanted({ act }) : act()),
  };
}

/** The same, where the page alone can be left. */
export const Unsaved = ({ isThere }: { readonly isThere: boolean }) => useUnsaved(isThere).question;
