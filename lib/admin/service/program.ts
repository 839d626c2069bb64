import type { Command } from 'commander';
import type { ImportFile } from '../../lake/import/import.ts';
import type { CommandResult } from '../command-result.ts';
import type { Progress } from '../progress.ts';
import { NotFound, openClient, type ServiceAddress, ServiceError } from './client.ts';
import type { ServiceCommand } from './command.ts';
import { SERVICE_COMMANDS } from './commands.ts';

/** What commands that ask a service need of their surroundings. */
export interface ServiceSurroundings {
  /** Returns where the service is, and the key of whoever asks: of the address given, or else of the data directory. */
  address(url: string | undefined): Promise<ServiceAddress>;
  readonly print: (text: string) => void;
  /** Says what belongs to no answer. */
  readonly complain: (text: string) => void;
  readonly progress: () => Progress;
  /** What Ctrl-C aborts, with an `Interrupted`, from the call until `end`. */
  readonly interruption: (reason: Error) => { readonly signal: AbortSignal; readonly end: () => void };
  /** Waits. Throws the reason of the signal when it is aborted. */
  readonly pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Makes a path that the caller typed absolute. */
  readonly resolve: (path: string) => string;
  /** Returns what a file holds; `-` is standard input. */
  readonly read: (path: string) => Promise<string>;
  /** Returns the files that words name: paths, folders, `-` for standard input, `s3://bucket/prefix`. */
  readonly importFiles: (words: readonly string[]) => Promise<ImportFile[]>;
}

/** Ctrl-C ended what would have gone on. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  override readonly message = 'Interrupted.';
}

interface OwnOptions {
  readonly url?: string;
  readonly project?: string;
  readonly json?: boolean;
}

/** Prints what a command gave, and notes for the exit code whether it has failed. */
export type Finish = (result: CommandResult, options: { readonly json?: boolean }) => void;

/** Adds the commands that ask a running service. */
export function addServiceCommands(root: Command, surroundings: ServiceSurroundings, finish: Finish): void {
  for (const command of SERVICE_COMMANDS) addCommand(groupOf(root, command), command, surroundings, finish);
}

/** A group may have commands of its own already. */
function groupOf(root: Command, { group }: ServiceCommand): Command {
  if (group === undefined) return root;
  const [name, description] = group;
  return root.commands.find((one) => one.name() === name) ?? root.command(name).description(description);
}

const sameOptions = ({ url, project }: OwnOptions): string =>
  Object.entries({ url, project })
    .flatMap(([name, value]) => (value === undefined ? [] : [` --${name} ${value}`]))
    .join('');

/** By which command things are listed, by their names in `spec`. */
const LISTS: Readonly<Record<string, string>> = {
  export: 'exports list',
  run: 'runs list',
  backfill: 'backfill list',
  import: 'imports list',
};

/**
 * Returns what is said when there is no such thing as the last word of a command names, or its option `--run`, and which
 * command lists them.
 */
function missingText(command: Command, own: OwnOptions): string {
  const { run } = command.opts<{ readonly run?: string }>();
  const names = command.registeredArguments.map((one) => one.name());
  const args = run === undefined ? command.args : [...command.args, run];
  const [name = 'thing', owner] = (run === undefined ? names : [...names, 'run']).toReversed();
  const [word, ofOwner] = args.toReversed();
  const of = owner === undefined ? '' : ` of ${owner} ${ofOwner}`;
  const where = own.project === undefined ? 'your first project' : `project ${own.project}`;
  const lists = LISTS[name];
  const list =
    lists === undefined
      ? ''
      : ` \`npx workspace ${[lists, ...args.slice(0, -1)].join(' ')}${sameOptions(own)}\` shows them.`;
  return `There is no ${name} ${word}${of} in ${where}.${list}`;
}

function addCommand(
  group: Command,
  { spec, description, options, run }: ServiceCommand,
  surroundings: ServiceSurroundings,
  finish: Finish,
): void {
  const { print } = surroundings;
  const made = group
    .command(spec)
    .description(description)
    .option(
      '--url <address>',
      'the service; its key is in the variable WORKSPACE_KEY. Default: the one of this machine',
    )
    .option('--project <id>', 'its number; default: the first of your first organization')
    .option('--json', 'print objects as JSON');
  (options?.(made) ?? made).action(async () => {
    const own = made.opts<OwnOptions>();
    const { signal, end } = surroundings.interruption(new Interrupted());
    try {
      const outcome = await run({
        client: openClient(await surroundings.address(own.url), signal),
        of: (path: string) => `/api/projects/${encodeURIComponent(own.project ?? '@current')}${path}`,
        same: sameOptions(own),
        words: made.args,
        options: own as never,
        show: (object: unknown, text: string) => print(`${own.json === true ? JSON.stringify(object) : text}\n`),
        progress: surroundings.progress,
        pause: (milliseconds: number) => surroundings.pause(milliseconds, signal),
        signal,
        files: surroundings.importFiles,
        read: surroundings.read,
      });
      if (outcome !== undefined) finish(outcome, own);
    } catch (error) {
      throw error instanceof NotFound ? new ServiceError(missingText(made, own)) : error;
    } finally {
      end();
    }
  });
}
