import { Group, Modal, Stack, Switch, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ADDRESS, answered, api } from '../../client/api.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { Copied } from '../copied.tsx';
import { Problem, tellProblem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';

interface SharingProps {
  readonly project: string;
  readonly id: number;
}

/** The link by which anybody sees the dashboard: made, ended, changed for another one. */
export function Sharing({ project, id }: SharingProps) {
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const key = ['sharing', project, id];
  const params = { path: { project_id: project, id } };
  const { data, error } = useQuery({
    queryKey: key,
    enabled: isOpen,
    queryFn: () => answered(api.GET('/api/projects/{project_id}/dashboards/{id}/sharing/', { params })),
  });
  const renew = () => queries.invalidateQueries({ queryKey: key });
  const set = async (enabled: boolean): Promise<void> => {
    // At once: it can be taken back.
    queries.setQueryData(key, (known: typeof data) => known && { ...known, enabled });
    try {
      await answered(api.PATCH('/api/projects/{project_id}/dashboards/{id}/sharing/', { params, body: { enabled } }));
    } catch (problem) {
      tellProblem(problem);
    }
    await renew();
  };
  const refresh = async (): Promise<void> => {
    await answered(api.POST('/api/projects/{project_id}/dashboards/{id}/sharing/refresh/', { params }));
    await renew();
  };
  const link = `${ADDRESS}/shared/${data?.access_token ?? ''}`;
  const embed = `<iframe src="${ADDRESS}/embedded/${data?.access_token ?? ''}" width="100%" height="400"></iframe>`;
  return (
    <>
      <ScopedButton scope="sharing_configuration:read" variant="default" size="xs" onClick={open}>
        Share
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title="Share" closeButtonProps={{ 'aria-label': 'Close' }}>
        <Stack>
          <Problem error={error} />
          <Switch
            label="Anybody who has the link sees the dashboard"
            checked={data?.enabled ?? false}
            disabled={data === undefined}
            onChange={(event) => void set(event.currentTarget.checked)}
          />
          {data?.enabled === true && (
            <>
              <Text size="sm">Link</Text>
              <Copied value={link} what="the link" />
              <Text size="sm">To show it in a page of yours</Text>
              <Copied value={embed} what="the code" />
              <Group>
                <ConfirmButton label="Change the link" scope="sharing_configuration:write" act={refresh}>
                  The link of now stops working at once, and there is another one.
                </ConfirmButton>
              </Group>
            </>
          )}
        </Stack>
      </Modal>
    </>
  );
}
