import { isRawNumber } from './raw-number.ts';

/** Returns whether a JSON value is an object: neither null, a list nor a `RawNumber`. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
