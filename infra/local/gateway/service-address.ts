import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceAddress, ServiceError } from '../../../lib/admin/service/client.ts';
import { addressAt, choicesOf } from '../environment.ts';

const KEY_NEEDED =
  "Set WORKSPACE_KEY to a personal API key. One is made by: workspace key create --email you@example.com --label 'Command line' --scopes '*'";

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
  const { folder, host, port, settings } = choicesOf(environment);
  const own = settings.publicUrl ?? addressAt(host, port);
  if (key !== '') return { url: url ?? own, key };
  if (url !== undefined) throw new ServiceError(KEY_NEEDED);
  const first = await readFile(join(folder, 'first-key'), 'utf8').catch(() => '');
  if (first.trim() === '') throw new ServiceError(KEY_NEEDED);
  return { url: own, key: first.trim() };
}
