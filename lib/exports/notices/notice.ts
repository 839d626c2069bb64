import { jobOps } from '../../jobs/job.ts';
import type { Op } from '../../ports/table/table.ts';

/** What a notice tells of. Instants are milliseconds since 1970. */
export interface Notice {
  readonly export: string;
  readonly type: 'run_failed' | 'backfill_failed' | 'paused';
  /** The run or the backfill; of a pause, the export. */
  readonly subject: string;
  /** The failed range; of a pause, null. */
  readonly range: { readonly start: number; readonly end: number } | null;
  readonly reason: string;
  /** When it happened. */
  readonly at: number;
}

/** Returns the op that lets a notice be sent, for the transaction of what it tells of. `id`: one for each event. */
export const noticeOps = (id: string, notice: Notice): Op[] => jobOps('notice', id, notice.at, notice);
