import { Button, Checkbox, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { answered, api } from '../../client/api.ts';
import type { Dashboard } from '../../client/dashboards.ts';
import { faultOf, Problem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';

interface DuplicateProps {
  readonly project: string;
  readonly value: Dashboard;
}

/** Makes a dashboard of another one's tiles. */
export function Duplicate({ project, value }: DuplicateProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const [name, setName] = useState('');
  const [isDeep, setDeep] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const begin = (): void => {
    setName(`${value.name} (copy)`);
    setDeep(false);
    setError(null);
    open();
  };
  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(null);
    const { id, description, tags, filters, variables } = value;
    try {
      const made = await answered(
        api.POST('/api/projects/{project_id}/dashboards/', {
          params: { path: { project_id: project } },
          body: { name, description, tags, filters, variables, use_dashboard: id, duplicate_tiles: isDeep },
        }),
      );
      await queries.invalidateQueries({ queryKey: ['dashboards', project] });
      close();
      void navigate({ to: `/projects/${project}/dashboards/${made.id}` });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <ScopedButton scope="dashboard:write" variant="default" size="xs" onClick={begin}>
        Duplicate
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title="Duplicate" closeButtonProps={{ 'aria-label': 'Close' }}>
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            <TextInput
              label="Name"
              required
              data-autofocus
              value={name}
              error={faultOf(error, 'name')}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Checkbox
              label="Copies of the insights too"
              description="Else both dashboards show the same ones."
              checked={isDeep}
              onChange={(event) => setDeep(event.currentTarget.checked)}
            />
            <Problem error={error} fields={['name']} />
            <Group justify="end">
              <Button type="submit" loading={isBusy}>
                Make the copy
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
