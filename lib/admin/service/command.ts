/** What a command is that asks a running service. */
import { type Command, InvalidArgumentError } from 'commander';
import type { ImportFile } from '../../lake/import/import.ts';
import type { CommandResult } from '../command-result.ts';
import type { Progress } from '../progress.ts';
import type { Client } from './client.ts';
import { table } from './table.ts';

/** What a command has when it runs. */
export interface Asked<Options = Readonly<Record<string, unknown>>> {
  readonly client: Client;
  /** Paths of the project, from its slash on: `of('/batch_exports')`. */
  readonly of: (path: string) => string;
  /** The options by which another command asks the same service of the same project, each after a space. */
  readonly same: string;
  readonly words: readonly string[];
  readonly options: Options;
  /** Shows a line at once, for what goes on: text for a person, or the object as JSON where that is asked for. */
  readonly show: (object: unknown, text: string) => void;
  readonly progress: () => Progress;
  /** Waits between two looks. Throws the reason of Ctrl-C. */
  readonly pause: (milliseconds: number) => Promise<void>;
  /** What Ctrl-C aborts. */
  readonly signal: AbortSignal;
  /** Returns the files that words name: paths, folders, `-` for standard input, `s3://bucket/prefix`. */
  readonly files: (words: readonly string[]) => Promise<ImportFile[]>;
  /** Returns what a file holds; `-` is what comes in. */
  readonly read: (path: string) => Promise<string>;
}

/** What says of what object a command is. */
export type Addressed = Pick<Asked, 'of' | 'words'>;

/** Returns the path of the export that the first word names, without a slash at its end. */
export const exportPath = ({ of, words }: Addressed): string =>
  of(`/batch_exports/${encodeURIComponent(words[0] ?? '')}`);

/** A command; to add one, write it beside the others of its group. */
export interface ServiceCommand {
  /** The word before it, and what that is about; absent: it stands by itself. */
  readonly group?: readonly [name: string, description: string];
  /** As commander reads it: `show <export>`. */
  readonly spec: string;
  readonly description: string;
  /** Adds its options. */
  readonly options?: (command: Command) => Command;
  /** Asks, and returns what is printed; undefined: it has shown everything. */
  readonly run: (asked: Asked<never>) => Promise<CommandResult | undefined>;
}

/** How often something that moves is looked at. */
export const LOOK_MS = 1_000;

/** So many objects does a list show, unless asked for more. */
const LIST_LIMIT = 100;

/** Returns the option of lists. */
export const withLimit = (command: Command): Command =>
  command.option('--limit <count>', 'how many at most', countOf, LIST_LIMIT);

/** A command that lists objects. */
interface Listing<T, Options> extends Omit<ServiceCommand, 'run'> {
  readonly path: (asked: Addressed) => string;
  /** Which of them are asked for, by the command's own options. Default: all. */
  readonly filter?: (options: Options) => Readonly<Record<string, string | undefined>>;
  readonly header: readonly string[];
  readonly row: (one: T) => readonly unknown[];
  /** What is said where there are none. */
  readonly empty: string;
}

/** Returns a command that lists objects in columns, as many as its option `--limit` says. */
export const listing = <T, Options = object>({
  path,
  filter,
  header,
  row,
  empty,
  options = (command) => command,
  ...about
}: Listing<T, Options>): ServiceCommand => ({
  ...about,
  options: (command) => options(withLimit(command)),
  run: async (asked: Asked<Options & { readonly limit: number }>) => {
    const found = await asked.client.list<T>(path(asked), asked.options.limit, filter?.(asked.options));
    return { object: found, text: table(header, found.map(row), empty) };
  },
});

/** Returns a number of things as an option names it. Throws when it is none, or below 1. */
export function countOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 is needed.');
  return Number(text);
}
