/** What the readers of all formats give: the records of a file, each an event, a state of a person, or a reason. */
import type { SourceEvent } from './event.ts';
import type { Line } from './lines.ts';

export interface SourceRecord {
  /** Where it begins, and all of its text: what is copied when it is bad. */
  readonly line: Line;
  /** A text is the reason why the record is nothing that can be imported; null: it is blank, or a header. */
  readonly content: SourceEvent | string | null;
  /** What its uuid is made of, when it brings none. */
  readonly identity: string;
}

/** Reads the records of one file from its lines. Never throws for what they hold. */
export interface LineFormat {
  take(lines: readonly Line[]): SourceRecord[];
  /** What was not whole yet when the lines ended. */
  end(): SourceRecord[];
  /** Why nothing of the file can be read; undefined: it can. */
  problem(): string | undefined;
  /** The line that says what the others hold. */
  header(): Line | undefined;
}

export const isBlank = ({ text, problem }: Line): boolean => problem === undefined && text.trim() === '';
