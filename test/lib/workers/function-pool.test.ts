import { lambdaFunction } from '../../../lib/ports/functions/lambda.ts';
import { MIB } from '../../../lib/ports/units.ts';
import { functionPool } from '../../../lib/workers/function-pool.ts';

test('a task that is larger than what Lambda hands a function is refused by name, and not sent', async () => {
  const send = jest.fn(async () => ({ Payload: Buffer.from(JSON.stringify({ result: 'done' })) }));
  const worker = lambdaFunction(async () => ({ send }), 'lake-worker');
  const pool = functionPool({ worker, ms: 1_000, clock: Date.now });
  const task = (bytes: number) =>
    pool.run({ name: 'answer', input: 'x'.repeat(bytes), owner: '', signal: AbortSignal.timeout(60_000) });
  expect(await task(5 * MIB)).toBe('done');
  await expect(task(6 * MIB)).rejects.toMatchObject({
    kind: 'validation',
    message: expect.stringContaining('more files of events than a function of AWS can be told of'),
  });
  expect(send).toHaveBeenCalledTimes(1);
});
