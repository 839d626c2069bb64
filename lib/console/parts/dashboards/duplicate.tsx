import { Checkbox, TextInput } from '@mantine/core';
import type { Dashboard } from '../../client/dashboards.ts';
import { FormDialog } from '../form-dialog.tsx';
import { useMakeDashboard } from './make-dashboard.ts';

interface DuplicateProps {
  readonly project: string;
  readonly value: Dashboard;
}

/** Makes a dashboard of another one's tiles. */
export function Duplicate({ project, value }: DuplicateProps) {
  const make = useMakeDashboard(project);
  const { id, description, tags, filters, variables } = value;
  return (
    <FormDialog
      label="Duplicate"
      scope="dashboard:write"
      initial={{ name: `${value.name} (copy)`, duplicate_tiles: false }}
      does="Make the copy"
      submit={(form) => make({ ...form, description, tags, filters, variables, use_dashboard: id })}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.text('name')} />
          <Checkbox
            label="Copies of the insights too"
            description="Else both dashboards show the same ones."
            {...form.tick('duplicate_tiles')}
          />
        </>
      )}
    </FormDialog>
  );
}
