import { pooledPersonRemoval } from '../../../../lib/lake/import/person-removal.ts';
import { ImportUnderWay } from '../../../../lib/lake/lease.ts';
import { ranges } from '../../../../lib/ports/table/keys.ts';
import { listAll } from '../../../../lib/ports/table/list-all.ts';
import { WorkerLost } from '../../../../lib/workers/pool.ts';
import { LineFull } from '../../../../lib/workers/turns.ts';
import { testContext } from '../../../support/context.ts';

const PROJECT = 7;

/** A removal whose first tasks fail so, and how many tasks there were. */
function removal(error: Error, failures = Infinity) {
  let tasks = 0;
  const run = async (): Promise<unknown> => {
    tasks += 1;
    if (tasks <= failures) throw error;
    return undefined;
  };
  const context = testContext();
  const remove = (withEvents = false) =>
    pooledPersonRemoval({ run }, context, 0).remove(
      { projectId: PROJECT, persons: [{ distinctId: 'ada', person: { id: 'p', version: 1 }, withEvents }] },
      'o',
    );
  const recorded = async () => (await listAll(context.table, ranges.personDeletions(PROJECT))).length;
  return { remove, tasks: () => tasks, recorded };
}

test('a landing that has the project is waited for, an import is not', async () => {
  const landing = removal(new ImportUnderWay('x'), 3);
  await landing.remove();
  expect(landing.tasks()).toBe(4);
  await expect(removal(new ImportUnderWay('x')).remove()).rejects.toMatchObject({ kind: 'conflict' });
});

test.each([
  ['a full line', new LineFull('x'), { kind: 'throttled', headers: { 'Retry-After': '10' } }],
  ['a worker that died', new WorkerLost('died', 'x'), { kind: 'unavailable' }],
])('what cannot be done now is told in a sentence: %s', async (_, error, failure) => {
  await expect(removal(error).remove()).rejects.toMatchObject(failure);
});

test('a deletion with events whose worker is lost is told as one that will be done, as a job finishes it', async () => {
  const { remove, tasks, recorded } = removal(new WorkerLost('silence', 'x'));
  expect(await remove(true)).toBe('asked');
  expect([tasks(), await recorded()]).toEqual([1, 1]);
});

test.each([
  ['is done', new ImportUnderWay('x'), 1, 0],
  ['was not begun, beside an import', new ImportUnderWay('x'), Infinity, 0],
  ['was not begun, for the line was full', new LineFull('x'), Infinity, 0],
  ['was cut by the end of its worker', new WorkerLost('died', 'x'), Infinity, 1],
  ['failed on the way', new Error('x'), Infinity, 1],
])('a deletion with events that %s is left to a job only if something is left', async (_, error, failures, left) => {
  const { remove, recorded } = removal(error, failures);
  await remove(true).catch(() => {});
  expect(await recorded()).toBe(left);
});
