import { wireInstant } from '../http/instant.ts';

/**
 * Returns microseconds since 1970, as text, as ISO 8601 in UTC, always with six digits: such texts sort as the times do, and
 * are of the one form that Airbyte reads.
 */
export function sortableMicroseconds(text: string): string {
  const microseconds = Number(text);
  const seconds = Math.floor(microseconds / 1_000_000);
  const fraction = microseconds - seconds * 1_000_000;
  return wireInstant(seconds * 1000).replace('Z', `.${String(fraction).padStart(6, '0')}Z`);
}

/** Returns microseconds since 1970, as text, as answers carry instants: with a fraction only when it is not zero. */
export const wireMicroseconds = (text: string): string => sortableMicroseconds(text).replace('.000000Z', 'Z');
