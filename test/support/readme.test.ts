import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

test('the index names every file of the folder, and no other', () => {
  const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const named = [...text.matchAll(/`([a-z-]+(?:\.d)?\.ts)`/g)].map(([, name]) => name);
  const files = readdirSync(import.meta.dirname).filter((name) => /\.ts$/.test(name) && !/\.test\.ts$/.test(name));
  expect(named.toSorted()).toEqual(files.toSorted());
});
