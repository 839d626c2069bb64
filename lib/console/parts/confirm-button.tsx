import { Button, type ButtonProps, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { Problem } from './problem.tsx';
import { ScopedButton } from './scoped-button.tsx';

interface ConfirmButtonProps extends Omit<ButtonProps, 'children'> {
  readonly label: string;
  readonly scope: string;
  /** What happens, in a sentence. */
  readonly children: ReactNode;
  /** A name that must be typed again before. */
  readonly typed?: string;
  readonly act: () => Promise<unknown>;
}

/** A button that asks once more before it does what cannot be undone. */
export function ConfirmButton({ label, scope, children, typed, act, ...rest }: ConfirmButtonProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [text, setText] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async (): Promise<void> => {
    setBusy(true);
    try {
      await act();
      close();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <ScopedButton
        scope={scope}
        variant="default"
        size="xs"
        {...rest}
        onClick={() => {
          setText('');
          setError(null);
          open();
        }}
      >
        {label}
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title={label} closeButtonProps={{ 'aria-label': 'Close' }}>
        <Stack>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {children}
          </Text>
          {typed !== undefined && (
            <TextInput
              label="Type the name again"
              description={typed}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
            />
          )}
          <Problem error={error} />
          <Group justify="end">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button
              color="red"
              loading={isBusy}
              disabled={typed !== undefined && text !== typed}
              onClick={() => void confirm()}
            >
              {label}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
