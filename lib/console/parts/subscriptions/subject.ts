import { useDashboard } from '../../client/dashboards.ts';
import { insightName, useInsight } from '../../client/insights.ts';
import type { Option } from '../../client/json.ts';
import type { Subject } from '../../client/subscriptions.ts';

interface KnownSubject {
  readonly name: string;
  /** Its page. */
  readonly to: string;
  /** The insights of a dashboard to choose from; undefined: it is an insight. */
  readonly insights: readonly Option<string>[] | undefined;
}

/** Returns what is known of a dashboard or an insight that is sent; undefined: nothing yet. */
export function useSubject(project: string, { dashboard, insight }: Subject): KnownSubject | undefined {
  const board = useDashboard(project, dashboard === undefined ? undefined : String(dashboard)).data?.value;
  const one = useInsight(project, insight === undefined ? undefined : String(insight)).data?.value;
  if (board !== undefined) {
    const shown = board.tiles.flatMap((tile) => tile.insight ?? []);
    return {
      name: board.name || 'Untitled',
      to: `/projects/${project}/dashboards/${board.id}`,
      insights: shown.map((one) => ({ value: String(one.id), label: insightName(one, `Insight ${one.id}`) })),
    };
  }
  if (one === undefined) return undefined;
  return {
    name: insightName(one),
    to: `/projects/${project}/insights/${one.id}`,
    insights: undefined,
  };
}
