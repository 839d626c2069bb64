import { DAY_MS } from '../basics/units.ts';

const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
/** Days as text, by their number since 1970; a page shows the same few again and again. */
const days = new Map<number, string>();
const MAX_DAYS = 10_000;

/**
 * Returns an instant (milliseconds since 1970) as answers carry it: ISO 8601 in UTC, with `Z`, and with a fraction (six
 * digits, as PostHog writes it) only when it is not zero. A long page has thousands, and this takes a
 * seventh of the time of `toISOString`.
 */
export function wireInstant(instant: number): string {
  const day = Math.floor(instant / DAY_MS);
  const milliseconds = instant - day * DAY_MS;
  const seconds = Math.floor(milliseconds / 1000);
  const fraction = milliseconds % 1000;
  const minutes = Math.floor(seconds / 60);
  const time = `${TWO_DIGITS[Math.floor(minutes / 60)]}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}`;
  const rest = fraction === 0 ? '' : `.${String(fraction).padStart(3, '0')}000`;
  return `${dayText(day)}T${time}${rest}Z`;
}

/** Returns an instant as `wireInstant` does; null for none. */
export const wireInstantOrNull = (instant: number | null): string | null =>
  instant === null ? null : wireInstant(instant);

function dayText(day: number): string {
  const known = days.get(day);
  if (known !== undefined) return known;
  if (days.size >= MAX_DAYS) days.clear();
  const [text = ''] = new Date(day * DAY_MS).toISOString().split('T');
  days.set(day, text);
  return text;
}
