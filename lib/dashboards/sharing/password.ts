/** The password of a shared page: its hash, and the cookie of those who have entered it. */
import { createHmac, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { HOUR_MS, MIB, SECOND_MS } from '../../basics/units.ts';
import type { Context } from '../../ports/context.ts';
import { failFull, LineFull, Turns, type Waiter } from '../../workers/turns.ts';

/** What OWASP asks of scrypt: 32 MB of memory for each try. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * MIB } as const;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

/**
 * A hash holds one of the four threads of the process, by which it reads and writes files too, for a quarter of a second.
 * The threads are the process's own, and so are these turns, which organizations have. Readers, of whom an office may come
 * at once, do not wait for those who set passwords.
 */
const TURNS = {
  setting: new Turns({ atOnce: 1, each: 1, waiting: { each: 4, all: 16 }, users: { waiting: 4 } }),
  entering: new Turns({ atOnce: 1, each: 1, waiting: { each: 12, all: 48 } }),
} as const;

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

async function derive(
  turns: Turns,
  password: string,
  salt: Buffer,
  { organization, user, signal }: Waiter,
): Promise<Buffer> {
  const work = () => scryptKey(password.normalize('NFKC'), salt, KEY_BYTES, COST);
  try {
    return await turns.run(organization, work, signal, user);
  } catch (error) {
    if (error instanceof LineFull) failFull('Many passwords of shared pages are being set or entered.');
    throw error;
  }
}

/**
 * Returns the hash of a password, as it is stored: `scrypt$<salt>$<key>`, both in base 64. Fails with 429 when too many
 * of the organization, of the user, or of all, wait for one.
 */
export async function hashedPassword(password: string, waiter: Waiter, random: Context['random']): Promise<string> {
  const salt = random(SALT_BYTES);
  const key = await derive(TURNS.setting, password, salt, waiter);
  return `scrypt$${salt.toString('base64')}$${key.toString('base64')}`;
}

/** Returns whether a password is the one of an organization's hash. Fails with 429 as `hashedPassword` does. */
export async function isPassword(password: string, waiter: Omit<Waiter, 'user'>, hash: string): Promise<boolean> {
  const [, salt = '', key = ''] = hash.split('$');
  const found = await derive(TURNS.entering, password, Buffer.from(salt, 'base64'), waiter);
  return timingSafeEqual(found, Buffer.from(key, 'base64'));
}

/** Whoever has entered the password need not do so again for this long. */
export const PASS_MS = 12 * HOUR_MS;

/** Returns what shows, until an instant, that somebody has entered the password of a hash. A new password ends it. */
export function passOf(hash: string, token: string, until: number): string {
  const seconds = Math.floor(until / SECOND_MS);
  return `${seconds}.${createHmac('sha256', hash).update(`${token} ${seconds}`).digest('base64url')}`;
}

/** Returns whether a pass was made for this hash and token and has not ended. */
export function isPass(pass: string, { hash, token, now }: { hash: string; token: string; now: number }): boolean {
  const until = Number(/^(\d{1,12})\./.exec(pass)?.[1] ?? 0) * SECOND_MS;
  const [sent, right] = [Buffer.from(pass), Buffer.from(passOf(hash, token, until))];
  return until > now && sent.length === right.length && timingSafeEqual(sent, right);
}
