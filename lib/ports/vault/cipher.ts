import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { Permanent } from '../errors.ts';

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: nonce (12 bytes), tag (16 bytes), cipher text. `bound` is authenticated with it. */
export function encrypted(key: Uint8Array, plain: string, bound: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

/** The text that `encrypted` was given. `Permanent` when anything of it, the key or `bound` is another. */
export function decrypted(key: Uint8Array, all: Uint8Array, bound: Uint8Array): string {
  try {
    const decipher = createDecipheriv(CIPHER, key, all.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(bound)
      .setAuthTag(all.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(all.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString();
  } catch {
    throw new Permanent('The stored credentials were altered, or belong to another export. Enter them again.');
  }
}
