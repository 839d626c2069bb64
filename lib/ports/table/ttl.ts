import { SECOND_MS } from '../../basics/units.ts';

/** Returns the `ttl` of an item that is gone from an instant on, milliseconds since 1970: the first whole second not before. */
export const ttlAt = (instant: number): number => Math.ceil(instant / SECOND_MS);
