import * as fc from 'fast-check';
import { Recent } from '../../../lib/basics/recent.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const MOST = 10;

test('what was used last is kept, as much as fits, and a name has its last value', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    size: fc.option(fc.integer({ min: 1, max: 12 })),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const recent = new Recent<number>(MOST, (size) => size);
      // Those used last at the beginning.
      let all: (readonly [string, number])[] = [];
      for (const { name, size } of steps) {
        const known = all.find(([other]) => other === name);
        all = all.filter((one) => one !== known);
        const own = size === null ? known?.[1] : size;
        if (size !== null) recent.set(name, size);
        const isKept = own !== undefined && own <= MOST;
        expect(recent.get(name)).toBe(isKept ? own : undefined);
        if (isKept) all.unshift([name, own]);
        while (all.reduce((sum, [, one]) => sum + one, 0) > MOST) all.pop();
        for (const other of ['a', 'b', 'c', 'd']) expect(recent.has(other)).toBe(all.some(([one]) => one === other));
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});
