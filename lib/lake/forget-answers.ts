/** Answers to queries are kept for days, and rows about a person may be in them: with the person they are forgotten. */
import { keys, ranges } from '../ports/table/keys.ts';
import { pagesOf } from '../ports/table/list-all.ts';
import type { Op, Table } from '../ports/table/table.ts';
import { isWritten } from '../ports/table/until-written.ts';

/** Answers may be large, and so many are read at once. */
const FORGOTTEN_AT_ONCE = 50;

/**
 * Has no answer of the project told any more that was asked for until now, one that is under way included: its project has
 * another number of answers that were forgotten, with which none is found of before, in whichever process. Those in the
 * table are removed. Called again after a death anywhere, it goes on.
 */
export async function forgetAnswers(table: Table, projectId: number): Promise<void> {
  await isWritten(table, [{ change: keys.project(projectId), add: { answers_forgotten: 1 }, if: 'present' }]);
  for await (const items of pagesOf(table, ranges.answersOf(projectId), FORGOTTEN_AT_ONCE))
    await table.write(
      items.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
      { apart: true },
    );
}
