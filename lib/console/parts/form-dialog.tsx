import { Button, type ButtonProps, Group, Modal, type ModalProps, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useRef } from 'react';
import { sessionKey } from '../client/session.ts';
import { type Form, useForm } from './form.ts';
import { Problem } from './problem.tsx';
import { type Needed, ScopedButton } from './scoped-button.tsx';
import { useUnsaved } from './unsaved.tsx';

interface FormDialogProps<Values extends object> extends Omit<ButtonProps, 'children'>, Needed {
  /** What the button says, and the dialog that it opens. */
  readonly label: string;
  /** What the fields hold whenever the dialog is opened. */
  readonly initial: Values;
  /** Is called when it opens: what is changed later is not what the fields began with. */
  readonly opened?: () => void;
  readonly children: (form: Form<Values>) => ReactNode;
  /** Which fields show by themselves what is wrong with them. */
  readonly fields?: readonly string[];
  /** The dialog closes when it is done, and not before: what it is refused for stands beside what was written. */
  readonly submit: (values: Values) => Promise<unknown>;
  /** What the button says that does it. */
  readonly does: string;
  /** What the button says that does not; absent: there is none. */
  readonly cancel?: string;
  readonly isDangerous?: boolean;
  readonly isReady?: (values: Values) => boolean;
  readonly dialogSize?: ModalProps['size'];
}

/** A button that opens a form. */
export function FormDialog<Values extends object>({
  label,
  initial,
  opened,
  children,
  fields = Object.keys(initial),
  submit,
  does,
  cancel,
  isDangerous = false,
  isReady = () => true,
  dialogSize = 'md',
  ...button
}: FormDialogProps<Values>) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const form = useForm(initial);
  const { values, error, isBusy } = form;
  const isSending = useRef(false);
  // What is typed to confirm something is nothing that anybody misses.
  const unsaved = useUnsaved(isOpen && form.isChanged && !isDangerous, isSending);
  const begin = (): void => {
    form.begin();
    opened?.();
    open();
  };
  const dismiss = (): void => {
    // By Escape it would also be closed below the form that signs in again.
    if (!isBusy && sessionKey() !== null) unsaved.leave(close);
  };
  const send = async (): Promise<void> => {
    isSending.current = true;
    try {
      await submit(values);
      close();
    } finally {
      isSending.current = false;
    }
  };
  return (
    <>
      <ScopedButton variant="default" size="xs" {...button} onClick={begin}>
        {label}
      </ScopedButton>
      {/* A click beside it is a slip as often as not, and would take along what was written. */}
      <Modal
        opened={isOpen}
        onClose={dismiss}
        closeOnEscape={!unsaved.isAsked}
        closeOnClickOutside={false}
        title={label}
        size={dialogSize}
      >
        <form onSubmit={form.sends(send)}>
          <Stack>
            {children(form)}
            <Problem error={error} fields={fields} />
            <Group justify="end">
              {cancel !== undefined && (
                <Button variant="default" disabled={isBusy} onClick={dismiss}>
                  {cancel}
                </Button>
              )}
              <Button
                type="submit"
                loading={isBusy}
                disabled={!isReady(values)}
                {...(isDangerous ? { color: 'red' } : {})}
              >
                {does}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
      {unsaved.question}
    </>
  );
}
