import type { Dashboard } from '../../client/dashboards.ts';
import type { OwnChanges } from '../versioned-write.tsx';

/** What a part of a dashboard's page takes that changes the dashboard in another way than by a write of it. */
export interface OfBoard {
  readonly project: string;
  readonly id: number;
  /** Does what makes another version of the dashboard. */
  readonly beside: OwnChanges<Dashboard>['beside'];
}
