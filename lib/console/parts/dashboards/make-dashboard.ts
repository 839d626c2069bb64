import { answered, api, type Schemas } from '../../client/api.ts';
import { useNavigateFromHere } from '../address.ts';
import { useRenew } from '../renew.ts';

/** Returns what makes a dashboard, and goes to its page. */
export function useMakeDashboard(project: string) {
  const navigate = useNavigateFromHere();
  const renew = useRenew();
  return async (body: Schemas['DashboardsCreateRequest']): Promise<void> => {
    const params = { path: { project_id: project } };
    const made = await answered(api.POST('/api/projects/{project_id}/dashboards/', { params, body }));
    await renew('dashboards');
    navigate({ to: `/projects/${project}/dashboards/${made.id}` });
  };
}
