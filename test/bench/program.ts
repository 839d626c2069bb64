/** The input and the output of a program of the bench. */
import { readFileSync } from 'node:fs';

/** The input, from the file that is the program's argument. */
export const input: unknown = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

/** Tells one thing, as a line of JSON. */
export function tell(output: object): void {
  process.stdout.write(`${JSON.stringify(output)}\n`);
}
