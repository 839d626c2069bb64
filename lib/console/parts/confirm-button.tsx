import { type ButtonProps, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormDialog } from './form-dialog.tsx';
import type { Needed } from './scoped-button.tsx';

interface ConfirmButtonProps extends Omit<ButtonProps, 'children'>, Needed {
  readonly label: string;
  /** What happens, in a sentence. */
  readonly children: ReactNode;
  /** A name that must be typed again before. */
  readonly typed?: string;
  readonly act: () => Promise<unknown>;
}

/** A button that asks once more before it does what cannot be undone. */
export function ConfirmButton({ label, children, typed, act, ...rest }: ConfirmButtonProps) {
  return (
    <FormDialog
      label={label}
      initial={{ again: '' }}
      submit={act}
      does={label}
      cancel="Keep it"
      isDangerous
      isReady={({ again }) => typed === undefined || again === typed}
      {...rest}
    >
      {(form) => (
        <>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {children}
          </Text>
          {typed !== undefined && <TextInput label="Type the name again" description={typed} {...form.text('again')} />}
        </>
      )}
    </FormDialog>
  );
}
