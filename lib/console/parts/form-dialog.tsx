import { Button, type ButtonProps, Group, Modal, type ModalProps, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type ReactNode, useRef, useState } from 'react';
import { sessionKey } from '../client/session.ts';
import { type Form, useForm } from './form.ts';
import { Problem } from './problem.tsx';
import { type Needed, ScopedButton } from './scoped-button.tsx';
import { useUnsaved } from './unsaved.tsx';

interface FormDialogProps<Values extends object, Seen> extends Omit<ButtonProps, 'children'>, Needed {
  /** What the button says, and the dialog that it opens. */
  readonly label: string;
  /** What the fields hold whenever the dialog is opened. */
  readonly initial: Values;
  /** What the fields are of: what it is when the dialog is opened stays `seen` until it is closed. */
  readonly seen?: Seen;
  readonly children: (form: Form<Values>, seen: Seen) => ReactNode;
  /** Which fields show by themselves what is wrong with them. */
  readonly fields?: readonly string[];
  /** The dialog closes when it is done, and not before: what it is refused for stands beside what was written. */
  readonly submit: (
    values: Values,
    edited: { readonly changed: Partial<Values>; readonly seen: Seen },
  ) => Promise<unknown>;
  /** What the button says that does it. */
  readonly does: string;
  /** What the button says that does not; absent: there is none. */
  readonly cancel?: string;
  readonly isDangerous?: boolean;
  readonly isReady?: (values: Values) => boolean;
  readonly dialogSize?: ModalProps['size'];
}

/** A button that opens a form. */
export function FormDialog<Values extends object, Seen = undefined>({
  label,
  initial,
  seen,
  children,
  fields = Object.keys(initial),
  submit,
  does,
  cancel,
  isDangerous = false,
  isReady = () => true,
  dialogSize = 'md',
  ...button
}: FormDialogProps<Values, Seen>) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const form = useForm(initial);
  const [seenThen, setSeenThen] = useState(seen as Seen);
  const { values, changed, error, isBusy } = form;
  const isSending = useRef(false);
  // What is typed to confirm something is nothing that anybody misses.
  const unsaved = useUnsaved(isOpen && Object.keys(changed).length > 0 && !isDangerous, isSending);
  const begin = (): void => {
    form.begin();
    setSeenThen(seen as Seen);
    open();
  };
  const dismiss = (): void => {
    // By Escape it would also be closed below the form that signs in again.
    if (!isBusy && sessionKey() !== null) unsaved.leave(close);
  };
  const send = async (): Promise<void> => {
    isSending.current = true;
    try {
      await submit(values, { changed, seen: seenThen });
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
            {children(form, seenThen)}
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
