import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

test('the index names every file of the folder once, and no other', () => {
  const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const named = [...text.matchAll(/`([a-z-]+(?:\.d)?\.ts)`/g)].map(([, name = '']) => name);
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const ordered = (names: readonly string[]) => names.toSorted((a, b) => a.localeCompare(b));
  expect(ordered(named)).toEqual(ordered(files));
});
