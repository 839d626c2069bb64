import { Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy } from 'react';
import type { Dashboard } from '../../client/dashboards.ts';
import { LoadedLater } from '../loaded-later.tsx';
import { Loading } from '../loading.tsx';
import { ScopedButton } from '../scoped-button.tsx';
import type { OwnChanges } from '../versioned-write.tsx';

const AccessRules = lazy(() => import('./access-rules.tsx'));

interface AccessProps {
  readonly project: string;
  readonly id: number;
  /** Does what makes another version of the dashboard. */
  readonly beside: OwnChanges<Dashboard>['beside'];
}

/** Who may see a dashboard. */
export function Access(props: AccessProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ScopedButton scope="access_control:read" variant="default" size="xs" onClick={open}>
        Access
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title="Access" size="lg">
        <LoadedLater fallback={<Loading />}>
          <AccessRules {...props} />
        </LoadedLater>
      </Modal>
    </>
  );
}
