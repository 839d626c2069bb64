import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { array, assert, asyncProperty, nat, string, tuple } from 'fast-check';
import { type Packing, packed, packedApart } from '../../../lib/warehouse/packing.ts';
import { propertyRuns } from '../../support/property-runs.ts';

const UNPACK = { gzip: gunzipSync, brotli: brotliDecompressSync };
/** Pieces of whole lines; some are so long that another thread packs them. */
const piece = tuple(string({ minLength: 1, unit: 'grapheme' }), nat(20_000)).map(([text, times]) =>
  Buffer.from(`${text}\n`.repeat(times + 1)),
);
const interval = array(piece, { minLength: 1, maxLength: 4 });

async function* source(intervals: readonly Buffer[][]): AsyncGenerator<Buffer[]> {
  yield* intervals;
}

async function collected<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

describe.each<Packing>(['gzip', 'brotli'])('lines packed with %s', (packing) => {
  const apart = (intervals: readonly Buffer[][]): Promise<Buffer[][]> =>
    collected(packedApart(source(intervals), { format: 'JSONLines', packing }));

  test('have, interval by interval, the bytes that each has alone', async () => {
    await assert(
      asyncProperty(array(interval, { minLength: 1, maxLength: 3 }), async (intervals) => {
        const together = (await apart(intervals)).map((pieces) => Buffer.concat(pieces));
        for (const [n, lines] of intervals.entries()) {
          const alone = Buffer.concat(await collected(packed(lines, packing)));
          expect(together[n]?.equals(alone)).toBe(true);
          expect(UNPACK[packing](alone).equals(Buffer.concat(lines))).toBe(true);
        }
        expect(together).toHaveLength(intervals.length);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  test('are no bytes where an interval has none', async () => {
    expect(await apart([[], []])).toEqual([[], []]);
  });
});
