import { MIB } from '../../../lib/basics/units.ts';
import { lambdaFunction } from '../../../lib/ports/functions/lambda.ts';
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

test('a task that a function does not end in its time is lost, and one that nobody waits for says nothing', async () => {
  const [late, left] = [new AbortController(), new AbortController()];
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  try {
    const never = (_: unknown, signal?: AbortSignal) =>
      new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    const pool = functionPool({ worker: { call: never }, ms: 1_000, clock: Date.now });
    const task = { name: 'answer', input: null, owner: '' };
    const [waited, unwaited] = [pool.run(task), pool.run({ ...task, signal: left.signal })];
    await new Promise(setImmediate);
    left.abort(new Error('left'));
    await expect(unwaited).rejects.toThrow('left');
    late.abort(new DOMException('late', 'TimeoutError'));
    await expect(waited).rejects.toMatchObject({ loss: 'silence' });
  } finally {
    jest.restoreAllMocks();
  }
});

// As Lambda says it: https://github.com/aws-samples/amazon-textract-idp-cdk-constructs/issues/80
test.each([
  { errorMessage: '2026-11-28T03:00:00.000Z 0f6ddd4e-e46b-4aaf-83c0-00401695d21a Task timed out after 29.00 seconds' },
  { errorType: 'Sandbox.Timedout', errorMessage: 'RequestId: 0f6ddd4e Error: Task timed out after 29.00 seconds' },
])('a task of a function whose time is over is lost to silence, by name or by message: %j', async (said) => {
  const send = async () => ({ FunctionError: 'Unhandled', Payload: Buffer.from(JSON.stringify(said)) });
  const pool = functionPool({
    worker: lambdaFunction(async () => ({ send }), 'lake-worker'),
    ms: 1_000,
    clock: Date.now,
  });
  await expect(pool.run({ name: 'answer', input: null, owner: '' })).rejects.toMatchObject({ loss: 'silence' });
});
