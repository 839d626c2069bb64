import { useQueryClient } from '@tanstack/react-query';
import { answered, api, type Schemas } from '../../client/api.ts';
import { useNavigateFromHere } from '../address.ts';

/** Returns what makes a dashboard, and goes to its page. */
export function useMakeDashboard(project: string) {
  const navigate = useNavigateFromHere();
  const queries = useQueryClient();
  return async (body: Schemas['DashboardsCreateRequest']): Promise<void> => {
    const params = { path: { project_id: project } };
    const made = await answered(api.POST('/api/projects/{project_id}/dashboards/', { params, body }));
    await queries.invalidateQueries({ queryKey: ['dashboards', project] });
    navigate({ to: `/projects/${project}/dashboards/${made.id}` });
  };
}
