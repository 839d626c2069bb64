import { Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { lazy, Suspense } from 'react';
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
        <Suspense fallback={<Loading />}>
          <AccessRules {...props} />
        </Suspense>
      </Modal>
    </>
  );
}
