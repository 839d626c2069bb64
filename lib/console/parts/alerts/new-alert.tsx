import { useQueryClient } from '@tanstack/react-query';
import { areTurned, NEW_ALERT, sentAlert } from '../../client/alerts.ts';
import { answered, api } from '../../client/api.ts';
import type { Insight } from '../../client/insights.ts';
import { useNavigateFromHere } from '../address.ts';
import { FormDialog } from '../form-dialog.tsx';
import { AlertFields, SHOWN_FIELDS } from './alert-fields.tsx';

interface NewAlertProps {
  readonly project: string;
  /** What it watches. */
  readonly insight: Insight;
}

/** Makes an alert of an insight. */
export function NewAlert({ project, insight }: NewAlertProps) {
  const queries = useQueryClient();
  const navigate = useNavigateFromHere();
  return (
    <FormDialog
      label="New alert"
      scope="alert:write"
      variant="filled"
      size="sm"
      dialogSize="lg"
      initial={NEW_ALERT}
      fields={SHOWN_FIELDS}
      does="Make the alert"
      isReady={(values) => !areTurned(values)}
      submit={async (values) => {
        const made = await answered(
          api.POST('/api/projects/{project_id}/alerts/', {
            params: { path: { project_id: project } },
            body: { insight: insight.id, ...sentAlert(values) },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['alerts', project] });
        navigate({ to: `/projects/${project}/alerts/${made.id}` });
      }}
    >
      {(form) => <AlertFields form={form} project={project} query={insight.query} />}
    </FormDialog>
  );
}
