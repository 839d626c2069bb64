/**
 * Dates as callers tell them, as far as no calendar is needed to read one: what only looks whether a text is a date, or
 * changes one, does not load what knows the clocks of all zones.
 */
import { DAY_MS, MINUTE_MS } from '../../../basics/units.ts';

const UNITS = {
  s: 'second',
  M: 'minute',
  h: 'hour',
  d: 'day',
  w: 'week',
  m: 'month',
  q: 'quarter',
  y: 'year',
} as const;
export type Unit = (typeof UNITS)[keyof typeof UNITS];

/**
 * A date as a caller tells it. `local` is what the clocks of its zone show, in milliseconds since 1970 as clocks of UTC
 * would show it.
 */
export type ToldDate =
  | { readonly count: number; readonly unit: Unit; readonly position: 'Start' | 'End' | undefined }
  | { readonly local: number; readonly offsetMs: number | undefined; readonly isDay: boolean };

const RELATIVE = /^-?(\d{1,4})?([sMhdwmqy])(Start|End)?$/;
const ABSOLUTE =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:[T ](\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** Returns what a text tells; undefined: it is no date. */
export function readDate(text: string): ToldDate | undefined {
  const [, digits, letter, position] = RELATIVE.exec(text) ?? [];
  if (letter !== undefined) {
    if (digits === undefined && position === undefined) return undefined;
    const unit = UNITS[letter as keyof typeof UNITS];
    return { count: Number(digits ?? 0), unit, position: position as 'Start' | 'End' | undefined };
  }
  const [, year, month, day, hour, minute = '00', second = '00', fraction = '', offset] = ABSOLUTE.exec(text) ?? [];
  if (year === undefined || Number(year) === 0) return undefined;
  const [months, days, hours] = [month, day, hour].map((part = '') => part.padStart(2, '0'));
  const iso = `${year}-${months}-${days}T${hours}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`;
  const local = new Date(iso);
  // JavaScript takes 30 February for 1 March, and 24 o'clock for the next day.
  if (Number.isNaN(local.getTime()) || local.toISOString() !== iso) return undefined;
  return {
    local: local.getTime(),
    offsetMs: offset === undefined ? undefined : offsetOf(offset),
    isDay: hour === undefined,
  };
}

function offsetOf(text: string): number {
  if (text.toUpperCase() === 'Z') return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(3).replace(':', ''));
  return (text.startsWith('-') ? -1 : 1) * minutes * MINUTE_MS;
}

/**
 * Returns the day after one that is told without a time, so that what is before it is all of that day; any other date as
 * it is.
 */
export function behind(text: string): string {
  const date = readDate(text.trim());
  if (date === undefined || !('local' in date) || !date.isDay) return text;
  return new Date(date.local + DAY_MS).toISOString().replace(/T.*/, '');
}
