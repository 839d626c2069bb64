const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

/** Returns bytes, as one big-endian number, in base 62 without leading zeros. 35 bytes give about 47 digits. */
export function base62(bytes: Uint8Array): string {
  let rest = bytes.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
  let text = '';
  do {
    text = DIGITS[Number(rest % 62n)] + text;
    rest /= 62n;
  } while (rest > 0n);
  return text;
}

/** Returns one lower-case letter for each byte, for names and not for secrets: letters are not equally likely. */
export function letters(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('');
}
