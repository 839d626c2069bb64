import * as fc from 'fast-check';
import type { Change } from '../../../../lib/accounts/activity/model.ts';
import {
  changesOf,
  changesText,
  creationChanges,
  nameText,
  patchActivity,
} from '../../../../lib/accounts/activity/rules.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

const FIELDS = { name: 'plain', tags: 'json', expires_at: 'instant' } as const;

test('what differs is told, as callers write it, and nothing else', () => {
  const before = { name: 'a', tags: '["x"]', expires_at: null, ver: 1 };
  const set = { name: 'b', tags: '["x"]', expires_at: Date.UTC(2026, 0, 1), ver: 2 };
  expect(changesOf(before, set, FIELDS)).toEqual([
    { action: 'changed', field: 'name', before: 'a', after: 'b' },
    { action: 'changed', field: 'expires_at', before: null, after: '2026-01-01T00:00:00Z' },
  ]);
  expect(changesOf(before, { tags: '{"a":[1]}' }, FIELDS)).toEqual([
    { action: 'changed', field: 'tags', before: ['x'], after: { a: [1] } },
  ]);
  expect(changesOf({}, { name: null }, FIELDS)).toEqual([]);
});

test('what was made is told with its fields', () => {
  expect(creationChanges({ name: 'a', tags: '[]', secret: 'x' }, FIELDS)).toEqual([
    { action: 'created', field: 'name', before: null, after: 'a' },
    { action: 'created', field: 'tags', before: null, after: [] },
    { action: 'created', field: 'expires_at', before: null, after: null },
  ]);
});

test('a PATCH of `deleted` deletes what is not deleted, and brings back what is', () => {
  const patches = [{}, { deleted: true }, { deleted: false }];
  expect(patches.map((patch) => patchActivity(false, patch))).toEqual(['updated', 'deleted', 'updated']);
  expect(patches.map((patch) => patchActivity(true, patch))).toEqual(['updated', 'updated', 'restored']);
});

const change = (after: unknown): Change => ({ action: 'changed', field: 'f', before: null, after });
const kept = (changes: readonly Change[]) => JSON.parse(changesText(changes)) as Change[];

test('long values are cut off as text, between characters', () => {
  const [text, object, emoji] = kept([
    change('x'.repeat(301)),
    change({ a: 'y'.repeat(400) }),
    change('😀'.repeat(200)),
  ]);
  expect(text?.after).toBe(`${'x'.repeat(300)}…`);
  expect(object?.after).toBe(`${JSON.stringify({ a: 'y'.repeat(400) }).slice(0, 300)}…`);
  expect(emoji?.after).toBe(`${'😀'.repeat(150)}…`);
  expect(nameText(`x${'😀'.repeat(200)}`)).toBe(`x${'😀'.repeat(149)}…`);
  expect([nameText(null), nameText('short')]).toEqual([null, 'short']);
});

test('whatever changed, an entry stays small and can be read back', () => {
  const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'grapheme', maxLength: 2_000 }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 60 }), (values) => {
      const text = changesText(values.map(change));
      expect(Buffer.byteLength(text)).toBeLessThan(100_000);
      expect(text.isWellFormed()).toBe(true);
      const read = JSON.parse(text) as Change[];
      expect(read).toHaveLength(Math.min(values.length, 40));
    }),
    { numRuns: propertyRuns(50) },
  );
});
