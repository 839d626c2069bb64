import { messageOf } from '../../lib/basics/text.ts';
import { inWords } from '../../lib/ports/disk-failures.ts';
import { jsonLines, type Log, logTo, shortLines } from '../../lib/ports/log.ts';
import { builtConsole } from '../build/console.ts';
import { inWordsOf } from './data/data-stores.ts';
import { type Choices, choicesOf } from './environment.ts';
import { firstStart, keyFile, type Welcome } from './first-start.ts';
import { DEFAULT_RATE_LIMIT } from './gateway/token-bucket.ts';
import { type Service, startService } from './service.ts';
import { firstThrown, stopInTime } from './stop.ts';
import { VERSION } from './version.ts';

// A log that cannot be written, for its disk is full or its reader gone, stops no work; it goes on when there is space.
process.stdout.on('error', () => {});

const isWatched = process.stdout.isTTY;
const write = (text: string): void => void process.stdout.write(text);

let stop = (_reason: Readonly<Record<string, string>>): void => process.exit(1);
// Who started it as a program of its own (`bin/workspace.js`) was killed: nobody could stop it any more.
process.once('disconnect', () => stop({ reason: 'the program that started it is gone' }));

/** Ends a start that cannot be, with one sentence. */
function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

function choose(): Choices {
  try {
    return choicesOf(process.env);
  } catch (error) {
    return refuse(messageOf(error));
  }
}

/** Starts the service, and at the first time makes what a newcomer needs. */
async function start({ folder, host, port, hasRateLimit, ...rest }: Choices, log: Log): Promise<Service> {
  const rateLimit = hasRateLimit ? DEFAULT_RATE_LIMIT : null;
  const service = await startService({ folder, host, port, rateLimit, ...rest, log });
  log.info('listening', { address: service.address, version: VERSION, data_directory: folder });
  const first = await firstStart(service.context, folder);
  if (first !== undefined) {
    // Who reads it may be at another machine.
    welcome(first.welcome, folder, rest.settings.publicUrl ?? service.address, log);
    first.done();
  }
  return service;
}

/** Ends a start that has thrown this. */
function refuseFor(thrown: unknown, { folder, host, port }: Choices): never {
  const error = firstThrown(thrown);
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    refuse(`Port ${port} is taken. Choose another one with PORT, such as PORT=8011 npm start.`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') refuse(`This machine has no address ${host} (HOST).`);
  if (code === 'EACCES' && syscall === 'listen')
    refuse(`This user may not listen on port ${port}. Choose another one with PORT, such as PORT=8011 npm start.`);
  if (code === 'EACCES' || code === 'EPERM')
    refuse(`${messageOf(error)}. All that is in ${folder} must belong to the user who runs the service.`);
  return refuse(messageOf(inWords(inWordsOf(folder, error))));
}

/** Tells a newcomer what there is, and the key this one time: at a terminal, or else in a file that only they may read. */
function welcome({ organizationId, projectId, key }: Welcome, folder: string, address: string, log: Log): void {
  if (!isWatched) {
    log.info(
      'first start: made an organization, a project, two users and a key, which is in a file: read and remove it',
      {
        address,
        organization_id: organizationId,
        project_id: projectId,
        key_file: keyFile(folder, key),
      },
    );
    return;
  }
  const curl = `curl -H 'Authorization: Bearer ${key}' ${address}/api/organizations/`;
  write(
    [
      '',
      `  Your first organization:  ${organizationId}`,
      `  Its project:              ${projectId}`,
      `  A key that may do everything (it is not shown again):`,
      '',
      `    ${key}`,
      '',
      '  Open the console; the link signs in, so keep it to yourself:',
      '',
      `    ${address}/#key=${key}`,
      '',
      '  Or try the API:',
      '',
      `    ${curl}`,
      '',
      '',
    ].join('\n'),
  );
}

const choices = choose();
const log = logTo(isWatched ? shortLines(write) : jsonLines(write), Date.now, choices.logLevel);
await builtConsole().catch((error: unknown) =>
  log.warning(
    'the console could not be built, and is as it was before, or none: run npm run console in the folder of the program, ' +
      'as a user who may write there',
    { reason: messageOf(error) },
  ),
);
// What the service makes is for its user alone; the console, beside the program, is for whoever runs it.
process.umask(0o077);
const service = await start(choices, log).catch((error: unknown) => refuseFor(error, choices));

let stopping = false;
stop = (reason) => {
  if (stopping) return;
  stopping = true;
  log.info('stopping', reason);
  void stopInTime(service, log).then((code) => process.exit(code));
};
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(1);
    stop({ signal });
  });
}
