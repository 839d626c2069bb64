import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useFocusReturn } from '@mantine/hooks';
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';

/** What the address says of the view in the place of what it said before leaves nothing. */
const isLeft = ({ action }: Parameters<ShouldBlockFn>[0]): boolean => action !== 'REPLACE';

/** Whether what is unsaved is being sent, for each place that has something: a page, and a dialog that was opened on it. */
const places = new Set<RefObject<boolean>>();

interface Leaving {
  readonly isAsked: boolean;
  /** What stands on the page while somebody is asked. */
  readonly question: ReactNode;
  /** Does it at once where nothing is unsaved; else if whoever is asked wants it. */
  readonly leave: (act: () => void) => void;
}

/**
 * Asks before the page is left, or loaded again, with something on it that was written and not saved; and before it is given
 * up otherwise, by `leave`. What is sent may lead to another page, and is not asked about. Where there is something on the
 * page and in a dialog, one question is about both.
 */
export function useUnsaved(isThere: boolean, isSending?: RefObject<boolean>): Leaving {
  const isNever = useRef(false);
  const place = isSending ?? isNever;
  useEffect(() => {
    if (!isThere) return undefined;
    places.add(place);
    return () => void places.delete(place);
  }, [isThere, place]);
  const { status, proceed, reset } = useBlocker({
    // The dialog asks, which is on top.
    shouldBlockFn: (way) => isLeft(way) && [...places].findLast(({ current }) => !current) === place,
    disabled: !isThere,
    enableBeforeUnload: isThere,
    withResolver: true,
  });
  const [wanted, setWanted] = useState<{ readonly act: () => void } | null>(null);
  const isAsked = status === 'blocked' || wanted !== null;
  useFocusReturn({ opened: isAsked });
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
