import { Button, Group, Modal, Stack, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, useState } from 'react';
import type { Schemas } from '../../client/api.ts';
import { faultOf, Problem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';

interface TextTileFormProps {
  readonly write: (change: Schemas['DashboardsUpdateRequest']) => Promise<void>;
}

/** Adds a tile with a text. */
export function TextTileForm({ write }: TextTileFormProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [body, setBody] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await write({ tiles: [{ text: { body } }] });
      setBody('');
      close();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <ScopedButton scope="dashboard:write" variant="default" size="xs" onClick={open}>
        Add text
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title="Add text" closeButtonProps={{ 'aria-label': 'Close' }}>
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            <Textarea
              label="Text"
              description="Markdown"
              required
              rows={4}
              data-autofocus
              value={body}
              error={faultOf(error, 'body')}
              onChange={(event) => setBody(event.currentTarget.value)}
            />
            <Problem error={error} fields={['body']} />
            <Group justify="end">
              <Button type="submit" loading={isBusy}>
                Add
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
