import { TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { answered, api } from '../client/api.ts';
import { ADMIN } from '../client/organization.ts';
import { useNavigateFromHere } from './address.ts';
import { FormDialog } from './form-dialog.tsx';

interface NewProjectProps {
  readonly organization: string;
  readonly label?: string;
}

/** A button that makes a project in an organization, and leads to it. */
export function NewProject({ organization, label = 'New project' }: NewProjectProps) {
  const queries = useQueryClient();
  const navigate = useNavigateFromHere();
  return (
    <FormDialog
      label={label}
      scope="project:write"
      level={ADMIN}
      initial={{ name: '' }}
      does="Create"
      submit={async (body) => {
        const made = await answered(
          api.POST('/api/organizations/{organization_id}/projects/', {
            params: { path: { organization_id: organization } },
            body,
          }),
        );
        await queries.invalidateQueries();
        navigate({ to: `/projects/${made.id}/home` });
      }}
    >
      {(form) => <TextInput label="Name" required data-autofocus {...form.text('name')} />}
    </FormDialog>
  );
}
