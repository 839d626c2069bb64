import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceAddress, ServiceError } from '../../lib/admin/service/client.ts';
import { addressAt, choicesOf } from './environment.ts';

const KEY_NEEDED =
  "Set WORKSPACE_KEY to a personal API key. One is made by: workspace key create --email you@example.com --label 'Command line' --scopes '*'";

/**
 * Returns where the service is that a command asks, and the key: that of the variable, or the first one of this machine's
 * data directory, which is shown to no other address. Throws `ServiceError` where there is none.
 */
export async function serviceAddress(url: string | undefined, environment: NodeJS.ProcessEnv): Promise<ServiceAddress> {
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw new ServiceError(`--url is an address such as https://host, not '${url}'.`);
  const { WORKSPACE_KEY: key } = environment;
  const { folder, host, port, settings } = choicesOf(environment);
  const own = settings.publicUrl ?? addressAt(host, port);
  if (key !== undefined && key.trim() !== '') {
    if (!/^[!-~]+$/.test(key.trim()))
      throw new ServiceError(
        'WORKSPACE_KEY is not a personal API key (phx_...): it holds a blank, or a letter that no key has.',
      );
    return { url: url ?? own, key: key.trim() };
  }
  if (url !== undefined) throw new ServiceError(KEY_NEEDED);
  const first = await readFile(join(folder, 'first-key'), 'utf8').catch(() => '');
  if (first.trim() === '') throw new ServiceError(KEY_NEEDED);
  return { url: own, key: first.trim() };
}
