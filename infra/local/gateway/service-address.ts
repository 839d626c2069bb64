import { rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceAddress, ServiceError } from '../../../lib/admin/service/client.ts';
import { isRunning } from '../../../lib/basics/process.ts';
import { addressAt, choicesOf } from '../environment.ts';

const KEY_NEEDED =
  "Set WORKSPACE_KEY to a personal API key. One is made by: workspace key create --email you@example.com --label 'Command line' --scopes '*'";

/** Where a data directory tells at which address its service listens, and as which process: one that was killed is there no more. */
const addressFile = (folder: string): string => join(folder, 'service.address');

/** Tells commands of other shells where the service of a data directory is. A disk that is full keeps nobody from starting. */
export function tellAddress(folder: string, address: string): void {
  try {
    writeFileSync(addressFile(folder), `${address} ${process.pid}\n`);
  } catch {
    // Commands go by their own variables then.
  }
}

/** Ends what `tellAddress` told: another program may listen there next. */
export const forgetAddress = (folder: string): void => rmSync(addressFile(folder), { force: true });

/** Returns where the service of this machine is: where the variables say, else where its data directory tells. */
export async function ownAddress(environment: NodeJS.ProcessEnv): Promise<string> {
  const { folder, host, port, settings } = choicesOf(environment);
  if (settings.publicUrl !== null) return settings.publicUrl;
  const told = environment['HOST'] || environment['PORT'] ? undefined : await toldAddress(folder);
  return told ?? addressAt(host, port);
}

/** Returns the address that a service which runs has told. */
async function toldAddress(folder: string): Promise<string | undefined> {
  const told = await readFile(addressFile(folder), 'utf8').catch(() => '');
  const [, address, pid] = /^(https?:\/\/\S+) (\d+)\n$/.exec(told) ?? [];
  return pid !== undefined && isRunning(Number(pid)) ? address : undefined;
}

/**
 * Returns where the service is that a command asks, and the key: that of the variable, or the first one of this machine's
 * data directory, which is shown to no other address. Throws `ServiceError` where there is none.
 */
export async function serviceAddress(url: string | undefined, environment: NodeJS.ProcessEnv): Promise<ServiceAddress> {
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new ServiceError(`--url is an address such as https://host, not '${url}'.`);
  const key = environment['WORKSPACE_KEY']?.trim() ?? '';
  // A header takes no other signs, and the error of one that has some would show the key.
  if (!/^[\x21-\x7e]*$/.test(key)) throw new ServiceError('WORKSPACE_KEY is not a key, which is one word: phx_….');
  const own = await ownAddress(environment);
  if (key !== '') return { url: url ?? own, key };
  if (url !== undefined) throw new ServiceError(KEY_NEEDED);
  const first = await readFile(join(choicesOf(environment).folder, 'first-key'), 'utf8').catch(() => '');
  if (first.trim() === '') throw new ServiceError(KEY_NEEDED);
  return { url: own, key: first.trim() };
}
