import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/source.ts';

test('what a stage costs adds up: each sum in docs/deploy.md is that of its lines', () => {
  const page = readFileSync(join(ROOT, 'docs', 'deploy.md'), 'utf8');
  const sums: { of: string; told: number; lines: number[] }[] = [];
  for (const [, of = '', cost = ''] of page.matchAll(/^\| (.+?) \|.*\| (\**\d+\.\d\d\**) \|$/gm)) {
    const amount = Number(cost.replaceAll('*', ''));
    if (cost.startsWith('**')) sums.push({ of, told: amount, lines: [] });
    else sums.at(-1)?.lines.push(amount);
  }
  expect(sums.length).toBe(4);
  for (const { of, told, lines } of sums) {
    expect(lines.length).toBeGreaterThan(4);
    expect({ of, sum: lines.reduce((all, one) => all + one, 0).toFixed(2) }).toEqual({ of, sum: told.toFixed(2) });
  }
});
