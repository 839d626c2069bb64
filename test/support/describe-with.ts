/**
 * `describe` for what needs a program that may not be here: `missing` says what is lacking (null: nothing). Without it
 * the block is skipped, loudly; where the environment sets CI, it fails.
 */
export function describeWith(subject: string, missing: () => string | null): (name: string, body: () => void) => void {
  let lack: string | null | undefined;
  return (name, body) => {
    if (lack === undefined) {
      lack = missing();
      if (lack !== null && !process.env['CI']) process.stderr.write(`\n${subject} is not tested: ${lack}.\n`);
    }
    if (lack === null) describe(name, body);
    else if (process.env['CI']) {
      describe(name, () => {
        test('runs in CI', () => {
          throw new Error(`${subject} is not tested: ${lack}.`);
        });
      });
    } else describe.skip(name, body);
  };
}
