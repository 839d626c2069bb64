import { Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy } from 'react';
import { LoadedLater } from '../loaded-later.tsx';
import { Loading } from '../loading.tsx';
import { ScopedButton } from '../scoped-button.tsx';

const AccessRules = lazy(() => import('./access-rules.tsx'));

interface AccessProps {
  readonly project: string;
  readonly id: number;
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
