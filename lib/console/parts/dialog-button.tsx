import { Modal, type ModalProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { ScopedButton } from './scoped-button.tsx';

interface DialogButtonProps {
  /** What the button says, and the dialog that it opens. */
  readonly label: string;
  readonly scope: string;
  readonly dialogSize?: ModalProps['size'];
  readonly children: ReactNode;
}

/** A button that opens a dialog, whose content is there as long as it is open. */
export function DialogButton({ label, scope, dialogSize, children }: DialogButtonProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ScopedButton scope={scope} variant="default" size="xs" onClick={open}>
        {label}
      </ScopedButton>
      <Modal opened={isOpen} onClose={close} title={label} size={dialogSize}>
        {children}
      </Modal>
    </>
  );
}
