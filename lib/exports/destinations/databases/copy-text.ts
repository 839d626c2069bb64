/** Reads the text format of COPY, as the warehouse writes it: a line is a row, tabs are between the values. */

/** Characters by the letter behind a backslash; any other letter stands for itself. */
const ESCAPED: ReadonlyMap<string, string> = new Map([
  ['t', '\t'],
  ['n', '\n'],
  ['r', '\r'],
]);

const unescaped = (text: string): string =>
  text.includes('\\') ? text.replace(/\\([^])/g, (_, letter: string) => ESCAPED.get(letter) ?? letter) : text;

/** Returns the rows of a piece of whole lines: the values of each. */
export const rowsIn = (piece: Buffer): (string | null)[][] =>
  piece
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t').map((value) => (value === '\\N' ? null : unescaped(value))));

/** Returns the rows for Redshift's `COPY … ESCAPE`, which takes a character behind a backslash as it is: `\t` as t. */
export function withPlainEscapes(piece: Buffer): Buffer {
  if (!piece.includes('\\')) return piece;
  // One byte, one character: no byte of a longer character is a backslash.
  const text = piece.toString('latin1');
  return Buffer.from(
    text.replace(/\\([^])/g, (escape, letter: string) => {
      const plain = ESCAPED.get(letter);
      return plain === undefined ? escape : `\\${plain}`;
    }),
    'latin1',
  );
}
