import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/source.ts';

const page = readFileSync(join(ROOT, 'docs', 'deploy.md'), 'utf8');

test('what a stage costs adds up: each sum in docs/deploy.md is that of its lines', () => {
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

test('what a million events cost adds up by how many are in a request, with the lines of the log and the metrics that they make', () => {
  const [, table = ''] = /\n\| events in a request \|(.*?)\n\n/s.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| (.+?) \| (\d+\.\d\d) \| (\d+\.\d\d) \| (\d+\.\d\d) \|/gm)].map(
    ([, of = '', ...costs]) => ({ of, costs: costs.map(Number) }),
  );
  const [sum, lines] = [rows.find(({ of }) => of === 'in all'), rows.filter(({ of }) => of !== 'in all')];
  expect(lines.map(({ of }) => of)).toEqual(expect.arrayContaining(['log of `capture`', 'metrics']));
  expect(sum?.costs.map((told) => told.toFixed(2))).toEqual(
    [0, 1, 2].map((n) => lines.reduce((all, { costs }) => all + (costs[n] ?? 0), 0).toFixed(2)),
  );
});
