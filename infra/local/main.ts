import { inWords } from '../../lib/ports/disk-failures.ts';
import { messageOf } from '../../lib/ports/errors.ts';
import { isLevel, jsonLines, type Log, logTo, shortLines } from '../../lib/ports/log.ts';
import { dataDirectoryPath } from './data-directory.ts';
import { firstStart, type Welcome } from './first-start.ts';
import { type Service, startService } from './service.ts';
import { stopInTime } from './stop.ts';
import { DEFAULT_RATE_LIMIT } from './token-bucket.ts';

const { HOST = '127.0.0.1', PORT = '8010', RATE_LIMIT = 'on', LOG_LEVEL = 'INFO' } = process.env;
const isWatched = process.stdout.isTTY;
const write = (text: string): void => void process.stdout.write(text);

/** Ends a start that cannot be, with one sentence. */
function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

function portOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) refuse(`PORT must be a number from 0 to 65535, not "${text}".`);
  return Number(text);
}

function levelOf(text: string) {
  const level = text.toUpperCase();
  return isLevel(level) ? level : refuse(`LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR, not "${text}".`);
}

async function start(folder: string, log: Log): Promise<Service> {
  try {
    return await startService({
      folder,
      host: HOST,
      port: portOf(PORT),
      rateLimit: RATE_LIMIT === 'off' ? null : DEFAULT_RATE_LIMIT,
      log,
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE')
      refuse(`Port ${PORT} is taken. Choose another one with PORT, such as PORT=8011 npm start.`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') refuse(`This machine has no address ${HOST} (HOST).`);
    if (code === 'EACCES' || code === 'EPERM') refuse(`${messageOf(error)}. Choose another PORT or WORKSPACE_HOME.`);
    return refuse(messageOf(inWords(error)));
  }
}

/** Shows a newcomer what there is, and the key this one time. */
function welcome({ organizationId, projectId, key }: Welcome, address: string, log: Log): void {
  const curl = `curl -H 'Authorization: Bearer ${key}' ${address}/api/organizations/`;
  if (!isWatched) {
    log.info('first start: made an organization, a project, two users and a key that is not shown again', {
      address,
      organization_id: organizationId,
      project_id: projectId,
      key,
      curl,
    });
    return;
  }
  write(
    [
      '',
      `  Your first organization:  ${organizationId}`,
      `  Its project:              ${projectId}`,
      `  A key that may do everything (it is not shown again):`,
      '',
      `    ${key}`,
      '',
      '  Try it:',
      '',
      `    ${curl}`,
      '',
      '',
    ].join('\n'),
  );
}

const folder = dataDirectoryPath();
const log = logTo(isWatched ? shortLines(write) : jsonLines(write), Date.now, levelOf(LOG_LEVEL));
const service = await start(folder, log);
log.info('listening', { address: service.address, data_directory: folder });
const first = await firstStart(service.context, folder);
if (first !== undefined) {
  welcome(first.welcome, service.address, log);
  first.done();
}

let stopping = false;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info('stopping', { signal });
    void stopInTime(service, log).then((code) => process.exit(code));
  });
}
