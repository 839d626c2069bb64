/** JSON whose numbers keep all their digits: one that a double cannot hold stays as it was written. */
import { parseWithRawNumbers, rawNumber } from '../../ports/raw-number.ts';

/**
 * May a number in the text lose digits, or its size, as a double, or its sign, as -0.0 does when it is written again?
 * Looks at the text only: a false alarm costs time. (-0 is an integer, which has no sign.)
 */
const INEXACT_NUMBER = /[[:,\s](?:-?(?:\d[\d.]{15}|[\d.]+[eE])|-0\.0+(?!\d))/;

const isLossy = (value: number, source: string): boolean => String(value) !== source;

/** The value of a JSON text. Throws as `JSON.parse` does: `SyntaxError`, and `RangeError` when it is nested too deeply. */
export const parseExact = (text: string): unknown =>
  INEXACT_NUMBER.test(text) ? parseWithRawNumbers(text, isLossy) : JSON.parse(text);

/** The number that a text of JSON's own form is, with all its digits. */
export const exactNumberOf = (text: string): unknown => (isLossy(Number(text), text) ? rawNumber(text) : Number(text));
