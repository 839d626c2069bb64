import { Group, Modal, Stack, Switch, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ADDRESS } from '../../client/api.ts';
import { readSharing, renewLink, writeSharing } from '../../client/sharing.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { Copied } from '../copied.tsx';
import { Problem, tellProblem } from '../problem.tsx';
import { ScopedButton } from '../scoped-button.tsx';
import { SharingSettings } from './sharing-settings.tsx';

interface SharingProps {
  readonly project: string;
  readonly id: number;
}

/** The link by which anybody sees the dashboard: made, ended, changed for another one. */
export function Sharing({ project, id }: SharingProps) {
  const queries = useQueryClient();
  const [isOpen, { open, close }] = useDisclosure(false);
  const key = ['sharing', project, id];
  const { data: seen, error } = useQuery({
    queryKey: key,
    enabled: isOpen,
    queryFn: () => readSharing(project, id),
  });
  const data = seen?.value;
  const renew = () => queries.invalidateQueries({ queryKey: key });
  const set = async (enabled: boolean): Promise<void> => {
    // At once: it can be taken back.
    if (seen === undefined) return;
    queries.setQueryData(key, { ...seen, value: { ...seen.value, enabled } });
    try {
      await writeSharing(project, id, seen, { enabled });
    } catch (problem) {
      tellProblem(problem);
    }
    await renew();
  };
  const refresh = async (): Promise<void> => {
    await renewLink(project, id);
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
                {seen !== undefined && (
                  <SharingSettings
                    project={project}
                    id={id}
                    seen={seen}
                    show={(version) => queries.setQueryData(key, version)}
                  />
                )}
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
