/**
 * An instant (milliseconds since 1970) as answers carry it: ISO 8601 in UTC, with `Z`, and with a fraction (six
 * digits, as the public product writes it) only when it is not zero.
 */
export function wireInstant(instant: number): string {
  const [seconds, fraction] = new Date(instant).toISOString().slice(0, -1).split('.');
  return fraction === '000' ? `${seconds}Z` : `${seconds}.${fraction}000Z`;
}
