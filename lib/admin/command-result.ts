/** What a command gave: the public object for `--json`, and words for a person. */
export interface CommandResult {
  readonly object: unknown;
  readonly text: string;
  /** What a person is to know of the text; it is said beside it, since a program may read that. */
  readonly aside?: string;
  /** The command has found what must be mended: the exit code says so. */
  readonly failed?: boolean;
}

/** Where a command prints: `complain` takes what belongs to no answer. */
interface Printing {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** Prints what a command gave: with `json` the object alone, else the words, and beside them what a person is to know. */
export function printResult(
  { object, text, aside }: CommandResult,
  { json = false }: { readonly json?: boolean },
  { print, complain }: Printing,
): void {
  print(`${json ? JSON.stringify(object) : text}\n`);
  if (aside !== undefined && !json) complain(`${aside}\n`);
}
