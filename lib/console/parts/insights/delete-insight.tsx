import { useQueryClient } from '@tanstack/react-query';
import { type Insight, insightName, setInsightDeleted } from '../../client/insights.ts';
import { useNavigateFromHere } from '../address.ts';
import { ConfirmButton } from '../confirm-button.tsx';
import { tellUndoable } from '../problem.tsx';

interface DeleteInsightProps {
  readonly project: string;
  readonly insight: Insight;
}

/** Deletes an insight, and offers for a while to bring it back. */
export function DeleteInsight({ project, insight }: DeleteInsightProps) {
  const queries = useQueryClient();
  const navigate = useNavigateFromHere();
  const set = async (deleted: boolean): Promise<void> => {
    await setInsightDeleted(project, insight.id, deleted);
    for (const list of ['insights', 'insight', 'dashboard'])
      await queries.invalidateQueries({
        queryKey: [list, project],
        refetchType: list === 'insight' ? 'none' : 'active',
      });
  };
  const remove = async (): Promise<void> => {
    await set(true);
    tellUndoable(`${insightName(insight, 'The insight')} is deleted.`, () => set(false));
    navigate({ to: `/projects/${project}/insights`, replace: true, ignoreBlocker: true });
  };
  return (
    <ConfirmButton label="Delete" scope="insight:write" act={remove}>
      The insight goes from all lists and dashboards. The list of deleted ones can bring it back.
    </ConfirmButton>
  );
}
