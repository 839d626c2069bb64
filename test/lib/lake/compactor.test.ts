import { MINUTE_MS } from '../../../lib/basics/units.ts';
import { pooledCompactor } from '../../../lib/lake/compactor.ts';

const JOINED = { joined: 3, next: null, isCut: false };

function world() {
  const state = { now: 1_000_000, isDelivering: true };
  const walked: string[] = [];
  const run = ({ owner }: { readonly owner: string }) => {
    walked.push(owner);
    return Promise.resolve(JOINED);
  };
  const compactor = pooledCompactor({ run }, { isDelivering: () => state.isDelivering, clock: () => state.now });
  return { state, walked, compactor };
}

test('files are joined at once while nothing is delivered', async () => {
  const { state, walked, compactor } = world();
  state.isDelivering = false;
  expect(await compactor.compact(7)).toEqual(JOINED);
  expect(walked).toEqual(['7']);
});

test('they wait for deliveries, and are looked at again in a minute', async () => {
  const { state, walked, compactor } = world();
  expect(await compactor.compact(7)).toEqual({ joined: 0, next: state.now + MINUTE_MS, isCut: false });
  state.isDelivering = false;
  expect(await compactor.compact(7)).toEqual(JOINED);
  expect(walked).toEqual(['7']);
});

test('deliveries without an end hold those of no project up for longer than fifteen minutes', async () => {
  const { state, walked, compactor } = world();
  await compactor.compact(7);
  state.now += 14 * MINUTE_MS;
  await compactor.compact(7);
  await compactor.compact(8);
  expect(walked).toEqual([]);
  state.now += MINUTE_MS;
  expect(await compactor.compact(7)).toEqual(JOINED);
  expect((await compactor.compact(8)).joined).toBe(0);
  // They wait anew after they were joined.
  expect((await compactor.compact(7)).joined).toBe(0);
  expect(walked).toEqual(['7']);
});
