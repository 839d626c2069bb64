/**
 * JSON whose numbers keep all their digits: one that a double cannot hold stays as it was written. Others become what
 * JavaScript makes of them, so that `1.0` and `1e0` are the `1` that they are.
 */
import { parseWithRawNumbers, rawNumber } from '../../basics/raw-number.ts';

/**
 * May a number in the text lose digits, or its size, as a double, or its sign, as -0.0 does when it is written again?
 * Looks at the text only: a false alarm costs time. (-0 is an integer, which has no sign.)
 */
const INEXACT_NUMBER = /[[:,\s](?:-?(?:\d[\d.]{15}|[\d.]+[eE])|-0\.0+(?!\d))/;

const isRespelled = (value: number, source: string): boolean => String(value) !== source;

const DECIMAL = /^(-?)0*(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** A number's sign, digits and power of ten, which are the same however it is written; undefined: it is no number. */
function decimalOf(text: string): string | undefined {
  const [found, sign = '', whole = '', fraction = '', power = '0'] = DECIMAL.exec(text) ?? [];
  if (found === undefined) return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  // From the end: where zeros stand is looked for once, however many there are.
  const [kept = ''] = /^.*[1-9]/.exec(digits) ?? [];
  return kept === '' ? `${sign}0` : `${sign}${kept}e${Number(power) - fraction.length + digits.length - kept.length}`;
}

/** Does the number that JavaScript reads of a text lose some of its digits, or its size? */
const isLossy = (value: number, source: string): boolean =>
  isRespelled(value, source) && decimalOf(String(value)) !== decimalOf(source);

/**
 * The same, of a number that all who read JSON can read as it is written. A whole one that no double holds they cannot: it may
 * have any number of digits, and Python refuses a page on which one has more than 4,300. It is infinite, as `1e400` is.
 */
export const isLossyAndLegible = (value: number, source: string): boolean =>
  (Number.isFinite(value) || !/^-?\d+$/.test(source)) && isLossy(value, source);

/** The value of a JSON text. Throws as `JSON.parse` does: `SyntaxError`, and `RangeError` when it is nested too deeply. */
export const parseExact = (text: string): unknown =>
  INEXACT_NUMBER.test(text) ? parseWithRawNumbers(text, isLossy) : JSON.parse(text);

/** The same for what clients are answered: a number that is not legible is infinite, which in JSON is null. */
export const parseLegible = (text: string): unknown =>
  INEXACT_NUMBER.test(text) ? parseWithRawNumbers(text, isLossyAndLegible) : JSON.parse(text);

/** The same as `parseExact` for a row of a table, by whose text events are told apart: numbers with a point or a power stay as they are. */
export const parseAsWritten = (text: string): unknown =>
  INEXACT_NUMBER.test(text) ? parseWithRawNumbers(text, isRespelled) : JSON.parse(text);

/** The number that a text of JSON's own form is, as it is written. */
export const exactNumberOf = (text: string): unknown =>
  isRespelled(Number(text), text) ? rawNumber(text) : Number(text);
