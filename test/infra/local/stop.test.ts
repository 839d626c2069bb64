import { firstThrown, stopInTime } from '../../../infra/local/stop.ts';
import { testContext } from '../../support/context.ts';

/** A timer that rings when it is told. */
function bell() {
  let ring = (): void => {};
  const waits: number[] = [];
  const timer = (milliseconds: number, call: () => void) => {
    waits.push(milliseconds);
    ring = call;
    return () => void waits.pop();
  };
  return { timer, waits, ring: () => ring() };
}

const messages = ({ lines }: ReturnType<typeof testContext>) => lines.map(({ level, message }) => [level, message]);

test('a service that has stopped ends its process with 0, and nothing is waited for', async () => {
  const context = testContext();
  const { timer, waits } = bell();
  expect(await stopInTime({ stop: async () => {} }, context.log, timer)).toBe(0);
  expect(waits).toEqual([]);
  expect(messages(context)).toEqual([]);
});

test('a service that does not come to an end is left after 20 seconds', async () => {
  const context = testContext();
  const { timer, waits, ring } = bell();
  const code = stopInTime({ stop: () => new Promise(() => {}) }, context.log, timer);
  expect(waits).toEqual([20_000]);
  ring();
  expect(await code).toBe(0);
  expect(messages(context)).toEqual([['WARNING', 'ends before all has ended; the next start goes on with it']]);
});

test('a service that cannot stop ends its process with 1', async () => {
  const context = testContext();
  const stop = () => Promise.reject(new Error('the disk is gone'));
  expect(await stopInTime({ stop }, context.log, bell().timer)).toBe(1);
  expect(messages(context)).toEqual([['ERROR', 'could not stop cleanly']]);
});

test('of what failed while a service stopped, the first is told', () => {
  const [first, later] = [new Error('the disk is gone'), new Error('it is closed')];
  expect(firstThrown(new SuppressedError(later, first))).toBe(first);
  expect(firstThrown(first)).toBe(first);
});
