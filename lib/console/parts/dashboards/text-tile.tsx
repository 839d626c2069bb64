import { Textarea } from '@mantine/core';
import type { Versioned } from '../../client/api.ts';
import type { Dashboard } from '../../client/dashboards.ts';
import type { Form } from '../form.ts';
import { FormDialog } from '../form-dialog.tsx';
import type { Needed } from '../scoped-button.tsx';

const field = (form: Form<{ body: string }>) => (
  <Textarea label="Text" description="Markdown" required autosize minRows={4} data-autofocus {...form.text('body')} />
);

interface NewTextProps extends Pick<Needed, 'lacks'> {
  readonly add: (body: string) => Promise<unknown>;
}

/** Adds a tile with a text. */
export function NewText({ add, lacks }: NewTextProps) {
  return (
    <FormDialog
      label="Add text"
      scope="dashboard:write"
      lacks={lacks}
      initial={{ body: '' }}
      does="Add"
      submit={({ body }) => add(body)}
    >
      {field}
    </FormDialog>
  );
}

interface EditTextProps {
  readonly body: string;
  readonly seen: Versioned<Dashboard>;
  /** Writes the text over the version that was there when the dialog was opened. */
  readonly write: (body: string, seen: Versioned<Dashboard>) => Promise<unknown>;
}

/** Changes the text of a tile. */
export function EditText({ body: initial, seen, write }: EditTextProps) {
  return (
    <FormDialog
      label="Edit"
      scope="dashboard:write"
      size="compact-xs"
      dialogSize="lg"
      initial={{ body: initial }}
      seen={seen}
      does="Save"
      submit={({ body }, edited) => write(body, edited.seen)}
    >
      {field}
    </FormDialog>
  );
}
