/** Which project a token names. */

import { wasLately } from '../basics/lately.ts';
import { Recent } from '../basics/recent.ts';
import type { Context } from '../ports/context.ts';
import { keys } from '../ports/table/keys.ts';

export interface ProjectTokens {
  /** Returns the number of the token's project; null: there is none. */
  projectOf(token: string): Promise<number | null>;
}

/** So many answers are kept; a flood of wrong tokens takes no more. */
const MAX_KEPT = 10_000;

/**
 * Returns what looks tokens up in the table. An answer is believed for so long: a token that was just made may be unknown
 * then, and one that was just removed known. 0: each is looked up each time.
 */
export function projectTokens(
  { table, clock }: Pick<Context, 'table' | 'clock'>,
  { believedMs }: { readonly believedMs: number },
): ProjectTokens {
  const kept = new Recent<{ readonly at: number; readonly project: Promise<number | null> }>(MAX_KEPT);
  const look = async (token: string): Promise<number | null> =>
    (await table.get(keys.projectToken(token)))?.project_id ?? null;
  return {
    projectOf: (token) => {
      if (believedMs === 0) return look(token);
      const found = kept.get(token);
      const now = clock();
      if (found !== undefined && wasLately(found.at, now, believedMs)) return found.project;
      const project = look(token);
      kept.set(token, { at: now, project });
      // A failure is not an answer.
      project.catch(() => kept.delete(token));
      return project;
    },
  };
}
