/** Answers to queries are kept for days, and rows about a person may be in them: with the person they are forgotten. */
import { keys, ranges } from '../ports/table/keys.ts';
import { pagesOf } from '../ports/table/list-all.ts';
import type { Op, Table } from '../ports/table/table.ts';
import { tryWrite } from '../ports/table/until-written.ts';

/** Answers may be large, and so many are read at once. */
const FORGOTTEN_AT_ONCE = 50;

/**
 * Has no answer of the project told any more that was asked for until now, one that is under way included: its project has
 * another number of answers that were forgotten, with which none is found of before, in whichever process. One write, whatever
 * is kept: what lies in the table is left to `removeForgottenAnswers`.
 */
export async function hideAnswers(table: Table, projectId: number): Promise<void> {
  await tryWrite(table, [{ change: keys.project(projectId), add: { answers_forgotten: 1 }, if: 'present' }]);
}

/**
 * Removes what the table has of answers that nobody finds any more. Those that a death leaves go with the next call, or by
 * themselves when their time is over.
 */
export async function removeForgottenAnswers(table: Table, projectId: number): Promise<void> {
  const project = await table.get(keys.project(projectId));
  const found = keys.answer(projectId, project?.answers_forgotten ?? 0, '').sk;
  for await (const items of pagesOf(table, ranges.answersOf(projectId), FORGOTTEN_AT_ONCE)) {
    const forgotten = items.filter(({ sk }) => !sk.startsWith(found));
    if (forgotten.length > 0)
      await table.write(
        forgotten.map(({ pk, sk }): Op => ({ remove: { pk, sk } })),
        { apart: true },
      );
  }
}

/** Has no answer told any more that was asked for until now, and removes them. Called again after a death anywhere, it goes on. */
export async function forgetAnswers(table: Table, projectId: number): Promise<void> {
  await hideAnswers(table, projectId);
  await removeForgottenAnswers(table, projectId);
}
