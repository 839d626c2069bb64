import { again } from '../../../infra/local/again.ts';
import { testContext } from '../../support/context.ts';

/** Something that is done each half a second, by a timer that rings when the test says so. */
function doing(run: () => Promise<unknown>) {
  const { log, lines } = testContext();
  const waits: number[] = [];
  let ring = (): void => {};
  const timer = (milliseconds: number, rings: () => void) => {
    waits.push(milliseconds);
    ring = rings;
    return () => {};
  };
  const done = again(run, { intervalMs: 500, failure: 'it failed', log, timer });
  const next = async (): Promise<void> => {
    ring();
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  return { ...done, waits, next, lines };
}

test('what fails is done again after pauses that grow up to a minute, and in its time once it is well', async () => {
  let isDown = false;
  const { waits, next, lines } = doing(() =>
    isDown ? Promise.reject(new Error('The disk is full.')) : Promise.resolve(),
  );
  await next();
  await next();
  isDown = true;
  for (let n = 0; n < 9; n += 1) await next();
  isDown = false;
  await next();
  await next();
  const failing = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000];
  expect(waits.slice(-13)).toEqual([500, 500, ...failing, 500, 500]);
  const told = lines.filter(({ message }) => message === 'it failed');
  expect(told).toHaveLength(9);
  expect(told[0]).toMatchObject({ level: 'ERROR', fields: { reason: 'The disk is full.' } });
});

test('a stop waits for what is being done, and nothing is done after it', async () => {
  const finish = Promise.withResolvers<void>();
  let calls = 0;
  const it = doing(() => {
    calls += 1;
    return finish.promise;
  });
  let isStopped = false;
  const stopped = it.stop().then(() => (isStopped = true));
  await Promise.resolve();
  expect(isStopped).toBe(false);
  finish.resolve();
  await stopped;
  expect([calls, it.waits]).toEqual([1, []]);
});

test('what fails for want of room on the disk is told in words', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const { next, lines } = doing(() => Promise.reject(full));
  await next();
  expect(lines[0]).toMatchObject({
    fields: { reason: 'The disk of the service is full: space must be freed there.' },
  });
});
