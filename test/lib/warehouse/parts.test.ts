import * as fc from 'fast-check';
import { piecesOf } from '../../../lib/warehouse/parts.ts';
import { propertyRuns } from '../../support/property-runs.ts';

test('lines that were cut anywhere come whole, and nothing else changes', async () => {
  const lines = fc.array(fc.array(fc.integer({ min: 32, max: 126 }), { maxLength: 8 }), { maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(lines, fc.array(fc.nat(90)), async (texts, cuts) => {
      const all = Buffer.from(texts.flatMap((text) => [...text, 10]));
      const edges = [0, ...cuts.filter((at) => at < all.length).toSorted((a, b) => a - b), all.length];
      const parts = edges.slice(1).map((edge, n) => all.subarray(edges[n], edge));
      const pieces: Buffer[] = [];
      for await (const piece of piecesOf(parts, { format: 'JSONLines', columns: [] })) pieces.push(piece);
      expect(Buffer.concat(pieces)).toEqual(all);
      for (const piece of pieces) expect(piece.at(-1)).toBe(10);
    }),
    { numRuns: propertyRuns(100) },
  );
});
