import * as fc from 'fast-check';
import { tokenBucket } from '../../../../infra/local/gateway/token-bucket.ts';

test('lets a burst through, then the rate', () => {
  const isLetThrough = tokenBucket({ rate: 2, burst: 3 });
  expect([0, 0, 0, 0].map(isLetThrough)).toEqual([true, true, true, false]);
  expect([499, 500, 501].map(isLetThrough)).toEqual([false, true, false]);
  expect([60_000, 60_000, 60_000, 60_000].map(isLetThrough)).toEqual([true, true, true, false]);
});

test('is not confused by a clock that is set back', () => {
  const isLetThrough = tokenBucket({ rate: 1, burst: 1 });
  expect([10_000, 5_000, 5_999, 6_000].map(isLetThrough)).toEqual([true, false, false, true]);
});

test('in any stretch of time at most the burst and what the rate gives in it pass', () => {
  const gaps = fc.array(fc.nat(2_000), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }), (steps, rate, burst) => {
      const isLetThrough = tokenBucket({ rate, burst });
      const passed: number[] = [];
      let now = 0;
      for (const step of steps) {
        now += step;
        if (isLetThrough(now)) passed.push(now);
      }
      for (const [at, from] of passed.entries()) {
        for (const [more, to] of passed.slice(at).entries()) {
          expect(more + 1).toBeLessThanOrEqual(burst + ((to - from) * rate) / 1000 + 1e-6);
        }
      }
    }),
  );
});
