import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '../basics/text.ts';
import { LEVELS } from '../http/levels.ts';
import { ImportStopped } from '../lake/import/import.ts';
import { inWords } from '../ports/disk-failures.ts';
import type { CommandResult } from './command-result.ts';
import * as commands from './commands.ts';
import { withImportOptions } from './import-options.ts';
import type { Progress } from './progress.ts';
import { addServiceCommands, type Finish, Interrupted, type ServiceSurroundings } from './service/program.ts';

/** What the command line needs of its surroundings. */
interface Surroundings extends ServiceSurroundings {
  /** Opens the data directory, or a stage on AWS, for one command; `isNew` makes the directory where there is none. */
  open(
    stage: string | undefined,
    options: { readonly isNew: boolean },
  ): Promise<commands.AdminContext & { close(): void }>;
  /** Shows how far a long command is; silent where nobody watches. */
  readonly progress: () => Progress;
  /** Of the program. */
  readonly version: string;
  /** Of the data directory; absent where there is none. */
  readonly copies?: Copies;
  /** Returns in words what was thrown because the data directory is damaged, and anything else as it is. Default: all. */
  readonly inWords?: (error: unknown) => unknown;
}

/** Copies of a data directory. */
interface Copies {
  backUp(target: string): Promise<CommandResult>;
  restore(source: string): Promise<CommandResult>;
}

/** `interrupted` is what shells give for SIGINT. */
export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;

/** Returns the words of a list. Throws when there are none: a key that is limited to nothing would be limited by nothing. */
function list(text: string): string[] {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) throw new InvalidArgumentError('At least one is needed.');
  return words;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('A whole number is needed.');
  return Number(text);
}

/**
 * Runs one command line (without the program's own name). Answers the exit code: 0 done, 1 failed (an import: also when
 * anything was rejected or could not be read to its end), 2 not understood, 130 interrupted.
 */
export async function runAdmin(words: readonly string[], surroundings: Surroundings): Promise<number> {
  const { print, complain } = surroundings;
  let code: number = EXIT.ok;
  /** Prints what a command gave: with `json` the object alone, else the words, and beside them what a person is to know. */
  const finish: Finish = ({ object, text, aside, failed = false }, { json = false }) => {
    print(`${json ? JSON.stringify(object) : text}\n`);
    if (aside !== undefined && !json) complain(`${aside}\n`);
    if (failed) code = EXIT.failed;
  };
  const root = new Command('workspace')
    .description(
      'Makes users, organizations and keys, imports events, and asks a running service for its exports and numbers.',
    )
    .option('--stage <stage>', 'a stage on AWS, with the credentials of this shell; default: this machine')
    .version(surroundings.version, '--version', 'print which version of the program this is')
    .exitOverride()
    .configureOutput({ writeOut: print, writeErr: complain })
    .showHelpAfterError('(add --help for the options)');

  root
    .command('start')
    .description('Run the service. All that can be set is a variable, such as PORT: docs/operate-one-machine.md')
    .action(() => {
      // `npx workspace start` does not come here.
      throw new Error('Start the service with npm start, or npx workspace start.');
    });

  /** A command that opens the data directory, runs, and prints what came out. */
  const command = (
    group: Command,
    spec: string,
    description: string,
    run: (context: commands.AdminContext, options: never, words: string[]) => Promise<CommandResult>,
    { isNew = false } = {},
  ): Command => {
    const made = group.command(spec).description(description).option('--json', 'print the object as JSON');
    return made.action(async () => {
      const options = made.opts<{ json?: boolean }>();
      const context = await surroundings.open(root.opts<{ stage?: string }>().stage, { isNew });
      try {
        finish(await run(context, options as never, made.args), options);
      } finally {
        context.close();
      }
    });
  };

  const user = root.command('user').description('People');
  // All else is about somebody who is there.
  command(user, 'create', 'Make a user', commands.createUser, { isNew: true })
    .requiredOption('--email <email>', 'the e-mail address, nobody else’s')
    .option('--first-name <name>', 'first name', '')
    .option('--last-name <name>', 'last name', '');
  command(user, 'list', 'List all users', commands.listUsers);

  const organization = root.command('organization').description('Organizations');
  command(organization, 'create', 'Make an organization with a default project', commands.createOrganization)
    .requiredOption('--name <name>', 'its name')
    .requiredOption('--owner <email>', 'the user who owns it');

  const member = root.command('member').description('Members of organizations');
  command(member, 'add', 'Make a user a member of an organization', commands.addMember)
    .requiredOption('--organization <id>', 'the organization')
    .requiredOption('--email <email>', 'the user')
    .addOption(new Option('--level <level>', 'what they may do').choices(Object.keys(LEVELS)).default('member'));

  const invite = root.command('invite').description('Invitations to organizations');
  command(invite, 'accept <id>', 'Accept an invitation for the user who was invited', commands.acceptInvite);

  const key = root.command('key').description('Personal API keys');
  command(key, 'create', 'Make a personal API key; its value is shown once', commands.createKey)
    .requiredOption('--email <email>', 'the user who will own it')
    .requiredOption('--label <label>', 'what it is for')
    .requiredOption('--scopes <scopes>', 'such as dashboard:read,batch_export:write, or *', list)
    .option('--organizations <ids>', 'limit it to these organizations', list)
    .option('--projects <ids>', 'limit it to these projects', (text) => list(text).map(wholeNumber));
  command(key, 'list', 'List keys, without their values', commands.listKeys).option(
    '--email <email>',
    'only those of this user',
  );
  command(key, 'revoke <key>', 'Revoke a key, named by its id or its value', commands.revokeKey);

  withImportOptions(
    command(
      root,
      'import <file...>',
      'Import events and persons from files, folders, standard input (-), or s3://bucket/prefix. The same file twice adds nothing; of one that has grown, what is new is read.',
      async (context, options: commands.ImportCommandOptions & { readonly follow?: boolean }, files) => {
        const { signal: stop, end } = surroundings.interruption(new ImportStopped());
        if (options.follow && files.some((file) => file === '-' || file.startsWith('s3://')))
          root.error('error: --follow goes on with files of this machine alone.', { exitCode: EXIT.usage });
        const done = options.follow
          ? commands.followFiles(context, options, files.map(surroundings.resolve), {
              stop,
              tell: complain,
              pause: (ms) => surroundings.pause(ms, stop).catch(() => {}),
            })
          : surroundings
              .importFiles(files)
              .then((found) => commands.importFiles(context, options, found, surroundings.progress(), stop));
        return done.finally(end);
      },
    ),
    'copied to a file',
  )
    .requiredOption('--project <id>', 'the project that gets the events', wholeNumber)
    .option('--follow', 'go on with what the files get, until it is interrupted');
  command(
    root,
    'doctor',
    'Read all that is kept, and name what is not as it was written. Reads the whole lake.',
    (context) => commands.doctor(context, surroundings.progress()),
  );
  command(root, 'status', 'What is there, what runs, what is due', (context) =>
    commands.status(context, surroundings.version),
  );

  /** A command on folders of this machine alone. */
  const copyCommand = (
    spec: string,
    description: string,
    run: (copies: Copies, path: string) => Promise<CommandResult>,
  ) => {
    const made = root.command(spec).description(description).option('--json', 'print the object as JSON');
    made.action(async (path: string) => {
      if (surroundings.copies === undefined || root.opts<{ stage?: string }>().stage !== undefined) {
        throw new Error('Only this machine is copied so; for a stage on AWS see docs/operations.md.');
      }
      finish(await run(surroundings.copies, surroundings.resolve(path)), made.opts<{ json?: boolean }>());
    });
  };
  copyCommand('backup <folder>', 'Copy the data directory into a new folder, while the service runs', (copies, path) =>
    copies.backUp(path),
  );
  copyCommand('restore <folder>', 'Make a new data directory of a backup', (copies, path) => copies.restore(path));

  addServiceCommands(root, surroundings, finish);

  try {
    await root.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof Interrupted) return EXIT.interrupted;
    complain(`error: ${messageOf(inWords(surroundings.inWords?.(error) ?? error))}\n`);
    return error instanceof ImportStopped ? EXIT.interrupted : EXIT.failed;
  }
}
