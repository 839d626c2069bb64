import { Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../../client/api.ts';
import type { Dashboard } from '../../client/dashboards.ts';
import { useNavigateFromHere } from '../address.ts';
import { FormDialog } from '../form-dialog.tsx';

interface DuplicateProps {
  readonly project: string;
  readonly value: Dashboard;
}

/** Makes a dashboard of another one's tiles. */
export function Duplicate({ project, value }: DuplicateProps) {
  const navigate = useNavigateFromHere();
  const queries = useQueryClient();
  const { id, description, tags, filters, variables } = value;
  return (
    <FormDialog
      label="Duplicate"
      scope="dashboard:write"
      initial={{ name: `${value.name} (copy)`, duplicate_tiles: false }}
      does="Make the copy"
      submit={async ({ name, duplicate_tiles }) => {
        const made = await answered(
          api.POST('/api/projects/{project_id}/dashboards/', {
            params: { path: { project_id: project } },
            body: { name, description, tags, filters, variables, use_dashboard: id, duplicate_tiles },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['dashboards', project] });
        navigate({ to: `/projects/${project}/dashboards/${made.id}` });
      }}
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
