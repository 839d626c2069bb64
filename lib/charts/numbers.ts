/** Numbers as people read them, in English. */

/** How the numbers of a chart are written. */
export interface NumberFormat {
  readonly unit: 'number' | 'percent' | 'fraction' | 'seconds' | 'milliseconds';
  readonly prefix: string;
  readonly postfix: string;
  /** At most so many decimal places. */
  readonly decimals: number;
}

/** Numbers as they are. */
export const PLAIN: NumberFormat = { unit: 'number', prefix: '', postfix: '', decimals: 2 };
/** Numbers of a table, which has place for more of them than a picture. */
export const PRECISE: NumberFormat = { ...PLAIN, decimals: 4 };
/** Percent, 100 being all. */
export const PERCENT: NumberFormat = { ...PLAIN, unit: 'percent' };
/** Parts of a whole, which is 1, in percent. */
export const SHARE: NumberFormat = { ...PLAIN, unit: 'fraction', decimals: 1 };

/** Formats, made when they are first needed: to load the program costs nothing of them. */
const formats = new Map<string, Intl.NumberFormat>();

function formatted(value: number, notation: 'standard' | 'compact' | 'scientific', decimals: number): string {
  const name = `${notation} ${decimals}`;
  let format = formats.get(name);
  if (format === undefined) {
    // Minus zero is zero to a reader.
    format = new Intl.NumberFormat('en', { notation, maximumFractionDigits: decimals, signDisplay: 'negative' });
    formats.set(name, format);
  }
  return format.format(value);
}

/** Smaller numbers would be little but zeros. */
const TINY = 1e-6;
const DIGITS = 4;

/** Returns a value: a whole number with all its digits, `5,535`; of others four decimals, below 1 four digits. */
export function valueText(value: number): string {
  const size = Math.abs(value);
  if (Number.isSafeInteger(value)) return formatted(value, 'standard', 0);
  if (size >= 1) return plain(value, PRECISE.decimals);
  if (size < TINY) return formatted(value, 'scientific', DIGITS - 1);
  // Those before the first digit are zeros.
  return formatted(value, 'standard', DIGITS - 1 - Math.floor(Math.log10(size)));
}

/** From here on, digits tell less than their number. */
const HUGE = 1e15;

const plain = (value: number, decimals: number): string =>
  Math.abs(value) >= HUGE ? formatted(value, 'scientific', 2) : formatted(value, 'standard', decimals);

const DURATION_UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

/** Returns a duration in its two greatest units: `2 h 5 min`, `1.5 s`, `20 ms`. */
export function duration(seconds: number): string {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds > 0 && seconds < 0.9995) return `${plain(seconds * 1000, seconds < 0.01 ? 2 : 0)} ms`;
  if (seconds < 60) return `${plain(seconds, seconds < 10 ? 1 : 0)} s`;
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [size, name] of DURATION_UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${plain(count, 0)} ${name}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Returns a number in full: `1,234.5`, `12.3%`, `2 h 5 min`. */
export const fullNumber = (value: number, format: NumberFormat): string => written(value, format, plain);

/** Returns a number in few characters, for axes and cells: `1.2K`. */
export const shortNumber = (value: number, format: NumberFormat): string =>
  written(value, format, (number, decimals) =>
    Math.abs(number) < 10_000 || Math.abs(number) >= HUGE ? plain(number, decimals) : formatted(number, 'compact', 2),
  );

function written(
  value: number,
  { unit, prefix, postfix, decimals }: NumberFormat,
  number: (value: number, decimals: number) => string,
): string {
  return `${prefix}${withUnit(value, unit, (shown) => number(shown, decimals))}${postfix}`;
}

function withUnit(value: number, unit: NumberFormat['unit'], number: (value: number) => string): string {
  if (unit === 'percent') return `${number(value)}%`;
  if (unit === 'fraction') return `${number(value * 100)}%`;
  if (unit === 'seconds') return duration(value);
  return unit === 'milliseconds' ? duration(value / 1000) : number(value);
}
