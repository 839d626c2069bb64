import { pooledPersonRemoval } from '../../../../lib/lake/import/person-removal.ts';
import { ImportUnderWay } from '../../../../lib/lake/lease.ts';
import { WorkerLost } from '../../../../lib/workers/pool.ts';
import { LineFull } from '../../../../lib/workers/turns.ts';

const PERSON = { projectId: 7, persons: [{ distinctId: 'ada', person: { id: 'p', version: 1 } }] };

/** A removal whose first tasks fail so, and how many tasks there were. */
function removal(error: Error, failures = Infinity) {
  let tasks = 0;
  const run = async (): Promise<unknown> => {
    tasks += 1;
    if (tasks <= failures) throw error;
    return undefined;
  };
  return { remove: () => pooledPersonRemoval({ run }, 0).remove(PERSON, 'o'), tasks: () => tasks };
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
