import { Textarea } from '@mantine/core';
import type { Schemas } from '../../client/api.ts';
import { FormDialog } from '../form-dialog.tsx';

interface TextTileFormProps {
  readonly write: (change: Schemas['DashboardsUpdateRequest']) => Promise<void>;
}

/** Adds a tile with a text. */
export function TextTileForm({ write }: TextTileFormProps) {
  return (
    <FormDialog
      label="Add text"
      scope="dashboard:write"
      initial={{ body: '' }}
      does="Add"
      submit={({ body }) => write({ tiles: [{ text: { body } }] })}
    >
      {(form) => (
        <Textarea label="Text" description="Markdown" required rows={4} data-autofocus {...form.text('body')} />
      )}
    </FormDialog>
  );
}
