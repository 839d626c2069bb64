/**
 * An instant (milliseconds since 1970) as answers carry it: ISO 8601 in UTC, with `Z`, and with a fraction (six
 * digits, as the public product writes it) only when it is not zero.
 */
export function wireInstant(instant: number): string {
  const text = new Date(instant).toISOString();
  return text.endsWith('.000Z') ? `${text.slice(0, -5)}Z` : `${text.slice(0, -1)}000Z`;
}
