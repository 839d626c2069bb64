/** How a program of the bench is told what to do, and tells what came of it. */
import { readFileSync } from 'node:fs';

/** The input, from the file that is the program's argument. */
export const input: unknown = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));

/** Tells one thing, as a line of JSON. */
export function tell(output: object): void {
  process.stdout.write(`${JSON.stringify(output)}\n`);
}
