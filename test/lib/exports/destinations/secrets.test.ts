import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import type { Config } from '../../../../lib/exports/destinations/destination.ts';
import { merge, splitSecrets } from '../../../../lib/exports/destinations/secrets.ts';

const isConfig = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Jest's own equality stumbles over keys named `constructor` and `__proto__`. */
const isSame = isDeepStrictEqual;

describe('merging', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer()));
  const key = fc.oneof(fc.constantFrom('a', 'b', 'secret', '__proto__', 'constructor'), fc.string());
  const { config } = fc.letrec<{ config: Config; value: unknown }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, leaf, tie('config')),
    config: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
  }));
  test('nothing changes nothing', () => {
    fc.assert(
      fc.property(config, (base) => {
        expect(isSame(merge(base, {}), base)).toBe(true);
        expect(isSame(merge({}, base), base)).toBe(true);
        expect(isSame(merge(base, base), base)).toBe(true);
      }),
    );
  });

  test('every key that was sent has the value sent, every other its own', () => {
    const own = (from: Config, name: string) => (Object.hasOwn(from, name) ? from[name] : undefined);
    const isMerged = (base: Config, over: Config, merged: Config): boolean =>
      isSame(new Set(Object.keys(merged)), new Set([...Object.keys(base), ...Object.keys(over)])) &&
      Object.entries(merged).every(([name, value]) => {
        const [before, sent] = [own(base, name), own(over, name)];
        if (!Object.hasOwn(over, name)) return isSame(value, before);
        return isConfig(before) && isConfig(sent) ? isMerged(before, sent, value as Config) : isSame(value, sent);
      });
    fc.assert(fc.property(config, config, (base, over) => expect(isMerged(base, over, merge(base, over))).toBe(true)));
  });

  test('does not touch what it was given', () => {
    fc.assert(
      fc.property(config, config, (base, over) => {
        const before = JSON.stringify([base, over]);
        merge(base, over);
        expect(JSON.stringify([base, over])).toBe(before);
      }),
    );
  });

  test('puts together what splitting took apart, and the open part holds no secret', () => {
    const names = (value: Config): string[] =>
      Object.entries(value).flatMap(([name, inner]) => [name, ...(isConfig(inner) ? names(inner) : [])]);
    fc.assert(
      fc.property(config, (whole) => {
        const { open, secret } = splitSecrets(whole, ['secret', 'constructor']);
        expect(names(open)).not.toContain('secret');
        expect(names(open)).not.toContain('constructor');
        expect(isSame(merge(open, secret), whole)).toBe(true);
      }),
    );
  });
});
