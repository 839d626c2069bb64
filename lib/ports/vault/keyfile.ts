/**
 * The vault of one machine: AES-256-GCM under a key that lies in a file. A sealed text is
 * `v1.<key's fingerprint>.<base64url of nonce (12 bytes), tag (16 bytes), cipher text>`. Its owner is authenticated
 * with it, so it opens for nobody else.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { messageOf } from '../../basics/text.ts';
import { Failure, Permanent } from '../errors.ts';
import { orAbsent } from '../files/or-absent.ts';
import { syncPath } from '../files/sync-path.ts';
import { decrypted, encrypted, KEY_BYTES } from './cipher.ts';
import { boundTo, notOfThisForm, type Vault } from './vault.ts';

const VERSION = 'v1';
/** The first line of the key file; the key follows as base64url. */
const HEADER = 'vault key v1';

/**
 * Returns a vault whose key lies at `path`. The file is made, readable by its owner only, when the first text is
 * sealed; two processes that do so at once end with the same key. Losing the file loses what was sealed with it: the key
 * is noted at `noted`, so that none takes its place then.
 */
export function keyfileVault(path: string, noted?: string): Vault {
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
      const secret = await key((file) => sealingKey(file, noted));
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

/** Says what is wrong with the key file, if it is gone or another one than is noted, and what to do; else undefined. */
export async function keyfileProblem(path: string, noted: string): Promise<string | undefined> {
  const print = (await orAbsent(readFile(noted, 'utf8')))?.trim();
  if (print === undefined) return undefined;
  const secret = await orAbsent(readKey(path).catch(orDamaged));
  if (typeof secret === 'object' && fingerprint(secret) === print) return undefined;
  const how = secret === undefined ? 'gone' : secret === 'damaged' ? secret : 'another one';
  return (
    `The key that the stored credentials were sealed with is ${how}: put ${basename(path)} back from a backup. If it is lost, ` +
    `remove ${basename(noted)}; exports, alerts and subscriptions fail then until their credentials are entered again.`
  );
}

/** Notes the key at `noted`, where there is one and none is noted. */
export async function noteKeyfile(path: string, noted: string): Promise<void> {
  const secret = await orAbsent(readKey(path));
  if (secret === undefined) return;
  await whole(noted, `${fingerprint(secret)}\n`);
}

/** Returns the key to seal with, which is noted. Throws when another one is. */
async function sealingKey(path: string, noted?: string): Promise<Buffer> {
  if (noted === undefined) return readOrMakeKey(path);
  const problem = await keyfileProblem(path, noted);
  if (problem !== undefined) throw new Failure('unavailable', { detail: problem });
  const secret = await readOrMakeKey(path);
  await noteKeyfile(path, noted);
  return secret;
}

const fingerprint = (secret: Buffer): string => hash('sha256', secret).slice(0, 16);

class NoKeyFile extends Error {}

function orDamaged(error: unknown): 'damaged' {
  if (error instanceof NoKeyFile) return 'damaged';
  throw error;
}

async function readKey(path: string): Promise<Buffer> {
  const [header, text = ''] = (await readFile(path, 'utf8')).split('\n');
  const secret = Buffer.from(text, 'base64url');
  if (header !== HEADER || secret.length !== KEY_BYTES) throw new NoKeyFile(`${path} is not a key file`);
  return secret;
}

async function readOrMakeKey(path: string): Promise<Buffer> {
  const known = await orAbsent(readKey(path));
  if (known !== undefined) return known;
  await whole(path, `${HEADER}\n${randomBytes(KEY_BYTES).toString('base64url')}\n`);
  return readKey(path);
}

/** Writes a file whole or not at all, for its owner only. One that is there stays. */
async function whole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${randomUUID()}`;
  try {
    await writeFile(unfinished, text, { flag: 'wx', mode: 0o600, flush: true });
    // A link never replaces: the second process takes what the first has written.
    await link(unfinished, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(unfinished, { force: true });
  }
  await syncPath(dirname(path));
}
