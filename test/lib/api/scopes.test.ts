import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routes } from '../../../lib/api/routes.ts';

test('docs/command-line.md names the scopes that rows ask for, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/command-line.md'), 'utf8');
  const named = [...page.matchAll(/^\| `([a-z_]+)` \| `(read|write)`(?:, `(write)`)? \|/gm)].flatMap(
    ([, object, ...actions]) => actions.filter(Boolean).map((action) => `${object}:${action}`),
  );
  const asked = new Set<string>(routes.map(({ scope }) => scope).filter((scope) => scope.includes(':')));
  // A key that may write may also read, whether or not a row asks for that.
  for (const scope of [...asked].filter((one) => one.endsWith(':write'))) asked.add(scope.replace(':write', ':read'));
  expect(named.toSorted()).toEqual([...asked].toSorted());
});
