import { errorText } from '../../../../lib/exports/runs/outcome.ts';

test.each(['', 'x'])('a reason is kept without NUL, and cut between characters, after %j', (first) => {
  const text = errorText(`${first}\0${'😀'.repeat(300)}`);
  expect(text).toMatch(/^x?😀+$/u);
  expect(text.length).toBeGreaterThanOrEqual(499);
});
