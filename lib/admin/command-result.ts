/** What a command gave: the public object for `--json`, and words for a person. */
export interface CommandResult {
  readonly object: unknown;
  readonly text: string;
  /** What a person is to know of the text; it is said beside it, since a program may read that. */
  readonly aside?: string;
  /** The command has found what must be mended: the exit code says so. */
  readonly failed?: boolean;
}
