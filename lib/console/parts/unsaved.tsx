import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router';

/** By the menu, a link or “back”. An address that is typed, or gone forward to, cannot be taken back. */
const byThePage: ShouldBlockFn = ({ action }) => action === 'PUSH' || action === 'BACK';

/** Asks before the page is left, or loaded again, with something on it that was written and not saved. */
export function Unsaved({ isThere }: { readonly isThere: boolean }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: byThePage,
    disabled: !isThere,
    enableBeforeUnload: isThere,
    withResolver: true,
  });
  if (status !== 'blocked') return null;
  return (
    <Modal opened onClose={reset} title="Leave without saving?">
      <Stack>
        <Text size="sm">What you have written here is not saved.</Text>
        <Group justify="end">
          <Button variant="default" onClick={proceed}>
            Leave
          </Button>
          <Button data-autofocus onClick={reset}>
            Stay here
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
