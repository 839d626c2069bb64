/**
 * The vault of one machine: AES-256-GCM under a key that lies in a file. A sealed text is
 * `v1.<key's fingerprint>.<base64url of nonce (12 bytes), tag (16 bytes), cipher text>`. Its owner is authenticated
 * with it, so it opens for nobody else.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf, Permanent } from '../errors.ts';
import { orAbsent } from '../files/or-absent.ts';
import { syncPath } from '../files/sync-path.ts';
import { decrypted, encrypted, KEY_BYTES } from './cipher.ts';
import { boundTo, notOfThisForm, type Vault } from './vault.ts';

const VERSION = 'v1';
/** The first line of the key file; the key follows as base64url. */
const HEADER = 'vault key v1';

/**
 * Returns a vault whose key lies at `path`. The file is made, readable by its owner only, when the first text is
 * sealed; two processes that do so at once end with the same key. Losing the file loses what was sealed with it.
 */
export function keyfileVault(path: string): Vault {
  let known: Promise<Buffer> | undefined;
  const key = (load: (path: string) => Promise<Buffer>): Promise<Buffer> => {
    known ??= load(path).catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };

  return {
    seal: async (plain, belonging) => {
      const secret = await key(readOrMakeKey);
      const body = encrypted(secret, plain, boundTo(VERSION, belonging)).toString('base64url');
      return `${VERSION}.${fingerprint(secret)}.${body}`;
    },

    open: async (sealed, belonging) => {
      const [version, print, body, ...more] = sealed.split('.');
      if (version !== VERSION || print === undefined || body === undefined || more.length > 0) {
        throw notOfThisForm();
      }
      const secret = await key(readKey).catch((error: unknown) => {
        throw new Permanent(`The key of the stored credentials cannot be read: ${messageOf(error)}`);
      });
      if (print !== fingerprint(secret)) {
        throw new Permanent('The stored credentials were sealed with another key. Enter them again.');
      }
      return decrypted(secret, Buffer.from(body, 'base64url'), boundTo(VERSION, belonging));
    },
  };
}

const fingerprint = (secret: Buffer): string => hash('sha256', secret).slice(0, 16);

async function readKey(path: string): Promise<Buffer> {
  const [header, text = ''] = (await readFile(path, 'utf8')).split('\n');
  const secret = Buffer.from(text, 'base64url');
  if (header !== HEADER || secret.length !== KEY_BYTES) throw new Error(`${path} is not a key file`);
  return secret;
}

async function readOrMakeKey(path: string): Promise<Buffer> {
  const known = await orAbsent(readKey(path));
  if (known !== undefined) return known;
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${randomUUID()}`;
  try {
    const text = `${HEADER}\n${randomBytes(KEY_BYTES).toString('base64url')}\n`;
    await writeFile(unfinished, text, { flag: 'wx', mode: 0o600, flush: true });
    // A link never replaces: the second process takes the key of the first.
    await link(unfinished, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { force: true });
  }
  await syncPath(dirname(path));
  return readKey(path);
}
