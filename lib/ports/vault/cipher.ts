import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { notOfThisOwner } from './vault.ts';

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Returns nonce (12 bytes), tag (16 bytes) and cipher text of AES-256-GCM. `bound` is authenticated with the text. */
export function encrypted(key: Uint8Array, plain: string, bound: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound);
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

/** Returns the text that `encrypted` was given. Throws `Permanent` when the bytes, the key or `bound` are others. */
export function decrypted(key: Uint8Array, all: Uint8Array, bound: Uint8Array): string {
  try {
    const decipher = createDecipheriv(CIPHER, key, all.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(bound)
      .setAuthTag(all.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(all.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString();
  } catch {
    throw notOfThisOwner();
  }
}
