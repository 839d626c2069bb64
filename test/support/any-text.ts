import * as fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

/** Any character, but for halves of surrogate pairs. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES),
  (text) => {
    const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
    if (point === -1 || String.fromCodePoint(point) !== text) throw new Error('this is not one character');
    return point < FIRST_SURROGATE ? point : point - SURROGATES;
  },
);

/**
 * Texts of any characters, without halves of surrogate pairs: `fc.string({ unit: 'binary' })`, which first spends a
 * second on a table of all characters.
 */
export const anyText = (constraints: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> =>
  fc.string({ ...constraints, unit: anyCharacter });
