/** Cells of tables as answers show them. */

import { Temporal } from 'temporal-polyfill';
import { dayOf } from '../../../basics/days.ts';
import { partNames } from '../../../hogql/clickhouse-types.ts';
import { isTime } from '../../../hogql/print.ts';
import type { Rows } from '../kind.ts';

/**
 * Returns the rows with instants and dates as texts: ISO 8601 in the zone that their type names, or else in this one,
 * `2020-01-09T13:00:00+01:00`; in UTC with `Z`.
 */
export function cellsOf({ rows, types }: Pick<Rows, 'rows' | 'types'>, zone: string): unknown[][] {
  const shown = types.map((type) => shownAs(type, zone));
  return rows.map((row) => row.map((value, n) => shown[n]?.(value) ?? null));
}

/** How a value of a type of ClickHouse is shown. */
function shownAs(type: string, zone: string): (value: unknown) => unknown {
  const list = /^Array\((.*)\)$/.exec(type)?.[1];
  if (list !== undefined) {
    const element = shownAs(list, zone);
    return (value) => (Array.isArray(value) ? value.map(element) : value);
  }
  const parts = partNames(type)?.map((part) => shownAs(part, zone));
  if (parts !== undefined) return (value) => (Array.isArray(value) ? parts.map((part, n) => part(value[n])) : value);
  if (/\bDateTime/.test(type)) {
    const [, named = zone] = /'(.+)'/.exec(type) ?? [];
    return ofNumber((at) => instantText(at, named));
  }
  if (/\bDate(32)?\b/.test(type)) return ofNumber(dayOf);
  return (value) => value;
}

const ofNumber =
  (text: (at: number) => string) =>
  (value: unknown): unknown => {
    if (typeof value !== 'number') return value;
    return isTime(value) ? text(value) : null;
  };

/** Returns an instant (milliseconds since 1970, with fractions) in a zone, with as many digits as it has. */
function instantText(at: number, zone: string): string {
  const whole = Math.floor(at / 1000) * 1000;
  const microseconds = Math.round((at - whole) * 1000);
  const fraction = microseconds === 0 ? '' : `.${String(microseconds).padStart(6, '0')}`;
  if (zone === 'UTC') return new Date(whole).toISOString().replace('.000Z', `${fraction}Z`);
  const local = Temporal.Instant.fromEpochMilliseconds(whole).toZonedDateTimeISO(zone);
  return `${local.toPlainDateTime().toString({ fractionalSecondDigits: 0 })}${fraction}${local.offset}`;
}
