import { Group, Modal, Stack, Switch, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { ADDRESS } from '../../client/api.ts';
import { renewLink, type Sharing as Shared, sharingAt, writeSharing } from '../../client/sharing.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { disputedFields } from '../conflict-notice.tsx';
import { Copied } from '../copied.tsx';
import { Problem, tellProblem } from '../problem.tsx';
import { useRenew } from '../renew.ts';
import { type Needed, ScopedButton } from '../scoped-button.tsx';
import { useVersionedWrite } from '../versioned-write.tsx';
import type { OfBoard } from './of-board.ts';
import { SharingSettings } from './sharing-settings.tsx';

/** The link by which anybody sees the dashboard: made, ended, changed for another one. */
export function Sharing({ project, id, beside, lacks }: OfBoard & Pick<Needed, 'lacks'>) {
  const renew = useRenew();
  const [isOpen, { open, close }] = useDisclosure(false);
  const at = sharingAt(project, id);
  const { data: seen, error } = useQuery({ ...at, enabled: isOpen });
  const { send, underWay, notice } = useVersionedWrite<Pick<Shared, 'enabled'>, Shared>({
    what: 'the page',
    at,
    write: (change, over) => beside(() => writeSharing(project, id, over, change)),
    written: () => renew('dashboards'),
    disputed: disputedFields,
  });
  const refresh = async (): Promise<void> => {
    await beside(() => renewLink(project, id));
    await renew('sharing');
  };
  return (
    <>
      <ScopedButton scope="sharing_configuration:read" variant="default" size="xs" onClick={open}>
        Share
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title="Share">
        <Stack>
          <Problem error={error} />
          {lacks !== undefined && <Text size="sm">{lacks}.</Text>}
          <Switch
            label="Anybody who has the link sees the dashboard"
            checked={underWay.at(-1)?.enabled ?? seen?.value.enabled ?? false}
            disabled={seen === undefined || lacks !== undefined}
            onChange={(event) =>
              seen !== undefined && void send({ enabled: event.currentTarget.checked }, seen).catch(tellProblem)
            }
          />
          {/* Not before it is written: opening makes another link, where there was one before. */}
          {seen?.value.enabled === true && underWay.length === 0 && (
            <>
              <Text size="sm">Link</Text>
              <Copied value={`${ADDRESS}/shared/${seen.value.access_token}`} what="the link" />
              <Text size="sm">To show it in a page of yours</Text>
              <Copied
                value={`<iframe src="${ADDRESS}/embedded/${seen.value.access_token}" width="100%" height="400"></iframe>`}
                what="the code"
              />
            </>
          )}
          {seen !== undefined && underWay.length === 0 && (
            <Group>
              <SharingSettings project={project} id={id} beside={beside} lacks={lacks} seen={seen} />
              {seen.value.enabled && (
                <ConfirmButton label="Change the link" scope="sharing_configuration:write" lacks={lacks} act={refresh}>
                  The present link stops working at once, and there is another one.
                </ConfirmButton>
              )}
            </Group>
          )}
        </Stack>
      </Modal>
      {notice}
    </>
  );
}
