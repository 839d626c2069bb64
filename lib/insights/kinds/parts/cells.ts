/** Cells of tables as answers show them. */
import type { Rows } from '../kind.ts';

/** Returns the rows with instants and dates as texts: ISO 8601 in a zone, `2020-01-09T13:00:00+01:00`; in UTC with `Z`. */
export function cellsOf({ rows, types }: Pick<Rows, 'rows' | 'types'>, zone: string): unknown[][] {
  const shown = types.map((type) => {
    if (/\bDateTime/.test(type)) return each((at) => instantText(at, zone));
    if (/\bDate(32)?\b/.test(type)) return each((at) => new Date(at).toISOString().slice(0, 10));
    return (value: unknown) => value;
  });
  return rows.map((row) => row.map((value, n) => shown[n]?.(value) ?? null));
}

const each = (text: (at: number) => string) =>
  function shown(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(shown);
    return typeof value === 'number' ? text(value) : value;
  };

const formats = new Map<string, Intl.DateTimeFormat>();

const two = (n: number): string => String(n).padStart(2, '0');

/** Returns an instant (milliseconds since 1970, with fractions) in a zone, with as many digits as it has. */
export function instantText(at: number, zone: string): string {
  const whole = Math.floor(at / 1000) * 1000;
  const microseconds = Math.round((at - whole) * 1000);
  const fraction = microseconds === 0 ? '' : `.${String(microseconds).padStart(6, '0')}`;
  if (zone === 'UTC') return new Date(whole).toISOString().replace('.000Z', `${fraction}Z`);
  const offset = offsetAt(whole, zone);
  const local = new Date(whole + offset * 1000).toISOString().slice(0, 19);
  const [sign, minutes] = [offset < 0 ? '-' : '+', Math.round(Math.abs(offset) / 60)];
  return `${local}${fraction}${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/** Seconds that the zone's clock is before that of UTC. */
function offsetAt(at: number, zone: string): number {
  let format = formats.get(zone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
    formats.set(zone, format);
  }
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
}
