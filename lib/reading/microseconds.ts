import { wireInstant } from '../http/instant.ts';

/** Returns microseconds since 1970, as text, as ISO 8601 in UTC with all its digits. */
export function wireMicroseconds(text: string): string {
  const microseconds = Number(text);
  const seconds = Math.floor(microseconds / 1_000_000);
  const fraction = microseconds - seconds * 1_000_000;
  const whole = wireInstant(seconds * 1000);
  return fraction === 0 ? whole : whole.replace('Z', `.${String(fraction).padStart(6, '0')}Z`);
}
